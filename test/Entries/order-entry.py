# RUN: %python %s --dash-opt dash-opt --examples %dash_examples --tmp %t --runtime %mlir_lib/libmlir_c_runner_utils.so
# REQUIRES: python, mlir-opt, mlir-runner
"""The entry that evaluates formulas fills the buffer with the order that the report states.

The entry is run as it is on a machine of one-thread blocks: special registers and the few
instructions without an op are replaced by functions that do for one lane what they do for a warp.
How lanes and warps share the work is seen on a GPU.
"""

from __future__ import annotations

import argparse
import array
import random
import re
import subprocess
import sys
import threading
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "Schedule" / "lib"), str(TESTS / "Device"), str(TESTS / "Entries" / "lib")]

from check_order import differences  # noqa: E402
from dash_opt import DashOpt, Request, Tally  # noqa: E402
from problem import Mask, Problem, Sequence, Union  # noqa: E402
from tilings import with_tiling, without_rows  # noqa: E402

# No mask, a diagonal, windows of all sorts: wide and narrow, of one side and of two. First columns
# beside a diagonal, a few of them beside a window, and some within a window, of which rows see but
# the last.
MASKS = [
    Mask(),
    Mask(causal=True),
    Mask(window=(512, 0)),
    Mask(window=(100, 40)),
    Mask(window=(300, -1)),
    Mask(window=(-1, 70)),
    Mask(union=Union(200, (-1, 0))),
    Mask(causal=True, union=Union(4, (100, -1))),
    Mask(window=(400, 60), union=Union(330, (30, 20))),
]
# Levels decide which formulas a kind has, not its sizes.
KINDS = [
    ("ascending", "run"),
    ("descending", "run"),
    ("shift", "run"),
    ("shift", "machine"),
    ("symmetric-shift", "run"),
    ("symmetric-shift", "machine"),
]

# What stands in the entry, and what one thread runs instead.
MACHINE = [
    (r'llvm\.call_intrinsic "llvm\.nvvm\.read\.ptx\.sreg\.tid\.x"\(\)', "llvm.call @tid()"),
    (r'llvm\.call_intrinsic "llvm\.nvvm\.read\.ptx\.sreg\.ntid\.x"\(\)', "llvm.call @ntid()"),
    (r'llvm\.call_intrinsic "llvm\.nvvm\.read\.ptx\.sreg\.ctaid\.x"\(\)', "llvm.call @ctaid()"),
    (r"nvvm\.vote\.sync +ballot %\S+ (%\w+) -> i32", r"llvm.call @ballot(\1) : (i1) -> i32"),
    (r"nvvm\.redux\.sync +add (%\w+), %\S+ : i32 -> i32", r"llvm.call @sum(\1) : (i32) -> i32"),
    (
        r"llvm\.store (%\w+), (%\w+) .*: i32, !llvm\.ptr<3>",
        r"llvm.call @put(\1, \2) : (i32, !llvm.ptr<3>) -> ()",
    ),
    (r"llvm\.load (%\w+) .*: !llvm\.ptr<3> -> i32", r"llvm.call @get(\1) : (!llvm.ptr<3>) -> i32"),
    (r"nvvm\.barrier$", ""),
    (r"llvm\.mlir\.addressof @dynamic_shared_memory", "llvm.mlir.zero"),
    (r"!llvm\.ptr<1>", "!llvm.ptr"),
    (r" attributes \{.*\} \{$", " {"),
    (r" \{dash\.parameter = [^}]*\}", ""),
]

PROGRAM = """
llvm.mlir.global internal @block(0 : i32) : i32
llvm.mlir.global internal @word(0 : i32) : i32
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @printI64(i64)
llvm.func @printNewline()
llvm.func @tid() -> i32 { %0 = llvm.mlir.constant(0 : i32) : i32  llvm.return %0 : i32 }
llvm.func @ntid() -> i32 { %0 = llvm.mlir.constant(1 : i32) : i32  llvm.return %0 : i32 }
llvm.func @ctaid() -> i32 {
  %0 = llvm.mlir.addressof @block : !llvm.ptr
  %1 = llvm.load %0 : !llvm.ptr -> i32
  llvm.return %1 : i32
}
llvm.func @ballot(%0: i1) -> i32 { %1 = llvm.zext %0 : i1 to i32  llvm.return %1 : i32 }
llvm.func @sum(%0: i32) -> i32 { llvm.return %0 : i32 }
llvm.func @put(%0: i32, %1: !llvm.ptr<3>) {
  %2 = llvm.mlir.addressof @word : !llvm.ptr
  llvm.store %0, %2 : i32, !llvm.ptr
  llvm.return
}
llvm.func @get(%0: !llvm.ptr<3>) -> i32 {
  %1 = llvm.mlir.addressof @word : !llvm.ptr
  %2 = llvm.load %1 : !llvm.ptr -> i32
  llvm.return %2 : i32
}
"""


