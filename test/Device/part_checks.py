#!/usr/bin/env python3
"""part_checks.py [--json FILE] [--write [FILE]]: bits, errors and traces of the programs of dK and
dV, and of dQ, on this GPU. part_checks.py --sanitize TOOL: a few of them under compute-sanitizer.

They are the backward of head dims above 128. Kernels are compiled here, by libdash, at level
`machine` for 132 workers, whatever the card.

- Bits: inputs are the integers of golden_values.py, over memory that held NaN and zeros. Hashes
  must be those of golden-parts.json, if it is there, and those of 7 workers. --write writes them
  instead, where nothing else is wrong. The control is another order of visits: other bits.
- Errors beside float64 are at most 1.05 times those of rounding P and dS.
- Traces: traced kernels have the same bits. Their records are the order that libdash states: each
  item once, and in each as many steps as it has tiles to walk.

--sanitize does nothing of that. It runs causal masks and windows of 300 rows under TOOL, causal
masks also where dS is passed on, and counts errors, also by entry. As in sanitizer.py, no report is
taken for a false one, and racecheck has the build in which threads arrive at barriers for
themselves. The status is 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

import golden_values as values  # noqa: E402
import torch  # noqa: E402
from golden import content  # noqa: E402
from golden import inputs as golden_inputs  # noqa: E402
from part_programs import BESIDE_ROUNDING, HEAD_DIMS, KIND, error_of, of_rounding  # noqa: E402
from sanitizer import OF_THREADS, SECONDS  # noqa: E402

from dash_attn import Kernel, reference, trace  # noqa: E402
from dash_attn.kernel.compiler import compile_program  # noqa: E402
from dash_attn.kernel.runtime import PARTS, TENSORS  # noqa: E402
from dash_attn.measure.bundle import commit  # noqa: E402
from dash_attn.measure.predict import ENVIRONMENT, STRIDES, report  # noqa: E402
from dash_attn.measure.testing import OUTPUTS, Case, poison  # noqa: E402
from dash_attn.measure.testing import poison_workspace, sizes_of  # noqa: E402
from dash_attn.reference import CAUSAL, FULL, Blocks, Mask, Union  # noqa: E402
from dash_attn.support.records import write_record  # noqa: E402

GOLDEN = HERE / "golden-parts.json"
WORKERS, FEW = 132, 7
INPUTS = TENSORS[:6]
Hashes = dict[str, str]  # by gradients
ELEMENTS = ("bf16", "f16")
WINDOW = Mask(100, 20)
# By kv block and q block. A block of queries and one of keys have no partner. Kv tiles of 48 and of
# 64 rows divide a block of 192.
BITS = ("10110001", "11001000", "00000000", "01110010", "10011001", "00111011")
BLOCKS = Mask(
    right=0, blocks=Blocks(128, 192, tuple(tuple(bit == "1" for bit in row) for row in BITS))
)
# (mask, q rows, kv rows, batch, heads, kv heads, memory). Rows that see nothing, kv tiles that no
# row sees, no tile that is whole.
SHAPES = (
    (CAUSAL, 457, 333, 2, 4, 2, "bshd"),
    (FULL, 301, 517, 1, 4, 1, "bhsd"),
    (WINDOW, 333, 901, 1, 6, 2, "padded"),
    (Mask(right=0, union=Union(20, 100)), 701, 801, 1, 4, 2, "bshd"),
    (BLOCKS, 901, 1003, 1, 4, 2, "bhsd"),
)
# What is traced, by a name, and of which masks. The last one traces one item in 64: its kernels
# have code with records and without.
ALL = "trace=all trace-every=1 trace-records=32768"
TRACED: dict[str, tuple[str, tuple[Mask, ...]]] = {
    "items": ("trace=items", (CAUSAL,)),
    "turns": ("trace=turns", (CAUSAL,)),
    "all": (ALL, (CAUSAL, WINDOW, BLOCKS)),
    "all, sampled": ("trace=all", (CAUSAL,)),
}
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SANITIZED, ROWS, AT_ONCE = (CAUSAL, WINDOW), 300, 6
MOST_SAID = 12  # lines of a tool
PLACE = re.compile(r"\bat (\w+)(?:\([^)]*\))?\+0x")
COUNT = re.compile(r"(?:ERROR SUMMARY: |hazards? displayed \()(\d+) error")


class One(NamedTuple):
    """A kernel: the problem, the gradients that its program has, its options and its level."""

    case: Case
    gradients: tuple[str, ...]
    options: str
    level: str = "machine"
    passes_ds: bool = False


Made = dict[One, Future[Kernel]]


def cases() -> list[Case]:
    return [
        Case(dims[0], *shape, element=element, head_dim_v=dims[1])
        for dims in HEAD_DIMS
        for shape in SHAPES
        for element in ELEMENTS
    ]


def program(one: One) -> str:
    case, types = one.case, {"dq": "!q", "dk": "!q", "dv": "!v"}
    arguments = ", ".join(f"%{name}: {types[name]}" for name in one.gradients)
    outs = ", ".join(f"{name} = %{name}" for name in one.gradients)
    outs += " : " + ", ".join(types[name] for name in one.gradients)
    argument, clause = "", ""
    if one.passes_ds:
        argument, clause = ", %ds: !t", " ds(%ds : !t)"
    return f"""
