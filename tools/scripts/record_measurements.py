#!/usr/bin/env python3
"""record_measurements.py - what the newest records of measurements say, in the pages: tables,
ratios and the picture.

  tools/scripts/record_measurements.py          writes README.md, seeing.md, measurements.md, .svg
  tools/scripts/record_measurements.py --check  refuses those that say something else

Records are test/Device/records/*-bench.json, *-calls.json and *-few.json, of `python3 -m
dash_attn.bench --json` with a bundle, without one and with --backward, *-auto.json, of
test/Device/auto_kind.py, *-masks.json, of test/Device/mask_speed.py, and *-peers.json and
*-sustained.json (of test/Device/sustained.py): dash beside its peers in one process. *-head-dims
is of test/Device/head_dims.py, *-world-compare of test/Device/world_compare.py, *-trace-levels of
test/Device/trace.py; *-packed, *-jax and *-host of check-device. In a page, what stands between
<!-- NAME --> and <!-- end NAME --> is written.
"""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import house

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn.measure.picture import draw  # noqa: E402
from dash_attn.measure.spans import ORDER  # noqa: E402

RECORDS = Path("test/Device/records")
DOCS = Path("dialects/dash/docs")
KINDS = ("ascending", "descending", "shift", "symmetric-shift")
OTHERS = ("unordered (nd)", "flash (nd)", "cudnn (nd)")
SCALED = " FlashAttention-4 ran in another process on 2026-11-22; its numbers are scaled by how fast FA3 nd ran here and there."
CALLS = ("dash", "SDPA cuDNN", "SDPA flash", "SDPA flash det")
# Beside dash, one pass after the other.
TURNS = {"FA3 nd": "FA3 nd", "FA3 det": "FA3 det", "cudnn (nd)": "cuDNN nd"}
EQUAL = "as many operations: "  # how dash_attn.bench names equal heads
PEERS = ("FA3 nd", "FA3 det", "FA4 nd", "FA4 det", "cuDNN nd")


def main() -> None:
    arguments = house.parse_arguments(__doc__, check={"action": "store_true"})
    root = arguments.root
    bench, bench_name = newest(root, "bench")
    peers, peers_name = newest(root, "peers")
    baselines = json.loads(house.read(root / "python/dash_attn/measure/baselines.json"))
    page = replace(house.read(root / DOCS / "measurements.md"), "measurements", measurements(bench, bench_name, baselines))
    page = replace(page, "auto", chosen_kinds(*newest(root, "auto")))
    page = replace(page, "sustained", without_pause(*newest(root, "sustained")))
    page = replace(page, "few", few_heads(*newest(root, "few")))
    page = replace(page, "masks", by_active_task(*newest(root, "masks")))
    page = replace(page, "calls", both_ways(*newest(root, "calls")))
    page = replace(page, "head-dims", head_dims_beside_cudnn(*newest(root, "head-dims")))
    page = replace(page, "front-ends", front_ends(newest(root, "packed"), newest(root, "jax"), newest(root, "host")))
    seeing = replace(house.read(root / DOCS / "seeing.md"), "trace-levels", trace_levels(*newest(root, "trace-levels")))
    seeing = replace(seeing, "trace-words", trace_words(newest(root, "trace-levels")[0], "causal-128"))
    contents = {Path("README.md"): replace(house.read(root / "README.md"), "speed", summary(peers, newest(root, "sustained")[0], newest(root, "head-dims")[0])),
                DOCS / "measurements.md": replace(page, "peers", beside_peers(peers, peers_name)),
                DOCS / "world.md": replace(house.read(root / DOCS / "world.md"), "measured", of_worlds(*newest(root, "world-compare"))),
                DOCS / "seeing.md": seeing,
                DOCS / "measurements.svg": draw(bench, baselines)}
    findings = house.Findings("measurements")
    for path, text in contents.items():
        if not arguments.check:
            (root / path).write_text(text, encoding="utf-8")
        elif text != house.read(root / path):
            findings.add(path, 1, "expected what the newest records say, found something else; run: tools/scripts/record_measurements.py")
    findings.finish()