def launch_of(parameters: str, arguments: str, types: str, before: str = "") -> str:
    """@launch: all blocks of an entry, one behind the other, on a buffer that `before` may write
    to; a line of each of its words."""
    return f"""
func.func @launch({parameters}) {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %bytes = arith.muli %words, %four : i64
  %buffer = llvm.call @malloc(%bytes) : (i64) -> !llvm.ptr
  %untouched = arith.constant -7 : i32
  scf.for %i = %zero to %words step %one : i64 {{
    %at = llvm.getelementptr %buffer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    llvm.store %untouched, %at : i32, !llvm.ptr
  }}
{before}  %block = llvm.mlir.addressof @block : !llvm.ptr
  %first = arith.constant 0 : i32
  %step = arith.constant 1 : i32
  scf.for %i = %first to %workers step %step : i32 {{
    llvm.store %i, %block : i32, !llvm.ptr
    llvm.call @attention_bwd_order(%buffer, {arguments})
      : (!llvm.ptr, {types}) -> ()
  }}
  scf.for %i = %zero to %words step %one : i64 {{
    %at = llvm.getelementptr %buffer[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %word = llvm.load %at : !llvm.ptr -> i32
    %wide = arith.extsi %word : i32 to i64
    llvm.call @printI64(%wide) : (i64) -> ()
    llvm.call @printNewline() : () -> ()
  }}
  return
}}
"""


LAUNCH = launch_of(
    "%words: i64, %batch: i32, %heads: i32, %kv_heads: i32, %q_rows: i32, %kv_rows: i32, %workers:"
    " i32, %width: i32",
    "%batch, %heads, %kv_heads, %q_rows, %kv_rows, %workers, %width",
    ", ".join(["i32"] * 7),
)


def entry_for_one_thread(ir: str) -> str:
    """The function of the entry, for the machine above."""
    entry = re.search(r"^ *llvm\.func @attention_bwd_order\(.*?^    }$", ir, re.M | re.S)
    if not entry:
        raise RuntimeError(f"no entry in {ir}")
    text = entry[0]
    for pattern, replacement in MACHINE:
        text = re.sub(pattern, replacement, text, flags=re.M)
    if left := re.search(r".*(?:inline_asm|nvvm).*", text):
        raise RuntimeError(f"no stand-in for one thread: {left[0]}")
    return text


def sizes_of(request: Request) -> list[int]:
    """Arguments of @launch."""
    problem, rows = request.problem, request.problem.sequences[0]
    groups = len(problem.sequences) * problem.kv_heads
    first_item = (9 + request.workers + 7) // 8 * 8
    words = (
        first_item
        + 8 * groups * problem.parts * problem.kv_tiles(0)
        + 4 * problem.q_tiles(0) * problem.kv_tiles(0)
    )
    width = request.for_workers if request.level == "machine" else request.workers
    return [
        words,
        len(problem.sequences),
        problem.heads,
        problem.kv_heads,
        rows.q,
        rows.kv,
        request.workers,
        width,
    ]


def pipe(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[:2000]}")
    return done.stdout


def entry_of(tool: DashOpt, request: Request) -> str:
    text = tool.program(request.problem.mask).read_text(encoding="utf-8")
    program = tool.scratch / f"tiled-{threading.get_ident()}.mlir"
    program.write_text(
        with_tiling(text, request.problem.tile_q, request.problem.tile_kv, 128), encoding="utf-8"
    )
    return entry_for_one_thread(
        pipe(
            [
                tool.tool,
                str(program),
                *without_rows(request.options()),
                "--dash-check-kernels",
                "--dash-assign-roles",
                "--dash-outline-program",
                "--dash-lower-order",
            ]
        )
    )


