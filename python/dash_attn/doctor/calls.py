"""Whether a call of attention is served, by which kernels, and what its first time costs.
libdash says what kernels cover; here it is only asked."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, CompileError
from ..kernel.assembler import refusal_of as refusal_of_assembler
from ..kernel.compiler import compile_program
from ..kernel.coverage import UNKNOWN, Coverage, ask
from ..kernel.orders import forward_for, forward_of_list, order_for, texts_of
from ..kernel.problem import (
    ELEMENTS,
    ROW,
    Slice,
    Wanted,
    Window,
    for_any_sizes,
    head_dims,
    level_of_gradients,
    parts_of,
    program_of,
    slices_of,
)
from ..kernel.programs import cache_folder, folders, has_kept
from ..kernel.tasks import slices_of_gradients
from ..support.files import read_bytes

# of the program in a manifest
OF_KERNEL = (
    "element",
    "head_dim",
    "head_dim_v",
    "mask",
    "tiles",
    "level",
    "workers",
    "parts",
    "fold",
)
HEAD = 4096  # bytes of a kept file that its key is within


@dataclass(frozen=True)
class Call:
    """head_dim_v: 0 is head_dim; rows, kv_rows: of a list of sequences those of all. dtype: as
    frameworks call it; softcap: 0 for none; sequences: the number of a list's sequences;
    layers: the number of a model's layers with this call, 0 if unknown."""

    head_dim: int = 128
    head_dim_v: int = 0
    heads: int = 32
    kv_heads: int = 8
    rows: int = 4096
    kv_rows: int = 0
    batch: int = 1
    window: Window = (-1, 0)
    dtype: str = "bfloat16"
    level: str = "run"
    softcap: float = 0.0
    has_sink: bool = False
    sequences: int = 0
    layers: int = 0

    @property
    def columns(self) -> int:
        return self.kv_rows or self.rows

    @property
    def columns_v(self) -> int:
        return self.head_dim_v or self.head_dim

    def __str__(self) -> str:
        mask = {(-1, -1): "full", (-1, 0): "causal"}.get(
            self.window, "window of {}, {}".format(*self.window)
        )
        rows = (
            f"{self.rows} x {self.columns} rows"
            if self.columns != self.rows
            else f"{self.rows} rows"
        )
        more = (
            f", softcap {self.softcap:g}" * bool(self.softcap)
            + ", sinks" * self.has_sink
            + f", {self.sequences} sequences" * bool(self.sequences)
        )
        layers = f" ({self.layers} layer{'s' * (self.layers > 1)})" if self.layers else ""
        return (
            f"{self.batch} x {self.heads}/{self.kv_heads} heads x {rows}, head dim"
            f" {head_dims(self.head_dim, self.columns_v)}, {self.dtype}, {mask}, level"
            f" {self.level}{more}{layers}"
        )


@dataclass
class Answer:
    """refused: why no kernel computes the call, or empty; by_hand: why `attention` does not, and
    what does. kernels: as JSON has them, one for each program or order that it takes; launches:
    slices that it is computed in. files: what a report holds of each kernel, by name."""

    call: str
    refused: str = ""
    by_hand: str = ""
    launches: int = 0
    kernels: list[dict[str, Any]] = field(default_factory=list)
    asked: dict[str, Any] = field(default_factory=dict)
    files: list[dict[str, bytes]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "files"}

    def __str__(self) -> str:
        lines = [("call", self.call)]
        if self.refused:
            return _lines([*lines, ("refused", self.refused)])
        lines.append(
            (
                "served by",
                (
                    f"Kernel.compile; not by attention(): {self.by_hand}"
                    if self.by_hand
                    else "attention(), and kernels of dash"
                ),
            )
        )
        for one in self.kernels:
            parts = f", heads in {one['parts']} parts" if one["parts"] > 1 else ""
            fold = one.get("fold", 1)
            heads = f", {fold} heads in a q tile" * (fold > 1)
            lines += [
                (
                    "kernel",
                    (
                        f"{'forward' if (one['wanted'] or {}).get('is_forward') else 'backward'},"
                        f" {one['mask']} mask, {one['element']}, head dim"
                        f" {head_dims(one['head_dim'], one['head_dim_v'])}, tiles"
                        f" {one['tiles']['q'] * fold} x {one['tiles']['kv']}{heads}, order"
                        f" {one['order']}, level {one['level']}, {one['workers']} workers{parts}"
                    ),
                ),
                ("certificate", one["certificate"]),
                ("first call", ", ".join(one["first_call"].values())),
            ]
        if self.launches > 1:
            lines.append(("launches", f"{self.launches} slices"))
        return _lines(lines)