def newest(root: Path, what: str) -> tuple[dict, str]:
    records = [(json.loads(house.read(path)), path.name) for path in sorted((root / RECORDS).glob(f"*-{what}.json"))]
    if not records:
        sys.exit(f"error: expected a record {RECORDS}/*-{what}.json, found none")
    return max(records, key=lambda record: record[0]["date"])


def replace(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
    before, rest = page.split(begin)
    return before + begin + text + end + rest.split(end)[1]


def mean(ratios: Iterable[float]) -> float:
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logarithms) / len(logarithms))


def by_problem(record: dict) -> dict[tuple[int, str, int], dict[str, dict]]:
    """For each head dim, mask and length the variants by name."""
    problems: dict[tuple[int, str, int], dict[str, dict]] = {}
    for row in record["results"]:
        problems.setdefault((row["head_dim"], row["mask"], row["rows"]), {})[row["variant"]] = row
    return problems


# ---- Passes without a pause
# -----------------------------------------------------------------------------


def without_pause(record: dict, name: str) -> str:
    # A build of FA3 is not in every process.
    others = [other for other in TURNS if any(row["variant"] == other for row in record["results"])]
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, turns of {record['seconds']} s, TFLOP/s of the whole "
             f"backward, and the clock in MHz ([record]({link(name)})). nd: not deterministic.", "",
             f"| head dim, mask | S | dash | {' | '.join(map(TURNS.get, others))} | to best nd |", "|---|---|---|---" + "|---" * len(others) + "|"]
    before, ratios, watts = None, [], [row["power_w"] for row in record["results"]]
    for (head_dim, mask, rows), variants in by_problem(record).items():
        (ours,) = (row for variant, row in variants.items() if variant not in others)
        ratios.append(ours["tflops"] / max(variants[other]["tflops"] for other in others if other != "FA3 det"))
        problem, before = f"{head_dim} {mask}" if (head_dim, mask) != before else "", (head_dim, mask)
        cells = [f"**{ours['tflops']:.0f}** at {ours['clock_mhz']}"] + [f"{variants[other]['tflops']:.0f} at {variants[other]['clock_mhz']}" for other in others]
        lines.append(f"| {problem} | {rows} | " + " | ".join(cells) + f" | {ratios[-1]:.2f} |")
    lines += ["", f"Geometric mean: dash is {mean(ratios):.2f}x faster than the best non-deterministic peer, at {min(watts)} to {max(watts)} W."]
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Orders and PyTorch's passes, in one process
# -------------------------------------------------------


def measurements(record: dict, name: str, baselines: dict) -> str:
    known = {(row["head_dim"], row["mask"], row["rows"]): row["fa3_det"] for row in baselines["rows"]}
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, medians of {record['rounds']} "
             f"rounds, TFLOP/s of the whole backward ([record]({link(name)})). The best order is bold, and the ratios are its.", "",
             "| head dim, mask | S | " + " | ".join(KINDS + OTHERS) + " | to FA3 det | to cuDNN here |",
             "|---|---|" + "---|" * (len(KINDS) + len(OTHERS) + 2)]
    ratios: dict[int, list[tuple[float, float]]] = {}
    last = None
    for problem, variants in by_problem(record).items():
        best = max(KINDS, key=lambda kind: variants[kind]["tflops"] if kind in variants else 0)
        speed = variants[best]["tflops"]
        pair = speed / known[problem], speed / variants["cudnn (nd)"]["tflops"]
        ratios.setdefault(problem[0], []).append(pair)
        cells = [f"**{variants[kind]['tflops']:.0f}**" if kind == best else
                 f"{variants[kind]['tflops']:.0f}" if kind in variants else "–" for kind in KINDS + OTHERS]
        title = f"{problem[0]} {problem[1]}"
        lines.append(f"| {title if title != last else ''} | {problem[2]} | " + " | ".join(cells) + f" | {pair[0]:.2f} | {pair[1]:.2f} |")
        last = title
    lines.append("")
    for head_dim, pairs in ratios.items():
        fa3, cudnn = (mean(pair[i] for pair in pairs) for i in (0, 1))
        lines.append(f"Geometric mean over the {len(pairs)} problems of head dim {head_dim}: dash is {fa3:.2f}x faster than FA3 det, and {cudnn:.2f}x faster "
                     "than cuDNN (not deterministic) in the same process.")
    return "\n" + "\n".join(lines) + "\n\n"