def run_entry(entry: str, launches: list[list[int]], runtime: str) -> list[array.array]:
    """The buffers of launches of an entry."""
    types = ["i64"] + ["i32"] * 7
    lines = []
    for number, values in enumerate(launches):
        names = [f"%v{number}_{index}" for index in range(len(types))]
        lines += [
            f"  {name} = arith.constant {value} : {of}"
            for name, value, of in zip(names, values, types)
        ]
        lines.append(f"  call @launch({', '.join(names)}) : ({', '.join(types)}) -> ()")
    return buffers([LAUNCH, entry], lines, [values[0] for values in launches], runtime)


def buffers(
    functions: list[str], calls: list[str], words: list[int], runtime: str
) -> list[array.array]:
    """What calls of @launch print: as many words of each."""
    program = "\n".join([PROGRAM, *functions, "func.func @main() {", *calls, "  return", "}"])
    lowered = pipe(
        [
            "mlir-opt",
            "--convert-scf-to-cf",
            "--convert-cf-to-llvm",
            "--convert-arith-to-llvm",
            "--convert-func-to-llvm",
            "--reconcile-unrealized-casts",
        ],
        program,
    )
    printed = iter(
        pipe(
            [
                "mlir-runner",
                "-e",
                "main",
                "--entry-point-result=void",
                "-O1",
                f"--shared-libs={runtime}",
            ],
            lowered,
        ).split()
    )
    return [array.array("i", [int(next(printed)) for _ in range(number)]) for number in words]


def has_formulas(kind: str, mask: Mask) -> bool:
    """Pairs of `symmetric-shift` are made for a mask without a left side; within one that has it,
    its order is a table. For unions shifts are, too."""
    if mask.union is not None:
        return kind in ("ascending", "descending")
    return kind != "symmetric-shift" or mask.bounds()[0] is None


def requests(kind: str, level: str, mask: Mask, seed: int, runs: int = 1) -> list[Request]:
    """Sizes of one entry, which is of one number of parts: tiles that are full and not, more
    queries and fewer, batches, groups, workers of all sorts. Where parts are runs of q tiles, there
    are more of them than heads of a group."""
    parts = runs if runs > 1 else (1, 2, 4)[seed % 3]
    rng = random.Random(seed)
    tile_q = rng.choice([64, 128])
    rows = [(1, 1), (64, 128), (1024, 1024), (65, 3000), (3000, 130)]
    rows += [(rng.randrange(1, 4000), rng.randrange(1, 4000)) for _ in range(5)]
    found = []
    for q, kv in rows:
        heads, kv_heads = rng.choice(
            [(1, 1), (3, 3), (4, 2), (8, 1), (6, 3)]
            if parts == 1
            else (
                [(parts, 1), (8, 1), (3 * parts, 3), (16, 2)]
                if runs == 1
                else [(1, 1), (2, 2)]
                + [(group * 2, 2) for group in (2, 3) if parts % group == 0 and parts > group]
            )
        )
        batch, made_for = rng.choice([1, 1, 2, 5]), rng.choice([1, 2, 3, 8])
        workers = rng.randrange(made_for, 40) if level == "machine" else rng.randrange(1, 70)
        problem = Problem((Sequence(q, kv),) * batch, tile_q, 128, mask, heads, kv_heads, parts)
        found.append(Request(problem, kind, workers, level, made_for, batch=batch))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runtime", required=True, help="MLIR's runtime library, for printing")
    arguments, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    tool, tally = DashOpt.from_arguments(__doc__), Tally()
    groups = [
        (kind, level, mask, 1)
        for kind, level in KINDS
        for mask in MASKS
        if has_formulas(kind, mask)
    ]
    groups += [(kind, level, MASKS[0], runs) for kind, level in KINDS for runs in (2, 6)]
    for number, (kind, level, mask, runs) in enumerate(groups):
        # Shifts refuse fewer workers than a wave walks at once, which is not what is tested here.
        asked = [
            (request, tool.run(request)) for request in requests(kind, level, mask, number, runs)
        ]
        served = [(request, answer) for request, answer in asked if answer.document is not None]
        entries = {entry_of(tool, request) for request, _ in (served[0], served[-1])}
        tally.check(
            []
            if len(entries) == 1
            else [f"{kind}, {level}: the entry depends on the sizes that it was proven for"]
        )
        buffers = run_entry(
            entries.pop(), [sizes_of(request) for request, _ in served], arguments.runtime
        )
        for (_, answer), buffer in zip(served, buffers):
            tally.check(answer.told(differences(buffer, answer.schedule)))
    return tally.exit_code()


if __name__ == "__main__":
    sys.exit(main())