def _lines(pairs: list[tuple[str, str]]) -> str:
    return "\n".join(f"{name:<12} {text}" for name, text in pairs)


def answer(call: Call, capability: int = UNKNOWN, device: str = "", ptxas: str = "") -> Answer:
    """capability: of the GPU, 90 is 9.0, if it is to be looked at; device: its name. ptxas:
    assembles each kernel, to see what it says."""
    found = Answer(str(call), asked=asdict(call))
    covered = ask(
        element=ELEMENTS.get(call.dtype, call.dtype),
        level=level_of_gradients(call.level),
        device=device,
        capability=capability,
        head_dim=call.head_dim,
        head_dim_v=call.columns_v,
        window=call.window,
        batch=call.batch,
        heads=call.heads,
        kv_heads=call.kv_heads,
        q_rows=call.rows,
        kv_rows=call.columns,
        sequences=call.sequences,
        has_sink=call.has_sink,
        softcap=call.softcap,
    )
    if not isinstance(covered, Coverage):
        found.refused = covered
        return found
    try:
        for wanted, sizes, launches in _wanted(call):
            found.launches += launches
            _add(found, wanted, sizes, ptxas)
    except (ArgumentError, CompileError) as error:
        found.refused = str(error)
    return found


def _wanted(call: Call) -> list[tuple[Wanted, tuple[int, ...], int]]:
    """Kernels of both ways without an order, the sizes of a launch of each, and how many launches
    the gradients have with it."""
    backward = Wanted(
        call.head_dim,
        call.columns_v,
        ELEMENTS[call.dtype],
        call.window,
        level=level_of_gradients(call.level),
        is_list=bool(call.sequences),
        has_sink=call.has_sink,
        softcap=call.softcap,
    )
    forward = backward._replace(level=ROW, is_forward=True)
    if call.sequences:
        group = call.heads // call.kv_heads
        forward = forward_of_list(forward, call.sequences, call.rows, group)
        return [(forward, (), 0), (backward, (), 1)]
    of_kv = call.batch, call.kv_heads, call.columns
    q = (call.batch, call.heads, call.rows, call.head_dim)
    k, v = (*of_kv, call.head_dim), (*of_kv, call.columns_v)

    def counted(slices: list[Slice]) -> Counter[tuple[int, ...]]:
        return Counter(
            (*(part.stop - part.start for part in one), call.rows, call.columns) for one in slices
        )

    of_forward = counted(slices_of(q, k, v, "bhsd"))
    of_backward = counted(slices_of_gradients(backward, q, k, v, "bhsd"))
    return [
        *((forward, sizes, 0) for sizes in of_forward),
        *((backward, sizes, launches) for sizes, launches in of_backward.items()),
    ]


