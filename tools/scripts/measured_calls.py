"""Tables of what calls cost, from records: of worlds, of front ends, of few heads, of traces."""

from __future__ import annotations

import math

from dash_attn.measure.shares import ORDER
from measured import by_shape, link, mean, of_forward

EQUAL = "as many operations: "  # how dash_attn.bench names equal heads


def of_worlds(record: dict, name: str) -> str:
    """Worlds on one GPU and on two, beside other ways to share a document out."""
    found = record["forward, backward, both, ms"]
    lines = [
        (
            f"`test/Device/world_compare.py`, {record['gpu']}, PyTorch {record['torch']},"
            f" {record['date']} ([record]({link(name)})): {record['heads']} heads of"
            f" {record['head_dim']}, {record['kv_heads']} of keys and values, bf16, causal, forward"
            f" + backward in milliseconds, the least of {record['rounds']} rounds, of two GPUs the"
            " slower. In brackets: how many times as fast as one GPU at level `run`."
        ),
        "",
    ]
    columns = [
        (f"{rows} rows, {documents}", ways)
        for rows, lists in found.items()
        for documents, ways in lists.items()
    ]
    for is_one in (True, False):
        some = [
            (column, ways) for column, ways in columns if column.endswith("one document") == is_one
        ]
        lines += [
            f"| GPUs, way | {' | '.join(column for column, _ in some)} |",
            "|---|" + "---|" * len(some),
        ]
        for count in ("one GPU", "two GPUs"):
            for way in some[0][1][count]:
                if way != "hidden":
                    lines.append(
                        f"| {count}, {way} |"
                        f" {' | '.join(beside_level_run(ways, count, way) for _, ways in some)} |"
                    )
        lines.append("")
    shares = "; ".join(
        f"{ways['two GPUs']['hidden']['share hidden']:.2f} ({column})" for column, ways in columns
    )
    lines += [
        (
            f"**Hidden.** Two micro-batches in turns, {record['layers']} layers each, hide this"
            f" share of their exchange: {shares}."
        ),
        "",
    ]
    beside = record["exchange beside kernels"]
    lines += [
        (
            f"**An exchange beside kernels.** {beside['launches']} backwards of {beside['heads']}"
            f" heads of {beside['rows']} rows, and as many exchanges,"
            f" {beside['MB out of a GPU']:.0f} MB out of a GPU in all, which need nothing of each"
            " other. Kernels leave so many multiprocessors free:"
        ),
        "",
        "| free | kernels, ms | exchange, ms | both at once, ms | share hidden |",
        "|---|---|---|---|---|",
    ]
    for way, times in beside["ms"].items():
        cells = (
            [f"{times[one]:.2f}" for one in ("leaves", "exchange", "both", "share hidden")]
            if isinstance(times, dict)
            else ["–"] * 4
        )
        lines.append(f"| {way.replace(' free', '')} | {' | '.join(cells)} |")
    lines += [
        "",
        *of_extensions(
            {column: ways for column, ways in columns if column.endswith("one document")}
        ),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def of_extensions(columns: dict[str, dict]) -> list[str]:
    """What each extension could bring at most, by the times of one document."""
    parts: dict[str, list[str]] = {"forward": [], "leaves": [], "exchange": []}
    for column, ways in columns.items():
        one, two = ways["one GPU"], ways["two GPUs"]
        best = "level world, flash3" if "level world, flash3" in two else "level world, flash2"
        run, world, both = one["level run"], one[best], two[best]
        rows = column.partition(",")[0]
        forwards = [
            f"{one[f'level world, {name}'][0] / run[0]:.2f} with {name}"
            for name in ("flash2", "dash", "flash3")
            if f"level world, {name}" in one
        ]
        parts["forward"].append(f"{' and '.join(forwards)} ({rows})")
        parts["leaves"].append(f"{world[1] / run[1]:.2f} ({rows})")
        parts["exchange"].append(f"{2 * both[2] / world[2]:.2f} ({rows})")
    return [
        (
            "**What could still be gained.** Times of one document over those that an ideal one"
            " would take:"
        ),
        "",
        (
            f"1. The forward, beside level `run` on one GPU: {'; '.join(parts['forward'])}."
            " dash is what a world takes, where it names no other."
        ),
        (
            "2. The cut into leaves, one GPU's backward beside level `run`:"
            f" {'; '.join(parts['leaves'])}. Sums that leave as f32 and are added in place, and one"
            " launch for several leaves, could bring a part of it."
        ),
        (
            "3. The exchange and uneven shares, two GPUs beside half of one at level `world`:"
            f" {'; '.join(parts['exchange'])}. A hidden exchange could bring most of it."
        ),
    ]


def beside_level_run(ways: dict, count: str, way: str) -> str:
    """A way's times. One that could not run has text in their place."""
    times, one = ways[count].get(way), next(iter(ways["one GPU"].values()))
    return (
        f"{times[0]:.1f} + {times[1]:.1f} ({one[2] / times[2]:.2f})"
        if isinstance(times, list)
        else "–"
    )


def last_test(record: dict, name: str) -> dict:
    """The last of a record's tests that has this name; the machine was warm then."""
    return [test for test in record["tests"] if test["name"] == name][-1]


def front_ends(packed: tuple[dict, str], of_jax: tuple[dict, str], host: tuple[dict, str]) -> str:
    """Packed sequences, JAX, and the time of the host: what device tests of front ends recorded."""
    gpu = packed[0]["machine"]["gpu"]
    tokens = next(iter(last_test(packed[0], "packed d128-causal times")["milliseconds"].values()))[
        "tokens"
    ]
    failed = packed[0]["counts"]["failed"]
    failures = f", {failed} failures of which are mended" if failed else ""
    lines = [
        (
            f"**Packed sequences.** {gpu}, {tokens} tokens, 32/8 heads of 128, causal, both ways,"
            f" milliseconds ([record]({link(packed[1])}){failures})."
            + of_forward(packed[0], "FlashAttention's")
        ),
        "",
        "| documents | dash | FlashAttention | FlashAttention, deterministic |",
        "|---|---|---|---|",
    ]
    for documents, times in last_test(packed[0], "packed d128-causal times")[
        "milliseconds"
    ].items():
        dash, theirs, strict = (
            times[name] for name in ("attention", "FlashAttention", "FlashAttention, strict")
        )
        lines.append(
            f"| {documents.replace('documents ', '').replace('2k', '2048')} | **{dash:.2f}** |"
            f" {theirs:.2f} | {strict:.2f} |"
        )
    large, small = last_test(of_jax[0], "jax d128-causal times")["milliseconds"].values()
    lines += [
        "",
        (
            f"**JAX** {of_jax[0]['machine']['jax']} on an {of_jax[0]['machine']['gpu']}, both ways:"
            f" 4 x 16 heads of 128 x 4096, causal, take {large['dash']:.2f} ms, and"
            f" {large['cuDNN, bshd']:.2f} by cuDNN. 2 heads of 128 rows take {small['dash']:.2f}"
            f" ms, and {small['cuDNN, bshd']:.2f} by cuDNN ([record]({link(of_jax[1])}))."
            + of_forward(of_jax[0], "cuDNN's")
        ),
    ]
    times = last_test(host[0], "attention d128-causal host_times")
    ours, cudnn, flash = (
        times["microseconds"][f"{name}, each of 20"]
        for name in ("attention", "SDPA, CUDNN_ATTENTION", "SDPA, FLASH_ATTENTION")
    )
    lines += [
        "",
        (
            f"**On the host.** In a row of 20 layers, both ways of a layer take {ours:.0f} µs"
            f" beside an {host[0]['machine']['gpu']}. PyTorch's own attention takes {cudnn:.0f}"
            f" (cuDNN) and {flash:.0f} (FlashAttention). So dash adds"
            f" {times['beside_cudnn']['each of 20']:.0f} to cuDNN's time"
            f" ([record]({link(host[1])})). Such times differ between machines."
            + of_forward(host[0], "cuDNN's")
        ),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def few_heads(record: dict, name: str) -> str:
    """Few heads, each row beside 16 equal heads of as many operations; then short problems: how
    many times as fast as cuDNN's."""
    shapes = by_shape(record)
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, batch 1, medians of {record['rounds']} rounds"
            f" ([record]({link(name)})). *Equal heads* are 16 heads that are not grouped, with as"
            " many operations."
        ),
        "",
        (
            "| heads of 128, rows, mask | dash, ms | cuDNN nd, ms | TFLOP/s | to equal heads | to"
            " cuDNN |"
        ),
        "|---|---|---|---|---|---|",
    ]
    titles = [title for title in shapes if not title.startswith("short: ")]
    equals = [shapes[title]["dash"] for title in titles if title.startswith(EQUAL)]
    for title in titles:
        if title.startswith(EQUAL):
            continue
        ours, theirs = (shapes[title][call] for call in ("dash", "SDPA cuDNN"))
        equal = min(
            (row for row in equals if row["mask"] == ours["mask"]),
            key=lambda row: abs(math.log(operations(row) / operations(ours))),
        )
        lines.append(
            f"| {title} | **{ours['ms']:.3f}** | {theirs['ms']:.3f} | {ours['tflops']:.0f} | "
            f"{ours['tflops'] / equal['tflops']:.2f} | {theirs['ms'] / ours['ms']:.2f} |"
        )
    short = {
        title.removeprefix("short: "): calls
        for title, calls in shapes.items()
        if title.startswith("short: ")
    }
    ratios = [calls["SDPA cuDNN"]["ms"] / calls["dash"]["ms"] for calls in short.values()]
    lines += [
        "",
        (
            f"dash is faster than cuDNN on {sum(ratio > 1 for ratio in ratios)} of the {len(short)}"
            f" short problems, by {mean(ratios):.2f}x in geometric mean. The table has"
            " microseconds, dash / cuDNN nd, in bold where dash is faster:"
        ),
        "",
    ]
    columns = list(
        dict.fromkeys(
            title.rpartition(", ")[2].split()[0]
            for title in short
            if " x " not in title and title.startswith("2/2")
        )
    )
    lines += [
        "| heads, head dim, mask | " + " | ".join(f"S {rows}" for rows in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    for heads in dict.fromkeys(
        title.rpartition(", ")[0]
        for title in short
        if title.startswith(("2/2", "8/8", "32/8")) and " x " not in title
    ):
        for mask in ("causal", "full"):
            lines.append(
                f"| {heads} {mask} | "
                + " | ".join(in_microseconds(short[f"{heads}, {rows} {mask}"]) for rows in columns)
                + " |"
            )
    others = [title for title in short if " x " in title or title.startswith("ViT")]
    lines += ["", "; ".join(f"{title}: {in_microseconds(short[title])}" for title in others) + "."]
    return "\n" + "\n".join(lines) + "\n\n"


def operations(row: dict) -> float:
    return row["tflops"] * row["ms"]


def in_microseconds(calls: dict[str, dict]) -> str:
    ours, theirs = (1e3 * calls[call]["ms"] for call in ("dash", "SDPA cuDNN"))
    return f"**{ours:.0f}** / {theirs:.0f}" if ours < theirs else f"{ours:.0f} / {theirs:.0f}"


# ---- Traces --------------------------------------------------------------------------------------


def of_items(rows: dict[str, dict]) -> str:
    """Which items each traced kernel has records of; records from before say nothing, and are of
    all items."""
    every = {level: row["every"] for level, row in rows.items() if row.get("every")}
    if not every:
        return " All items are traced."
    said = ", ".join(
        f"`{level}` all items" if number == 1 else f"`{level}` one item in {number}"
        for level, number in every.items()
    )
    return f" Traced are: {said}."


def trace_levels(record: dict, name: str) -> str:
    """What each level of a trace costs, over a plain kernel in the same process."""
    programs: dict[str, dict[str, dict]] = {}
    for row in record["levels"]:
        programs.setdefault(row["program"], {})[row["trace"]] = row
    levels = [level for level in next(iter(programs.values())) if level != "plain"]
    lines = [
        (
            f"{record['device']}, {record['date']}, commit {record['commit'][:7]},"
            f" `{record['command']}`, S {record['rows']}, {record['tokens']} tokens, medians of"
            f" {record['rounds']} rounds ([record]({link(name)})). The table has the time of the"
            " main entry over that of a plain kernel. `plain again` is a second plain kernel, so"
            " it says how far a ratio is from 1 by itself."
            f"{of_items(next(iter(programs.values())))}"
        ),
        "",
        "| mask, head dim | plain, ms | "
        + " | ".join(f"`{level}`" for level in levels)
        + f" | records of `{levels[-1]}` |",
        "|---|---|" + "---|" * len(levels) + "---|",
    ]
    for program, rows in programs.items():
        cells = [f"{rows[level]['main_ratio']:.3f}" for level in levels]
        lines.append(
            f"| {program.replace('-', ' ')} | {rows['plain']['main_ms']:.3f} | {' | '.join(cells)}"
            f" | {rows[levels[-1]]['records']} |"
        )
    return "\n" + "\n".join(lines) + "\n\n"


def trace_sampled(record: dict, name: str) -> str:
    """What records of some items cost: of the whole backward, and of the main entry."""
    programs: dict[str, dict[str, dict]] = {}
    for row in record["levels"]:
        programs.setdefault(row["program"], {})[row["trace"]] = row
    levels = ("turns", "all")
    every = next(iter(programs.values()))
    titles = [f"`{level}`, one item in {every[level]['every']}" for level in levels]
    lines = [
        f"{record['device']}, {record['date']}, commit {record['commit'][:7]},"
        f" `test/Device/trace.py --sampled` ([record]({link(name)})): the time of the whole"
        " backward over that of a plain kernel, and of the main entry alone.",
        "",
        "| mask, head dim | " + " | ".join(f"{title} | main entry" for title in titles) + " |",
        "|---|---|---|---|---|",
    ]
    for program, rows in programs.items():
        cells = [
            f"{rows[level][ratio]:.3f}" for level in levels for ratio in ("ratio", "main_ratio")
        ]
        lines.append(f"| {program.replace('-', ' ')} | {' | '.join(cells)} |")
    return "\n" + "\n".join(lines) + "\n\n"


def trace_words(record: dict, program: str) -> str:
    """What the command printed of one program: the table by role at the level `all`, and the
    largest differences at the level `turns`."""
    shares = next(row for row in record["shares"] if row["program"] == program)
    found = next(
        row for row in record["differences"] if (row["program"], row["trace"]) == (program, "turns")
    )
    lines = ["", "```", f"{'role':<10}" + "".join(f"{column:>14}" for column in ORDER)]
    lines += [
        f"{role:<10}" + "".join(f"{share:>13.1f}%" for share in row)
        for role, row in shares.items()
        if isinstance(row, list)
    ]
    lines += [
        "```",
        "",
        "```",
        (
            f"the order took {found['took_us']:.1f} µs, predicted {found['predicted_us']:.1f}:"
            f" {found['took_us'] / found['predicted_us']:.2f} of it; the largest differences:"
        ),
        *(f"{number}. {line}" for number, line in enumerate(found["largest"], 1)),
        "```",
    ]
    return "\n".join(lines) + "\n\n"
