"""Tables of measurements. Needs neither a GPU nor PyTorch."""

from __future__ import annotations

import math
import statistics
from typing import Any

BASELINE = "fa3_det"


def print_table(
    results: list[dict[str, Any]], baselines: dict[str, Any], means: dict[str, dict[str, float]]
) -> None:
    """TFLOP/s and, in parentheses, the ratio to FlashAttention-3 deterministic as measured on
    another day's machine."""
    variants = list(dict.fromkeys(result["variant"] for result in results))
    known = by_problem(baselines["rows"])
    table = [["head dim, mask, S", BASELINE, *variants]]
    for problem in dict.fromkeys(problem_of(result) for result in results):
        row = known.get(problem)
        here = {result["variant"]: result for result in results if problem_of(result) == problem}
        table.append(
            [
                f"{problem[0]} {problem[1]} {problem[2]}",
                str(row[BASELINE]) if row else "-",
                *(cell(here.get(variant), row) for variant in variants),
            ]
        )
    table.append(
        [
            "geometric mean of ratios",
            "1",
            *(
                (
                    f"{means[variant][BASELINE]:.3f} of {means[variant]['problems']}"
                    if variant in means
                    else "-"
                )
                for variant in variants
            ),
        ]
    )
    table.append(
        [
            "the same to cuDNN in this process",
            "-",
            *(
                (
                    f"{means[variant]['cudnn_here']:.3f}"
                    if "cudnn_here" in means.get(variant, {})
                    else "-"
                )
                for variant in variants
            ),
        ]
    )
    print_aligned(table)
    print("\nmicroseconds of each entry")
    for result in results:
        if result["entries_ms"]:
            entries = ", ".join(
                f"{role} {1e3 * ms:.0f}" for role, ms in result["entries_ms"].items()
            )
            print(
                f"  {' '.join(map(str, problem_of(result)))} {result['variant']}: {entries}; whole"
                f" {1e3 * result['ms']:.0f} ({1e3 * result['ms_p10']:.0f} to"
                f" {1e3 * result['ms_p90']:.0f})"
            )


def print_calls(results: list[dict[str, Any]], what: str = "both ways") -> None:
    """A table for each thing that was measured, a row for each shape; then why calls refuse
    shapes."""
    names = list(dict.fromkeys(result["variant"] for result in results if "ms" in result))
    found = {(result["shape"], result["variant"]): result for result in results}
    for title, key, digits in (
        (f"milliseconds of {what}", "ms", 3),
        ("TFLOP/s", "tflops", 0),
        ("MiB beside the inputs, at most", "mib", 0),
        ("microseconds on the host", "host_us", 0),
    ):
        if not any(key in result for result in results):
            continue
        table = [[title, *names]]
        for shape in dict.fromkeys(result["shape"] for result in results):
            rows = [found.get((shape, name), {}) for name in names]
            table.append(
                [shape, *(f"{row[key]:.{digits}f}" if key in row else "-" for row in rows)]
            )
        print_aligned(table)
        print()
    for result in results:
        if "refused" in result:
            print(f"{result['shape']}: {result['variant']} refuses: {result['refused']}")


def print_aligned(table: list[list[str]]) -> None:
    """The first column at the left, others at the right."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        print(
            "  ".join(
                text.ljust(width) if i == 0 else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths))
            )
        )


def compared(results: list[dict[str, Any]], difference: str) -> dict[str, Any]:
    """A row of a comparison, of the variants "old", "new" and "old again" of one problem. Ratios
    are of speeds: above 1 is faster. difference: empty, or where gradients of old and new
    differ."""
    ms = {result["variant"]: result["ms"] for result in results}
    return {name: results[0][name] for name in ("head_dim", "mask", "rows")} | {
        "ms": ms["old"],
        "new": ms["old"] / ms["new"],
        "again": ms["old"] / ms["old again"],
        "difference": difference,
    }


def print_comparison(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Returns geometric mean and least of the ratios of "new", and of the control "again"."""
    print("head dim, mask, S       old us  new to old  old to old")
    for row in rows:
        problem = " ".join(map(str, problem_of(row)))
        differs = f"  bits differ: {row['difference']}" if row["difference"] else ""
        print(
            f"{problem:20}  {1e3 * row['ms']:8.1f}  {row['new']:10.4f} "
            f" {row['again']:10.4f}{differs}"
        )
    means = {
        name: {
            "mean": math.exp(statistics.fmean(math.log(row[name]) for row in rows)),
            "least": min(row[name] for row in rows),
        }
        for name in ("new", "again")
    }
    for word in ("mean", "least"):
        print(
            f"{'geometric mean' if word == 'mean' else word:30}  {means['new'][word]:10.4f} "
            f" {means['again'][word]:10.4f}"
        )
    return means


def by_problem(rows: list[dict[str, Any]]) -> dict[tuple[int, str, int], dict[str, Any]]:
    return {problem_of(row): row for row in rows}


def problem_of(row: dict[str, Any]) -> tuple[int, str, int]:
    return row["head_dim"], row["mask"], row["rows"]


def cell(result: dict[str, Any] | None, row: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    ratio = f" ({result['tflops'] / row[BASELINE]:.2f})" if row else ""
    return f"{result['tflops']:.0f}{ratio}"