def _add(found: Answer, wanted: Wanted, sizes: tuple[int, ...], ptxas: str) -> None:
    """Compiles a kernel and makes its order, as the first call of a process does."""
    in_parts = len(parts_of(wanted)) > 1 and not wanted.is_forward and not wanted.gradients
    if in_parts:
        for part in order_for(wanted, *sizes).kernels if sizes else parts_of(wanted):
            _add(found, part, sizes, ptxas)
        return
    before, begin = _orders(), time.monotonic()
    if sizes and wanted.is_forward:
        wanted = forward_for(wanted, *sizes)
    elif sizes and not wanted.gradients:
        wanted = order_for(wanted, *sizes).wanted
    program, options, _ = program_of(for_any_sizes(wanted))
    manifest, ptx, _ = texts_of(wanted)
    seconds, raw = time.monotonic() - begin, json.loads(manifest)
    about = raw["program"]
    cost = {"compile": f"compiled and ordered in {seconds:.1f} s of the host, once a process"}
    if sizes and wanted.sizes and not wanted.is_forward:
        cost["order"] = (
            "orders are not kept (the cache is off)"
            if cache_folder() is None
            else (
                "its order was kept"
                if before == _orders()
                else "its order was not kept before, and is now"
            )
        )
    cost["code"] = code_state(raw["ptx"]["sha256"])
    if ptxas:
        cost["assembled"] = _assembled(ptxas, raw["ptx"]["target"], ptx)
    found.kernels.append(
        {
            "name": raw["name"],
            **{name: about[name] for name in OF_KERNEL if name in about},
            "order": about["kind"],
            "sizes": list(sizes),
            "certificate": raw["certificate"],
            "ptx": raw["ptx"]["sha256"],
            "wanted": wanted._asdict(),
            "options": options,
            "first_call": cost,
        }
    )
    found.files.append({"program.mlir": program.encode(), "manifest.json": manifest})


def of_program(path: Path, options: str) -> Answer:
    """What is asked for is a program of one's own. Raises CompileError."""
    source = read_bytes(path)
    found = Answer(
        f"the program of --program, with the options {options!r}",
        by_hand="it is a program of its own",
        asked={"options": options},
    )
    for compiled in compile_program(source, options, name="program.mlir"):
        raw = json.loads(compiled.manifest)
        about = raw["program"]
        found.launches = 1
        found.kernels.append(
            {
                "name": raw["name"],
                **{name: about[name] for name in OF_KERNEL if name in about},
                "order": about["kind"],
                "sizes": [],
                "certificate": raw["certificate"],
                "ptx": raw["ptx"]["sha256"],
                "wanted": None,
                "options": options,
                "first_call": {"code": code_state(raw["ptx"]["sha256"])},
            }
        )
        found.files.append({"program.mlir": source, "manifest.json": compiled.manifest.encode()})
    return found


def _orders() -> int:
    at = cache_folder()
    return sum(1 for _ in (at / "orders").glob("*")) if at else 0


def code_state(sha256: str) -> str:
    """Whether code of this PTX lies in the cache: files have their keys in front
    (lib/Support/FileCache.cpp)."""
    if any(has_kept(at / f"{sha256}.cubin") for at, _ in folders()):
        return "its code was assembled ahead of the first call"
    at = cache_folder()
    if at is None:
        return "code is not kept (the cache is off): assembled in every process"
    for path in at.glob("*.cubin"):
        try:
            with path.open("rb") as file:
                if f"ptx {sha256}\n".encode() in file.read(HEAD):
                    return (
                        "its assembled code is kept, for the driver and assembler that it was made"
                        " with"
                    )
        except OSError:
            continue
    return "its code is not kept yet: assembled when it is first launched, for a second or two"


def _assembled(ptxas: str, target: str, ptx: bytes) -> str:
    with tempfile.TemporaryDirectory() as at:
        source = Path(at, "kernel.ptx")
        source.write_bytes(ptx)
        begin = time.monotonic()
        done = subprocess.run(
            [ptxas, f"-arch={target}", str(source), "-o", str(source.with_suffix(".cubin"))],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - begin
    return (
        refusal_of_assembler(ptxas, done.returncode, done.stderr + done.stdout)
        or f"the first ptxas assembles it in {seconds:.1f} s"
    )