# ---- dash beside its peers, in one process
# -------------------------------------------------------------


def best_of(variants: dict[str, dict], is_dash: bool, deterministic: bool) -> dict:
    """The fastest in the memory that peers get: [batch, rows, heads, head dim]."""
    return max((row for row in variants.values() if (row["family"] == "dash") == is_dash and
                row["deterministic"] == deterministic and not row["variant"].endswith("bhsd")), key=lambda row: row["tflops"])


def ratios_to_peers(record: dict) -> dict[int, list[tuple[float, float]]]:
    """For each head dim the ratios to the fastest peer that is not deterministic, and to the
    fastest that is."""
    ratios: dict[int, list[tuple[float, float]]] = {}
    for problem, variants in by_problem(record).items():
        speed = best_of(variants, True, True)["tflops"]
        ratios.setdefault(problem[0], []).append((speed / best_of(variants, False, False)["tflops"],
                                                  speed / best_of(variants, False, True)["tflops"]))
    return ratios


def beside_peers(record: dict, name: str) -> str:
    versions, cudnn = record["families"], f"{record['cudnn'] // 10000}.{record['cudnn'] // 100 % 100}"
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, medians of {record['rounds']} rounds, TFLOP/s of the whole "
             f"backward ([record]({link(name)})): dash of commit {record['commit']}, FlashAttention-3 of commit "
             f"{versions['fa3']['flash-attention'][:12]}, flash-attn-4 {versions['fa4']['flash-attn-4']}, PyTorch's cuDNN {cudnn}. "
             "nd: not deterministic." + (SCALED if versions["fa4"].get("scaled") else ""), "",
             "| head dim, mask | S | dash | order | " + " | ".join(PEERS) + " | to best nd | to best det |",
             "|---|---|---|---|" + "---|" * (len(PEERS) + 2)]
    last = None
    for (head_dim, mask, rows), variants in by_problem(record).items():
        best = best_of(variants, True, True)
        cells = [f"**{best['tflops']:.0f}**", best["variant"].removeprefix("dash "), *(f"{variants[peer]['tflops']:.0f}" for peer in PEERS)]
        cells += [f"{best['tflops'] / best_of(variants, False, deterministic)['tflops']:.2f}" for deterministic in (False, True)]
        title = f"{head_dim} {mask}"
        lines.append(f"| {title if title != last else ''} | {rows} | " + " | ".join(cells) + " |")
        last = title
    lines.append("")
    for head_dim, pairs in ratios_to_peers(record).items():
        lines.append(f"Geometric mean over the {len(pairs)} problems of head dim {head_dim}: dash is {mean(nd for nd, _ in pairs):.2f}x faster than the best "
                     f"non-deterministic peer, and {mean(det for _, det in pairs):.2f}x faster than the best deterministic one.")
    return "\n" + "\n".join(lines) + "\n\n"


# ---- kind=auto, on shapes that people have
# --------------------------------------------------------------


def chosen_kinds(record: dict, name: str) -> str:
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, milliseconds of the whole "
             f"backward, medians ([record]({link(name)})).", "",
             "| head dim, mask | rows of q x k | batch | heads | auto took | ms | predicted | best fixed kind | ms | cuDNN nd | to best fixed |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in record["results"]:
        times = row["ms"]
        best = min(KINDS, key=lambda kind: times[kind])
        lines.append(f"| {row['head_dim']} {row['mask']} | {row['rows']} x {row['kv_rows']} | {row['batch']} | {row['heads']}/{row['kv_heads']} | "
                     f"{row['auto']} | **{times['auto']:.3f}** | {row['predicted_us']['auto'] / 1e3:.3f} | {best} | {times[best]:.3f} | "
                     f"{times['cudnn (nd)']:.3f} | {times[best] / times['auto']:.2f} |")
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Masks, by active task
# -------------------------------------------------------------------------------