!t = memref<?x4096x{case.element}>
!q = memref<?x?x?x{case.head_dim}x{case.element}, {STRIDES}>
!v = memref<?x?x?x{case.columns_v}x{case.element}, {STRIDES}>
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_bwd(%q: !q, %k: !q, %v: !v, %do: !v, %o: !v, %lse: !r, {arguments},
    %scale: f32{argument}) {{
  dash.attention_bwd ins(%q, %k, %v, %do, %lse, o = %o : !q, !q, !v, !v, !r, !v) outs({outs})
      mask(<{case.mask.text}>) level({one.level}) scale(%scale){clause}
  return
}}"""


def sizes_text(case: Case) -> str:
    return (
        f"sizes=q:{case.q_rows},kv:{case.kv_rows},batch:{case.batch},heads:{case.heads},"
        f"kv-heads:{case.kv_heads}"
    )


def options_of(one: One) -> str:
    kind = "" if "kind=" in one.options else f"kind={KIND} "
    # A bitmap's order is a table.
    sizes = f" {sizes_text(one.case)}" if one.case.mask.blocks else ""
    return f"{kind}{one.options}{sizes}"


def compiled(one: One) -> Kernel:
    """With its code on the device."""
    kernel = Kernel.compile(program(one), options_of(one), name=one.case.name)
    kernel.reserve(**sizes_of(one.case))
    return kernel


def order_of(one: One) -> dict[str, Any]:
    options = f"kind={KIND} {one.options} {sizes_text(one.case)}"
    return report(program(one), options)["schedules"][0]


# ---- Bits and errors -----------------------------------------------------------------------------


def inputs_of(case: Case) -> dict[str, torch.Tensor]:
    """Those of golden.py, but for the LSE, which here is of the columns that rules and bitmaps
    leave a row."""
    tensors, mask = golden_inputs(case), case.mask
    device = tensors["q"].device
    table = torch.tensor(mask.blocks.bits if mask.blocks else (), dtype=torch.bool, device=device)
    rows, columns = (torch.arange(count, device=device) for count in (case.q_rows, case.kv_rows))
    sees = mask.sees(rows[:, None], columns[None, :], table, case.q_rows, case.kv_rows)
    seen = sees.sum(-1).expand(case.batch, case.heads, case.q_rows)
    length = sum(((seen >> bit) > 0) * 1 for bit in range(25))
    index = torch.arange(seen.numel(), device=device).view(seen.shape)
    jitter = values.splitmix64(values.SEED << 32 | values.NUMBERS["lse"] << 24, index)
    lse = values.LOG_OF_2 * length + (jitter & (values.JITTER - 1))
    lse = lse.float() / values.DENOMINATORS["lse"]
    return tensors | {"lse": torch.where(seen > 0, lse, float("inf")).contiguous()}


def run(kernel: Kernel, case: Case, tensors: dict[str, torch.Tensor], byte: int) -> Hashes:
    """Hashes of the gradients that the kernel has, over NaN and a workspace full of a byte."""
    gradients = kernel.own(tensors[name] for name in OUTPUTS)
    poison(tensors)
    poison_workspace(kernel, case, byte=byte)
    kernel.backward(*(tensors[name] for name in INPUTS), *gradients, scale=case.scale)
    torch.cuda.synchronize()
    return {
        name: values.hash_of(content(one))
        for name, one in zip(OUTPUTS, gradients)
        if one is not None
    }


def errors_of(
    case: Case, tensors: dict[str, torch.Tensor], found: dict[str, torch.Tensor]
) -> tuple[dict[str, float], dict[str, float]]:
    """Those of the gradients that were found, and those of rounding alone, beside float64."""
    given = tuple(tensors[name] for name in INPUTS)
    exact = reference.backward(*(one.double() for one in given), scale=case.scale, mask=case.mask)
    rounding = of_rounding(given, case.mask, case.scale, None)
    return (
        {name: error_of(found[name], exact[name]) for name in OUTPUTS},
        {name: error_of(one, exact[name]) for name, one in zip(OUTPUTS, rounding)},
    )


def check_bits(case: Case, made: Made) -> dict[str, Any]:
    tensors, hashes = inputs_of(case), dict[str, Hashes]()
    found: dict[str, torch.Tensor] = {}
    for workers in (WORKERS, FEW):
        for byte in (0xFF, 0x00):
            mine = hashes[f"{workers} workers, {byte:#04x}"] = Hashes()
            for gradients in PARTS:
                kernel = made[One(case, gradients, f"workers={workers}")].result()
                mine |= run(kernel, case, tensors, byte)
                found |= {name: tensors[name].clone() for name in gradients}
    first = next(iter(hashes.values()))
    errors, theirs = errors_of(case, tensors, found)
    return {
        "case": case.name,
        "hashes": first,
        "others": {name: mine for name, mine in hashes.items() if mine != first},
        "errors": errors,
        "errors_of_rounding": theirs,
    }


def faults_of_bits(row: dict[str, Any], golden: dict[str, Hashes] | None) -> list[str]:
    found = [f"other bits of {name}" for name in row["others"]]
    found += [
        f"error of {name} {error:.3g}, of rounding {row['errors_of_rounding'][name]:.3g}"
        for name, error in row["errors"].items()
        if not error <= BESIDE_ROUNDING * row["errors_of_rounding"][name]
    ]
    if golden is not None and (expected := golden.get(row["case"])) != row["hashes"]:
        found.append(f"expected the hashes {expected}, found {row['hashes']}")
    return found


def check_control(one: One, made: Made, hashes: dict[str, Hashes]) -> dict[str, Any]:
    """Whether another order of visits has other bits."""
    mine = run(made[one].result(), one.case, inputs_of(one.case), 0xFF)
    others = [name for name in mine if mine[name] != hashes[one.case.name][name]]
    return {"case": one.case.name, "options": one.options, "others": others}


# ---- Traces --------------------------------------------------------------------------------------


def check_trace(
    one: One, plain: Hashes, made: Made, orders: dict[One, Future[dict[str, Any]]]
) -> dict[str, Any]:
    """What is wrong with a traced kernel, as `fault`; empty if nothing is."""
    kernel, case = made[one].result(), one.case
    order = orders[of_order(one)].result()
    found = run(kernel, case, inputs_of(case), 0xFF)
    with kernel.driver.on(0):
        data = kernel.driver.read(*kernel.workspace(0, 0).region("trace"))
    wrong = [f"other bits of {name}" for name in found if found[name] != plain[name]]
    lanes: list[trace.Lane] = []
    try:
        lanes = trace.decode(data, kernel.manifest)
        trace.check(lanes, order)
    except ValueError as error:
        wrong.append(str(error))
    return {
        "case": case.name,
        "gradients": list(one.gradients),
        "options": one.options,
        "records": sum(len(lane.spans) for lane in lanes),
        "fault": "; ".join(wrong),
    }


def of_order(one: One) -> One:
    """The same without a trace."""
    return one._replace(options=one.options.partition(" ")[0])


# ---- Under compute-sanitizer ---------------------------------------------------------------------


def sanitize(one: One, tool: str, sanitizer: str, folder: Path) -> dict[str, Any]:
    """What the tool says of a kernel, in a process of its own."""
    options = options_of(one) + " threads-arrive=true" * (tool in OF_THREADS)
    (built,) = compile_program(program(one), options, name=one.case.name)
    name = "-".join((tool, one.case.name, *one.gradients, *["ds"] * one.passes_ds))
    manifest = built.save(folder / name)
    command = [sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "1000"]
    # libdash asks each entry for one parameter more than it has, to see that there is none.
    command += ["--report-api-errors", "no"]
    row = {"tool": tool, "case": one.case.name, "gradients": list(one.gradients)}
    row |= {"passes_ds": True} if one.passes_ds else {}
    try:
        done = subprocess.run(
            [*command, sys.executable, str(HERE / "sanitize.py"), str(manifest), str(ROWS)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=dict(os.environ, PYTHONPATH=ENVIRONMENT["PYTHONPATH"]),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return row | {"errors": None, "fault": f"not done after {SECONDS} s"}
    text = done.stdout + done.stderr
    summary = [line.strip("= ") for line in text.splitlines() if "SUMMARY" in line]
    counts = [int(count) for count in COUNT.findall(text)]
    row |= {
        "errors": sum(counts) if counts else None,
        "places": dict(Counter(PLACE.findall(text))),
        "summary": summary,
    }
    if done.returncode or not counts or any(counts):
        row["fault"] = "; ".join(summary) or f"exit status {done.returncode}: {text[-600:]}"
        row["said"] = [line.strip("= ") for line in text.splitlines() if line.startswith("====")][
            :MOST_SAID
        ]
    return row


def check_sanitized(tools: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    sanitizer = shutil.which("compute-sanitizer") or shutil.which(
        "/usr/local/cuda/bin/compute-sanitizer"
    )
    if sanitizer is None:
        return [], ["compute-sanitizer is not installed"]
    rows = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        ones = [
            One(case, gradients, f"workers={WORKERS}", passes_ds=passes_ds)
            for dims in HEAD_DIMS
            for mask in SANITIZED
            for gradients in PARTS
            for case in [Case(dims[0], mask, ROWS, ROWS, 1, 2, 1, head_dim_v=dims[1])]
            for passes_ds in (False, True)[: 1 + (mask == CAUSAL)]
        ]
        futures = [
            pool.submit(sanitize, one, tool, sanitizer, Path(folder))
            for tool in tools
            for one in ones
        ]
        for future in futures:
            rows.append(future.result())
            print(rows[-1], flush=True)
    for tool in tools:
        mine = [row for row in rows if row["tool"] == tool]
        print(
            f"{tool}: {sum(row['errors'] or 0 for row in mine)} errors in {len(mine)} kernels,"
            f" {sum('fault' in row for row in mine)} of them wrong"
        )
    return rows, [
        f"{row['tool']} {row['case']} {' '.join(row['gradients'])}: {row['fault']}"
        for row in rows
        if "fault" in row
    ]


# ---- All of it -----------------------------------------------------------------------------------


def make(ones: Sequence[One], pool: ThreadPoolExecutor) -> Made:
    """The first one alone: it opens the driver. Those of FEW workers last: they have the code of
    the others, which is kept by then."""
    first, *rest = ones
    futures = {first: pool.submit(compiled, first)}
    wait(futures.values())
    for is_few in (False, True):
        mine = [one for one in rest if one.options.startswith(f"workers={FEW}") == is_few]
        futures |= {one: pool.submit(compiled, one) for one in mine}
        wait(futures.values())
    return futures


def check_all(
    golden: dict[str, Hashes] | None, faults: list[str]
) -> dict[str, list[dict[str, Any]]]:
    problems = cases()
    plain = [
        One(case, gradients, f"workers={workers}")
        for workers in (WORKERS, FEW)
        for case in problems
        for gradients in PARTS
    ]
    controls = [
        One(case, PARTS[0], f"workers={WORKERS} kind=descending", "run")
        for case in problems
        if case.mask == CAUSAL and case.element == "bf16"
    ]
    traced = [
        one._replace(options=f"{one.options} {options}")
        for options, masks in TRACED.values()
        for one in plain
        if one.case.mask in masks and one.case.element == "bf16"
    ]
    bits: list[dict[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {"bits": bits, "controls": [], "traces": []}

    def add(kind: str, what: str, check: Callable[[], dict[str, Any]], *more: Any) -> None:
        """A check that breaks off is wrong, and the others go on."""
        try:
            row = check()
            wrong = FAULTS[kind](row, *more)
            rows[kind].append(row)
        except (RuntimeError, ValueError, KeyError) as error:
            wrong = [f"{type(error).__name__}: {error}"]
        print(f"{kind} {what}: {'; '.join(wrong) or 'right'}", flush=True)
        faults.extend(f"{kind} {what}: {one}" for one in wrong)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        begun = time.monotonic()
        kernels = make([*plain, *controls, *traced], pool)
        orders = {one: pool.submit(order_of, one) for one in dict.fromkeys(map(of_order, traced))}
        wait(orders.values())
        print(f"{len(kernels)} kernels in {time.monotonic() - begun:.0f} s", flush=True)
        for case in problems:
            add("bits", case.name, lambda case=case: check_bits(case, kernels), golden)
        hashes = {row["case"]: row["hashes"] for row in bits}
        for one in controls:
            add("controls", one.case.name, lambda one=one: check_control(one, kernels, hashes))
        for one in traced:
            add(
                "traces",
                f"{one.case.name} {' '.join(one.gradients)} {one.options}",
                lambda one=one: check_trace(one, hashes[one.case.name], kernels, orders),
            )
    return rows


FAULTS: dict[str, Callable[..., list[str]]] = {
    "bits": faults_of_bits,
    "controls": lambda row: [] if row["others"] else ["another order of visits has the same bits"],
    "traces": lambda row: [row["fault"]] if row["fault"] else [],
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=GOLDEN,
        metavar="FILE",
        help=f"default: {GOLDEN.name}",
    )
    parser.add_argument("--sanitize", action="append", choices=TOOLS, metavar="TOOL")
    arguments = parser.parse_args()
    begun, faults = time.monotonic(), list[str]()
    about: dict[str, Any] = {
        "commit": commit(),
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
    }
    if arguments.sanitize:
        rows, faults = check_sanitized(arguments.sanitize)
        found = {"sanitizer": rows}
    else:
        has_golden = GOLDEN.exists() and not arguments.write
        if not has_golden and not arguments.write:
            print(f"hashes are compared with none: {GOLDEN.name} is not there")
        found = check_all(values.read(GOLDEN)["hashes"] if has_golden else None, faults)
        if arguments.write and not faults:
            hashes = {row["case"]: row["hashes"] for row in found["bits"]}
            write_record(arguments.write, about | {"hashes": hashes})
    if arguments.json:
        seconds = time.monotonic() - begun
        write_record(arguments.json, about | {"seconds": seconds, "wrong": faults} | found)
    for fault in faults:
        print("wrong:", fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
