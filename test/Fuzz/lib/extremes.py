"""Sizes and depths that random changes do not reach, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tool import Done, Tool

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = (ROOT / "dialects/dash/examples/bwd-causal.mlir").read_text(encoding="utf-8")
HUGE = "9223372036854775807"


def schedule(formulas: str = "", problem: str = "", order: str = "", workers: int | str = 2) -> str:
    """A module with one dash.schedule, of two q and two kv tiles unless something else is said."""
    problem = problem or (
        "tiles = <q = 64, kv = 64>, mask = <causal>, heads = 1, kv_heads = 1, head_dim = 64, "
        "head_dim_v = 64, sequences = <[128, 128]>"
    )
    formulas = formulas or "visit(kv, step) = first + step, turn(kv, q) = kv"
    order = order or (
        "#dash.formulas<item(i) = (i floordiv kv_tiles, i mod kv_tiles, i), "
        f"worker(unit) = unit mod workers, {formulas}>"
    )
    return (
        f'dash.schedule @s kind("x") level(run) parts(1) workers({workers}) width(2)'
        f" problem(<{problem}>)\n  cost(<compute = 2.1, reduce = 1.6, latency = 0.3, buffers ="
        f" 2>)\n  order({order})\n"
    )


def problem(sequences: str, heads: str = "1", dim: str = "64") -> str:
    return (
        f"tiles = <q = 16, kv = 16>, mask = <full>, heads = {heads}, kv_heads = 1, head_dim ="
        f" {dim}, head_dim_v = 64, sequences = <{sequences}>"
    )


def lets(count: int, step: str) -> str:
    """A chain of names, each made of the one before."""
    names = ["kv", *(f"x{index}" for index in range(count))]
    chain = ", ".join(f"{new} = {step.format(old)}" for old, new in zip(names, names[1:]))
    return f"visit(kv, step) = let {chain} in {names[-1]}, turn(kv, q) = kv"


def modules() -> Iterator[tuple[str, str]]:
    for count in (10, 24, 64, 1000):
        yield f"{count} lets that double", schedule(lets(count, "{0} + {0} * step"))
        yield f"{count} lets that multiply", schedule(lets(count, "{0} * {0}"))
        yield f"{count} lets that divide", schedule(lets(count, "({0} + step) floordiv ({0} + 3)"))
    for count in (100, 3000, 30000):
        yield f"{count} lets one after the other", schedule(lets(count, "{0} + step * step"))
        yield f"{count} remainders of remainders", schedule(lets(count, "(step - {0}) mod 7"))
    deep = 2000
    yield (
        "parentheses",
        schedule(f"visit(kv, step) = {'(' * deep}step{')' * deep}, turn(kv, q) = kv"),
    )
    yield "negations", schedule(f"visit(kv, step) = {'-' * deep}step, turn(kv, q) = kv")
    cases = "if kv ge q then kv else " * deep
    yield "cases", schedule(f"visit(kv, step) = step + first, turn(kv, q) = {cases}kv")
    yield (
        "overflow",
        schedule(
            f"visit(kv, step) = step * {HUGE} + {HUGE} * step, turn(kv, q) = kv * {HUGE} * {HUGE}"
        ),
    )
    yield (
        "smallest divided by -1",
        schedule(f"visit(kv, step) = (-{HUGE} - 1 - step) floordiv (-1 * step), turn(kv, q) = kv"),
    )
    yield (
        "a constant divided",
        schedule(f"visit(kv, step) = ((-{HUGE} - 1) ceildiv 3) mod {HUGE}, turn(kv, q) = kv"),
    )
    yield "a million sequences", schedule(problem=problem("1048576 x [1, 1]"))
    yield "a million and one sequences", schedule(problem=problem("1048577 x [1, 1]"))
    yield "a run as long as can be", schedule(problem=problem(f"{HUGE} x [1, 1]"))
    yield "rows as many as can be", schedule(problem=problem(f"[{HUGE}, {HUGE}]"))
    yield "rows of two sequences", schedule(problem=problem(f"[{HUGE}, 1], [{HUGE}, 1]"))
    yield "heads as many as can be", schedule(problem=problem("[1, 1]", heads=HUGE))
    yield (
        "a million sequences of many heads",
        schedule(problem=problem("1048576 x [16, 16]", heads="100000")),
    )
    yield "a head dim as large as can be", schedule(problem=problem("[16, 16]", dim=HUGE))
    yield "workers as many as can be", schedule(workers=HUGE)
    yield "a million workers", schedule(workers=1 << 20)
    yield "workers past the limit", schedule(workers=(1 << 20) + 1)
    elided = "dense_resource<__elided__> : tensor<{}xi32>"
    yield (
        "elided tables",
        schedule(
            order=f"#dash.table<items = {elided.format('2x6')}, visits = {elided.format('3x3')}>"
        ),
    )
    splat = (
        "#dash.table<items = dense<{0}> : tensor<{1}x6xi32>, visits = dense<0> : tensor<{2}x3xi32>>"
    )
    yield "a table that says one thing", schedule(order=splat.format(0, 2, 3))
    yield "a table of negatives", schedule(order=splat.format(-1, 2, 3))
    yield "a table of the largest", schedule(order=splat.format(2147483647, 2, 3))
    yield "a table longer than memory", schedule(order=splat.format(0, 1 << 40, 1 << 40))
    yield "regions in regions", "module {" * 500 + "}" * 500


def pass_options() -> Iterator[tuple[str, str]]:
    for sizes in (
        "",
        ":",
        "q",
        "q:",
        "q:+",
        "q:1+",
        "q:-1",
        "q:nan",
        "q:1e3",
        "q:0x10",
        "q: 5",
        f"q:{HUGE}",
        "q:" + "9" * 300,
        "q:" + "+".join("1" for _ in range(20000)),
        "q:2147483647",
        "q:2147483647,heads:2147483647",
        "q:16,batch:262144",
        "q:16,batch:1048577",
        "q:1,kv:1+1",
        "kv:5",
        "q:5,q:6",
        "Q:5",
        "q:5;kv:6",
        "q:1,kv:67108864",
        "q:67108864,kv:1",
        "q:100,heads:2147483647,kv-heads:2147483647",
    ):
        yield f"sizes={sizes[:40]}", f"kind=shift workers=3 sizes={sizes}"
    for name in ("workers", "for-workers", "parts", "buffers"):
        for value in ("0", "-1", "1048576", "1048577", HUGE, "-9223372036854775808"):
            yield (
                f"{name}={value}",
                f"kind=symmetric-shift sizes=q:300 level=machine {name}={value}",
            )
    for name in ("compute", "reduce", "latency"):
        for value in ("nan", "inf", "-inf", "-0.0", "0", "1e-320", "1e100", "1e101", "-1", "1e308"):
            yield f"{name}={value}", f"kind=shift sizes=q:300 {name}={value}"


def cases(tool: Tool) -> Iterator[tuple[str, Done]]:
    for name, text in modules():
        yield name, tool.run_text(text, "--dash-verify-schedule", "--verify-roundtrip")
    reports = [
        f"--dash-report-schedule=format={form} output={tool.path('report.out')}"
        for form in ("svg", "trace")
    ]
    for name, options in pass_options():
        yield (
            name,
            tool.run_text(
                EXAMPLE,
                "--dash-tile",
                f"--dash-apply-schedule={options}",
                "--dash-explain=output=-",
                *reports,
            ),
        )