def by_active_task(record: dict, name: str) -> str:
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, medians of {record['rounds']} rounds "
             f"([record]({link(name)})). A time above its bound is bold.", "",
             "| head dim, rows | mask | order | n | main, ns a task | bound | dash, ms | FlashAttention-2, ms |", "|---|---|---|---|---|---|---|---|"]
    last = None
    for row in record["results"]:
        time, bound = row["ns_of_task_in_main"], row["bound"]
        shown = f"**{time:.0f}**" if time > bound else f"{time:.0f}"
        title = f"{row['head_dim']}, {row['rows']}"
        theirs = f"{row['flash_ms']:.3f}" if row["flash_ms"] else "–"
        lines.append(f"| {title if title != last else ''} | {row['mask']} | {row['kind']} | {row['tasks_of_item']:.1f} | {shown} | {bound:.0f} | {row['ms']:.3f} | {theirs} |")
        last = title
    ratios = [row["flash_ms"] / row["ms"] for row in record["results"] if row["flash_ms"]]
    lines += ["", f"Where PyTorch's FlashAttention-2 knows the mask, dash is {min(ratios):.2f}x to {max(ratios):.2f}x faster."]
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Both ways, by each framework's own call
# ------------------------------------------------------------


def both_ways(record: dict, name: str) -> str:
    shapes = by_shape(record)
    left_out = f" No time was left for {' and '.join(record['left_out'])}." if record["left_out"] else ""
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, medians of {record['rounds']} rounds "
             f"([record]({link(name)})), milliseconds. Only dash and `SDPA flash det` are deterministic. The fastest is bold.{left_out}", "",
             "| head dim, mask | heads | rows of q x k | batch | " + " | ".join(CALLS) + " | MiB of dash | MiB of cuDNN |",
             "|---|---|---|---|" + "---|" * (len(CALLS) + 2)]
    last = None
    for variants in shapes.values():
        row = variants["dash"]
        fastest = min(variants[call]["ms"] for call in CALLS)
        times = [f"**{ms:.2f}**" if ms == fastest else f"{ms:.2f}" for ms in (variants[call]["ms"] for call in CALLS)]
        title = f"{row['head_dim']} {row['mask']}"
        lines.append(f"| {title if title != last else ''} | {row['heads']}/{row['kv_heads']} | {row['rows']} x {row['kv_rows']} | {row['batch']} | "
                     + " | ".join(times) + f" | {row['mib']:.0f} | {variants['SDPA cuDNN']['mib']:.0f} |")
        last = title
    ratios = [variants["SDPA cuDNN"]["ms"] / variants["dash"]["ms"] for variants in shapes.values()]
    lines += ["", f"dash is {min(ratios):.2f}x to {max(ratios):.2f}x faster than cuDNN, {mean(ratios):.2f}x in geometric mean."]
    return "\n" + "\n".join(lines) + "\n\n"


def head_dims_beside_cudnn(record: dict, name: str) -> str:
    lines = [f"TFLOP/s of the backward, {record['device']}, {record['date']}, commit {record['commit']}, 16384 tokens, bf16, dash beside cuDNN (not deterministic) in one "
             f"process ([record]({link(name)}), `test/Device/head_dims.py --only-speed`).", "", "| head dim, mask | S | dash | cuDNN nd | to cuDNN |", "|---|---|---|---|---|"]
    last = None
    for row in record["speeds"]:
        title = f"{row['head_dim']} {row['mask']}"
        lines.append(f"| {title if title != last else ''} | {row['rows']} | **{row['dash']:.0f}** | {row['cudnn']:.0f} | {row['dash'] / row['cudnn']:.2f} |")
        last = title
    return "\n" + "\n".join(lines) + "\n\n"


