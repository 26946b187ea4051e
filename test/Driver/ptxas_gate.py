"""Compiles every kernel of a device bundle, and shapes that no bundle has, and has
tools/scripts/check_ptxas.py look at each entry.

The main kernel reads its order from memory, so all kinds must have the same one; it is assembled
once. The entries beside it are assembled for each kind. What may be spilled stands in ALLOWED, with
the reason.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "scripts"))

from check_ptxas import find  # noqa: E402
from device_kernels import DEBUG_OPTIONS, device_kernels  # noqa: E402

# (head dim, rows of a q tile, structure or slots of K and V that are asked for, or what of parts, a
# list, a union and a softcap it has): bytes of stack, of stores and of loads that a thread of the
# main kernel may have, and why. No other entry may have any. Numbers only go down.
ALLOWED = {
    (128, 64, ""): (
        52,
        (
            "warps that load have 24 registers, for places in the order and 64-bit addresses; a"
            " word of a consumer between items"
        ),
    ),
    (64, 64, ""): (
        60,
        "as above; between items how many there are, and the zeros of one without steps",
    ),
    (128, 64, "parts"): (
        124,
        (
            "as the first, and what loading and adding warps know of an item behind its walk: its"
            " part, its turn, pieces and sums"
        ),
    ),
    (64, 64, "parts"): (132, "as above"),
    (128, 64, "apart"): (44, "as the first, without the word"),
    (64, 64, "apart"): (64, "as the second"),
    (128, 64, "parts apart"): (
        156,
        "as the parts, and of each piece its place among others, and their number",
    ),
    (64, 64, "parts apart"): (152, "as above"),
    (128, 64, "list"): (56, "as the first, and where a sequence ends, in warps that load"),
    (64, 64, "list"): (
        160,
        "as the second, and where a sequence begins and ends, which is where dV and dK leave to",
    ),
    (128, 64, "softcap"): (36, "as the second"),
    (64, 64, "softcap"): (32, "as the second"),
    (128, 64, "union"): (36, "as the first"),
    (64, 64, "union"): (60, "as the second"),
    (64, 64, "one slot"): (
        96,
        (
            "one slot of K and V: as the second, and places of an item that consumers need between"
            " walks, in which registers are full"
        ),
    ),
    (128, 64, "list softcap"): (72, "as the list, and a word more of it"),
    (64, 64, "list softcap"): (36, "as the softcap, and where a sequence ends"),
    (128, 64, "list union"): (
        72,
        "as the list, and what formulas of a union ask of a step, in warps that load",
    ),
    (64, 64, "list union"): (160, "as the list"),
    (128, 64, "union softcap"): (36, "as the softcap"),
    (64, 64, "union softcap"): (32, "as the softcap"),
    (128, 64, "dv apart"): (36, "as the first"),
    (64, 64, "dv apart"): (32, "as the second"),
    (64, 64, "alternating"): (
        36,
        "warps that load have 24 registers, for places in the order and 64-bit addresses",
    ),
}
# The same of the main kernel of dV apart, at any head dim.
ALLOWED_OF_DV = 28, "as the first"
# Builds for tests differ from the others in a few instructions: those of one kernel stand for all.
OF_DEBUG = "d128-causal-shift-"
FUNCTION = re.compile(r"^\.visible \.entry (\w+)\(.*?(?=^\.visible \.entry|\Z)", re.M | re.S)


@dataclass(frozen=True)
class Kernel:
    name: str
    program: str
    options: str
    head_dim: int
    mask: str

    @property
    def q_tile(self) -> int:
        return int(re.search(r"q-tile=(\d+)", self.options)[1])

    @property
    def structure(self) -> str:
        found = re.search(r"structure=(\w+)|slots=(k:1,v:1)", self.options)
        words = {
            "parts": self.parts > 1,
            "list": self.is_list,
            "union": self.mask.startswith("union"),
            "softcap": "softcap(" in self.program,
            "apart": bool(self.apart),
            "dv apart": "split=dv" in self.options,
        }
        return (
            found[1] or "one slot"
            if found
            else " ".join(word for word, is_so in words.items() if is_so)
        )

    @property
    def is_list(self) -> bool:
        return "sequences(" in self.program or "+" in self.options

    @property
    def apart(self) -> str:
        found = re.search(r" apart=\w+", self.options)
        return found[0] if found else ""

    @property
    def parts(self) -> int:
        found = re.search(r" parts=(\d+)", self.options)
        return int(found[1]) if found else 1

    @property
    def shape(self) -> tuple[int, int, str]:
        return self.head_dim, self.q_tile, self.structure

    @property
    def group(self) -> tuple:
        """Kernels of one group have one main kernel. The scale is a parameter, or one of them for
        itself."""
        scale = "" if "%scale: f32" in self.program else self.name
        return (
            *self.shape,
            self.parts,
            self.apart,
            self.mask,
            "xf16" in self.program,
            "kind=unordered" in self.options,
            scale,
            self.debug,
        )

    @property
    def debug(self) -> str:
        """A build for tests has a main kernel of its own."""
        return next((option for option in DEBUG_OPTIONS.values() if option in self.options), "")


def kernels() -> list[Kernel]:
    examples = ROOT / "dialects" / "dash" / "examples"
    found = []
    for kernel in device_kernels():
        # Needs a file, its program is that of a table; or has the main kernel of another.
        if kernel.order or "-level-" in kernel.name:
            continue
        if any(
            option in kernel.options for option in DEBUG_OPTIONS.values()
        ) and not kernel.name.startswith(OF_DEBUG):
            continue
        text = kernel.program((examples / kernel.example).read_text(encoding="utf-8"))
        found.append(Kernel(kernel.name, text, kernel.options, kernel.head_dim, kernel.mask))
    common = "kv-tile=128 workers=132"
    text = (examples / "bwd-causal.mlir").read_text(encoding="utf-8")
    without = text.replace(", %scale: f32", "")
    number = without.replace(
        "  dash.attention_bwd", "  %scale = arith.constant 0.125 : f32\n  dash.attention_bwd", 1
    )
    for name, program in (
        ("no-scale", without.replace(" scale(%scale)", "")),
        ("scale-of-one-eighth", number),
    ):
        found.append(
            Kernel(f"d128-causal-{name}", program, f"kind=shift q-tile=64 {common}", 128, "causal")
        )
    for head_dim in (128, 64):
        program = text.replace("x128xbf16", f"x{head_dim}xbf16")
        found.append(
            Kernel(
                f"d{head_dim}-causal-dv",
                program,
                f"kind=shift q-tile=64 {common} split=dv",
                head_dim,
                "causal",
            )
        )
    for mask in ("full", "causal", "window"):
        text = (
            (examples / f"bwd-{mask}.mlir")
            .read_text(encoding="utf-8")
            .replace("x128xbf16", "x64xbf16")
        )
        found.append(
            Kernel(
                f"d64-{mask}-alternating",
                text,
                f"kind=shift q-tile=64 {common} structure=alternating",
                64,
                mask,
            )
        )
        found.append(
            Kernel(
                f"d64-{mask}-one-slot",
                text,
                f"kind=shift q-tile=64 {common} slots=k:1,v:1",
                64,
                mask,
            )
        )
    return found


class Gate:
    def __init__(self, arguments):
        self.scratch = Path(arguments.tmp)
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.ptxas = arguments.ptxas
        self.failures: list[str] = []

    def compile(self, kernel: Kernel) -> str:
        source = self.scratch / f"{kernel.name}.mlir"
        source.write_text(kernel.program, encoding="utf-8")
        output = self.scratch / kernel.name
        done = subprocess.run(
            [
                "dash-opt",
                str(source),
                f"--dash-to-ptx={kernel.options} output={output}",
                "-o",
                "/dev/null",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            self.failures.append(f"{kernel.name}: {done.stderr[:1000]}")
            return ""
        return output.with_suffix(".ptx").read_text(encoding="utf-8")

    def assemble(self, kernel: Kernel, ptx: str, allowed: tuple[int, str] | None) -> str:
        path = self.scratch / f"{kernel.name}.gate.ptx"
        path.write_text(ptx, encoding="utf-8")
        command = [
            sys.executable,
            str(ROOT / "tools/scripts/check_ptxas.py"),
            str(path),
            "--ptxas",
            self.ptxas,
        ]
        if allowed:
            command += ["--allow-spills", f"attention_bwd_main={allowed[0]}:{allowed[1]}"]
        if "attention_bwd_main_dv" in ptx:
            command += [
                "--allow-spills",
                f"attention_bwd_main_dv={ALLOWED_OF_DV[0]}:{ALLOWED_OF_DV[1]}",
            ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            self.failures.append(f"{kernel.name}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def run(self) -> None:
        every = kernels()
        with ThreadPoolExecutor(2) as pool:
            compiled = list(pool.map(self.compile, every))
        # For each group the kernel that was seen first, its main kernel.
        mains: dict[tuple, tuple[str, str]] = {}
        work = []
        for kernel, ptx in zip(every, compiled):
            # The number of the function in its file stands in labels.
            entries = {
                match[1]: re.sub(r"\$L__BB\d+_", "$L__BB_", match[0])
                for match in FUNCTION.finditer(ptx)
            }
            main = entries.get("attention_bwd_main")
            if not main:
                self.failures.append(
                    f"{kernel.name}: expected an entry attention_bwd_main, found {sorted(entries)}"
                )
                continue
            first, expected = mains.setdefault(kernel.group, (kernel.name, main))
            if main != expected:
                self.failures.append(
                    f"{kernel.name}: expected the main kernel of {first}, found another"
                )
            allowed = ALLOWED.get(kernel.shape)
            if first == kernel.name:
                work.append((kernel, ptx, allowed))
            else:
                rest = FUNCTION.sub(
                    lambda match: "" if match[1] == "attention_bwd_main" else match[0], ptx
                )
                work.append((kernel, rest, None))
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(lambda one: self.assemble(*one), work))
        needed = dict.fromkeys(ALLOWED, 0)
        for (kernel, _, _), text in zip(work, said):
            for line in text.splitlines()[1:]:
                print(f"{kernel.name}: {line}")
                if numbers := re.fullmatch(r"attention_bwd_main \d+ \d+ (\d+) (\d+) (\d+)", line):
                    needed[kernel.shape] = max(
                        needed.get(kernel.shape, 0), *map(int, numbers.groups())
                    )
        for key, most in needed.items():
            if key in ALLOWED and most < ALLOWED[key][0]:
                print(f"ALLOWED: lower {key} from {ALLOWED[key][0]} to {most}")
        print(f"{len(every)} programs, {len(mains)} main kernels")
        # check_ptxas.py looks for it where we do.
        print(
            "machine code: "
            + ("read" if find("cuobjdump", None) else "not read, there is no cuobjdump")
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--tmp", required=True)
    gate = Gate(parser.parse_args())
    gate.run()
    print("\n".join(gate.failures))
    return 1 if gate.failures else 0


if __name__ == "__main__":
    sys.exit(main())