def of_worlds(record: dict, name: str) -> str:
    """Worlds on one GPU and on two, beside other ways to share a document out."""
    found = record["forward, backward, both, ms"]
    lines = [f"`test/Device/world_compare.py`, {record['gpu']}, PyTorch {record['torch']}, {record['date']} ([record]({link(name)})): {record['heads']} heads of "
             f"{record['head_dim']}, {record['kv_heads']} of keys and values, bf16, causal, forward + backward in milliseconds, the least of {record['rounds']} rounds, of two "
             "GPUs the slower. In brackets: how many times as fast as one GPU at level `run`.", ""]
    columns = [(f"{rows} rows, {documents}", ways) for rows, lists in found.items() for documents, ways in lists.items()]
    for is_one in (True, False):
        some = [(column, ways) for column, ways in columns if column.endswith("one document") == is_one]
        lines += [f"| GPUs, way | {' | '.join(column for column, _ in some)} |", "|---|" + "---|" * len(some)]
        for count in ("one GPU", "two GPUs"):
            for way in some[0][1][count]:
                if way != "hidden":
                    lines.append(f"| {count}, {way} | {' | '.join(beside_level_run(ways, count, way) for _, ways in some)} |")
        lines.append("")
    shares = "; ".join(f"{ways['two GPUs']['hidden']['share hidden']:.2f} ({column})" for column, ways in columns)
    lines += [f"**Hidden.** Two micro-batches in turns, {record['layers']} layers each, hide this share of their exchange: {shares}.", ""]
    beside = record["exchange beside kernels"]
    lines += [f"**An exchange beside kernels.** {beside['launches']} backwards of {beside['heads']} heads of {beside['rows']} rows, and as many exchanges, "
              f"{beside['MB out of a GPU']:.0f} MB out of a GPU in all, which need nothing of each other. Kernels leave so many multiprocessors free:", "",
              "| free | kernels, ms | exchange, ms | both at once, ms | share hidden |", "|---|---|---|---|---|"]
    for way, times in beside["ms"].items():
        cells = [f"{times[one]:.2f}" for one in ("leaves", "exchange", "both", "share hidden")] if isinstance(times, dict) else ["–"] * 4
        lines.append(f"| {way.replace(' free', '')} | {' | '.join(cells)} |")
    lines += ["", *of_extensions({column: ways for column, ways in columns if column.endswith("one document")})]
    return "\n" + "\n".join(lines) + "\n\n"


def of_extensions(columns: dict[str, dict]) -> list[str]:
    """What each extension could bring at most, by the times of one document."""
    parts: dict[str, list[str]] = {"forward": [], "leaves": [], "exchange": []}
    for column, ways in columns.items():
        one, two = ways["one GPU"], ways["two GPUs"]
        best = "level world, flash3" if "level world, flash3" in two else "level world, flash2"
        run, flash2, world, both = one["level run"], one["level world, flash2"], one[best], two[best]
        rows = column.partition(",")[0]
        parts["forward"].append(f"{flash2[0] / run[0]:.2f} with flash2 and {world[0] / run[0]:.2f} with {best[-6:]} ({rows})")
        parts["leaves"].append(f"{world[1] / run[1]:.2f} ({rows})")
        parts["exchange"].append(f"{2 * both[2] / world[2]:.2f} ({rows})")
    return ["**What could still be gained.** Times of one document over those that an ideal one would take:", "",
            f"1. The forward, beside level `run` on one GPU: {'; '.join(parts['forward'])}. `forward=\"flash3\"` is this gain.",
            f"2. The cut into leaves, one GPU's backward beside level `run`: {'; '.join(parts['leaves'])}. Sums that leave as f32 and are added in place, and one launch "
            "for several leaves, could bring a part of it.",
            f"3. The exchange and uneven shares, two GPUs beside half of one at level `world`: {'; '.join(parts['exchange'])}. A hidden exchange could bring most of it."]


def beside_level_run(ways: dict, count: str, way: str) -> str:
    """A way's times. One that could not run has text in their place."""
    times, one = ways[count].get(way), next(iter(ways["one GPU"].values()))
    return f"{times[0]:.1f} + {times[1]:.1f} ({one[2] / times[2]:.2f})" if isinstance(times, list) else "–"


def last_test(record: dict, name: str) -> dict:
    """The last of a record's tests that has this name; the machine was warm then."""
    return [test for test in record["tests"] if test["name"] == name][-1]


def front_ends(packed: tuple[dict, str], of_jax: tuple[dict, str], host: tuple[dict, str]) -> str:
    """Packed sequences, JAX, and the time of the host: what device tests of front ends recorded."""
    gpu = packed[0]["machine"]["gpu"]
    tokens = next(iter(last_test(packed[0], "packed d128-causal times")["milliseconds"].values()))["tokens"]
    lines = [f"**Packed sequences.** {gpu}, {tokens} tokens, 32/8 heads of 128, causal, both ways, milliseconds ([record]({link(packed[1])}), "
             f"{packed[0]['counts']['failed']} failures of which are mended):", "",
             "| documents | dash | FlashAttention | FlashAttention, deterministic |", "|---|---|---|---|"]
    for documents, times in last_test(packed[0], "packed d128-causal times")["milliseconds"].items():
        dash, theirs, strict = (times[name] for name in ("attention", "FlashAttention", "FlashAttention, strict"))
        lines.append(f"| {documents.replace('documents ', '').replace('2k', '2048')} | **{dash:.2f}** | {theirs:.2f} | {strict:.2f} |")
    large, small = last_test(of_jax[0], "jax d128-causal times")["milliseconds"].values()
    lines += ["", f"**JAX** {of_jax[0]['machine']['jax']} on an {of_jax[0]['machine']['gpu']}, both ways: 4 x 16 heads of 128 x 4096, causal, take {large['dash']:.2f} ms, and "
              f"{large['cuDNN, bshd']:.2f} by cuDNN. 2 heads of 128 rows take {small['dash']:.2f} ms, and {small['cuDNN, bshd']:.2f} by cuDNN ([record]({link(of_jax[1])}))."]
    times, other = (last_test(record, "attention d128-causal host_times") for record in (host[0], packed[0]))
    ours, cudnn, flash = (times["microseconds"][f"{name}, each of 20"] for name in ("attention", "SDPA, CUDNN_ATTENTION", "SDPA, FLASH_ATTENTION"))
    lines += ["", f"**On the host.** In a row of 20 layers, both ways of a layer take {ours:.0f} µs beside an {host[0]['machine']['gpu']}. PyTorch's own attention takes "
              f"{cudnn:.0f} (cuDNN) and {flash:.0f} (FlashAttention). So dash adds {times['beside_cudnn']['each of 20']:.0f} to cuDNN's time ([record]({link(host[1])})). "
              f"Such times differ between machines: another one took {other['microseconds']['attention, each of 20']:.0f} beside "
              f"{other['microseconds']['SDPA, CUDNN_ATTENTION, each of 20']:.0f} ([record]({link(packed[1])}))."]
    return "\n" + "\n".join(lines) + "\n\n"


def few_heads(record: dict, name: str) -> str:
    """Few heads, each row beside 16 equal heads of as many operations; then short problems: how
    many times as fast as cuDNN's."""
    shapes = by_shape(record)
    lines = [f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit {record['commit']}, batch 1, medians of {record['rounds']} rounds "
             f"([record]({link(name)})). *Equal heads* are 16 heads that are not grouped, with as many operations.", "",
             "| heads of 128, rows, mask | dash, ms | cuDNN nd, ms | TFLOP/s | to equal heads | to cuDNN |", "|---|---|---|---|---|---|"]
    titles = [title for title in shapes if not title.startswith("short: ")]
    equals = [shapes[title]["dash"] for title in titles if title.startswith(EQUAL)]
    for title in titles:
        if title.startswith(EQUAL):
            continue
        ours, theirs = (shapes[title][call] for call in ("dash", "SDPA cuDNN"))
        equal = min((row for row in equals if row["mask"] == ours["mask"]), key=lambda row: abs(math.log(operations(row) / operations(ours))))
        lines.append(f"| {title} | **{ours['ms']:.3f}** | {theirs['ms']:.3f} | {ours['tflops']:.0f} | "
                     f"{ours['tflops'] / equal['tflops']:.2f} | {theirs['ms'] / ours['ms']:.2f} |")
    short = {title.removeprefix("short: "): calls for title, calls in shapes.items() if title.startswith("short: ")}
    ratios = [calls["SDPA cuDNN"]["ms"] / calls["dash"]["ms"] for calls in short.values()]
    lines += ["", f"dash is faster than cuDNN on {sum(ratio > 1 for ratio in ratios)} of the {len(short)} short problems, by {mean(ratios):.2f}x in geometric mean. "
              "The table has microseconds, dash / cuDNN nd, in bold where dash is faster:", ""]
    columns = list(dict.fromkeys(title.rpartition(", ")[2].split()[0] for title in short if " x " not in title and title.startswith("2/2")))
    lines += ["| heads, head dim, mask | " + " | ".join(f"S {rows}" for rows in columns) + " |", "|---|" + "---|" * len(columns)]
    for heads in dict.fromkeys(title.rpartition(", ")[0] for title in short if title.startswith(("2/2", "8/8", "32/8")) and " x " not in title):
        for mask in ("causal", "full"):
            lines.append(f"| {heads} {mask} | " + " | ".join(in_microseconds(short[f"{heads}, {rows} {mask}"]) for rows in columns) + " |")
    others = [title for title in short if " x " in title or title.startswith("ViT")]
    lines += ["", "; ".join(f"{title}: {in_microseconds(short[title])}" for title in others) + "."]
    return "\n" + "\n".join(lines) + "\n\n"


def operations(row: dict) -> float:
    return row["tflops"] * row["ms"]


def by_shape(record: dict) -> dict[str, dict[str, dict]]:
    shapes: dict[str, dict[str, dict]] = {}
    for row in record["results"]:
        shapes.setdefault(row["shape"], {})[row["variant"]] = row
    return shapes


def in_microseconds(calls: dict[str, dict]) -> str:
    ours, theirs = (1e3 * calls[call]["ms"] for call in ("dash", "SDPA cuDNN"))
    return f"**{ours:.0f}** / {theirs:.0f}" if ours < theirs else f"{ours:.0f} / {theirs:.0f}"


def summary(peers: dict, sustained: dict, head_dims: dict) -> str:
    """The README's table: how many times faster dash is, and in which row the least."""
    lines = ["| backward, bf16 | faster than the fastest peer | than the fastest deterministic peer | weakest row |", "|---|---|---|---|"]
    gpu, ratios = peers["gpu"].removeprefix("NVIDIA "), ratios_to_peers(peers)
    weakest: dict[int, tuple[float, str]] = {}
    for (head_dim, mask, rows), variants in by_problem(peers).items():
        ratio = best_of(variants, True, True)["tflops"] / best_of(variants, False, False)["tflops"]
        weakest[head_dim] = min(weakest.get(head_dim, (math.inf, "")), (ratio, f"{mask}, {rows} rows"))
    for head_dim, pairs in ratios.items():
        lines.append(f"| {gpu}, head dim {head_dim} | **{mean(nd for nd, _ in pairs):.2f}x** | {mean(det for _, det in pairs):.2f}x | "
                     f"{weakest[head_dim][0]:.2f}x: {weakest[head_dim][1]} |")
    pairs = [(best_of_turns(variants), problem) for problem, variants in by_problem(sustained).items()]
    ratio, (head_dim, mask, rows) = min(pairs)
    lines.append(f"| {sustained['gpu'].removeprefix('NVIDIA ')}, both, without a pause (power limit) | {mean(pair[0] for pair in pairs):.2f}x | – | "
                 f"{ratio:.2f}x: head dim {head_dim}, {mask}, {rows} rows |")
    speeds = [(row["dash"] / row["cudnn"], row) for row in head_dims["speeds"]]
    ratio, row = min(speeds, key=lambda speed: speed[0])
    lines.append(f"| {head_dims['device'].split()[1]}, head dim {row['head_dim']}, beside cuDNN alone | {mean(speed for speed, _ in speeds):.2f}x | – | "
                 f"{ratio:.2f}x: {row['mask']}, {row['rows']} rows |")
    scaled = " (measured apart)" if peers["families"]["fa4"].get("scaled") else ""
    text = (f"Peers are FlashAttention-3, FlashAttention-4{scaled} and cuDNN. Their fastest modes are not deterministic; dash is. Numbers are geometric "
            "means of the newest records ([all rows, and how they were measured](dialects/dash/docs/measurements.md)).")
    return "\n".join(lines) + "\n\n" + textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False) + "\n"


def best_of_turns(variants: dict[str, dict]) -> float:
    """How many times faster dash is than the fastest of the rest that need not be deterministic,
    one pass after the other."""
    theirs = max(row["tflops"] for variant, row in variants.items() if variant in ("FA3 nd", "cudnn (nd)"))
    return next(row["tflops"] for variant, row in variants.items() if variant not in TURNS) / theirs


# ---- Traces
# -------------------------------------------------------------------------------------------------


def trace_levels(record: dict, name: str) -> str:
    """What each level of a trace costs, over a plain kernel in the same process."""
    programs: dict[str, dict[str, dict]] = {}
    for row in record["levels"]:
        programs.setdefault(row["program"], {})[row["trace"]] = row
    levels = [level for level in next(iter(programs.values())) if level != "plain"]
    lines = [f"{record['device']}, {record['date']}, commit {record['commit'][:7]}, `{record['command']}`, S {record['rows']}, {record['tokens']} tokens, medians of "
             f"{record['rounds']} rounds ([record]({link(name)})). The table has the time of the main entry over that of a plain kernel. `plain again` is a second "
             "plain kernel, so it says how far a ratio is from 1 by itself.", "",
             "| mask, head dim | plain, ms | " + " | ".join(f"`{level}`" for level in levels) + f" | records of `{levels[-1]}` |", "|---|---|" + "---|" * len(levels) + "---|"]
    for program, rows in programs.items():
        cells = [f"{rows[level]['main_ratio']:.3f}" for level in levels]
        lines.append(f"| {program.replace('-', ' ')} | {rows['plain']['main_ms']:.3f} | {' | '.join(cells)} | {rows[levels[-1]]['records']} |")
    return "\n" + "\n".join(lines) + "\n\n"


def trace_words(record: dict, program: str) -> str:
    """What the command printed of one program: the table by role at the level `all`, and the
    largest differences at the level `turns`."""
    shares = next(row for row in record["shares"] if row["program"] == program)
    found = next(row for row in record["differences"] if (row["program"], row["trace"]) == (program, "turns"))
    lines = ["", "```", f"{'role':<10}" + "".join(f"{column:>14}" for column in ORDER)]
    lines += [f"{role:<10}" + "".join(f"{share:>13.1f}%" for share in row) for role, row in shares.items() if isinstance(row, list)]
    lines += ["```", "", "```", f"the order took {found['took_us']:.1f} µs, predicted {found['predicted_us']:.1f}: {found['took_us'] / found['predicted_us']:.2f} of it; "
              "the largest differences:", *(f"{number}. {line}" for number, line in enumerate(found["largest"], 1)), "```"]
    return "\n".join(lines) + "\n\n"


def link(name: str) -> str:
    return f"../../../{RECORDS / name}"


if __name__ == "__main__":
    main()
