"""Tables of how fast kernels are, from records: orders beside each other, and dash beside its
peers."""

from __future__ import annotations

import math
import textwrap

from measured import by_problem, by_shape, link, mean, of_forward

KINDS = ("ascending", "descending", "shift", "symmetric-shift")
OTHERS = ("unordered (nd)", "flash (nd)", "cudnn (nd)")
CALLS = ("dash", "SDPA cuDNN", "SDPA flash", "SDPA flash det")
# Beside dash, one pass after the other.
TURNS = {"FA3 nd": "FA3 nd", "FA3 det": "FA3 det", "cudnn (nd)": "cuDNN nd"}
PEERS = ("FA3 nd", "FA3 det", "FA4 nd", "FA4 det", "cuDNN nd")


# ---- Passes without a pause ----------------------------------------------------------------------


def without_pause(record: dict, name: str) -> str:
    # A build of FA3 is not in every process.
    others = [other for other in TURNS if any(row["variant"] == other for row in record["results"])]
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, turns of {record['seconds']} s, TFLOP/s of the whole backward,"
            f" and the clock in MHz ([record]({link(name)})). nd: not deterministic."
        ),
        "",
        f"| head dim, mask | S | dash | {' | '.join(map(TURNS.get, others))} | to best nd |",
        "|---|---|---|---" + "|---" * len(others) + "|",
    ]
    before, ratios, watts = None, [], [row["power_w"] for row in record["results"]]
    for (head_dim, mask, rows), variants in by_problem(record).items():
        (ours,) = (row for variant, row in variants.items() if variant not in others)
        ratios.append(
            ours["tflops"]
            / max(variants[other]["tflops"] for other in others if other != "FA3 det")
        )
        problem, before = (
            f"{head_dim} {mask}" if (head_dim, mask) != before else "",
            (
                head_dim,
                mask,
            ),
        )
        cells = [f"**{ours['tflops']:.0f}** at {ours['clock_mhz']}"] + [
            f"{variants[other]['tflops']:.0f} at {variants[other]['clock_mhz']}" for other in others
        ]
        lines.append(f"| {problem} | {rows} | " + " | ".join(cells) + f" | {ratios[-1]:.2f} |")
    lines += [
        "",
        (
            f"Geometric mean: dash is {mean(ratios):.2f}x faster than the best non-deterministic"
            f" peer, at {min(watts)} to {max(watts)} W."
        ),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Orders and PyTorch's passes, in one process -------------------------------------------------


def measurements(record: dict, name: str, baselines: dict) -> str:
    known = {
        (row["head_dim"], row["mask"], row["rows"]): row["fa3_det"] for row in baselines["rows"]
    }
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, medians of {record['rounds']} rounds, TFLOP/s of the whole"
            f" backward ([record]({link(name)})). The best order is bold, and the ratios are its."
        ),
        "",
        "| head dim, mask | S | " + " | ".join(KINDS + OTHERS) + " | to FA3 det | to cuDNN here |",
        "|---|---|" + "---|" * (len(KINDS) + len(OTHERS) + 2),
    ]
    ratios: dict[int, list[tuple[float, float]]] = {}
    last = None
    for problem, variants in by_problem(record).items():
        best = max(KINDS, key=lambda kind: variants[kind]["tflops"] if kind in variants else 0)
        speed = variants[best]["tflops"]
        pair = speed / known[problem], speed / variants["cudnn (nd)"]["tflops"]
        ratios.setdefault(problem[0], []).append(pair)
        cells = [
            (
                f"**{variants[kind]['tflops']:.0f}**"
                if kind == best
                else f"{variants[kind]['tflops']:.0f}"
                if kind in variants
                else "–"
            )
            for kind in KINDS + OTHERS
        ]
        title = f"{problem[0]} {problem[1]}"
        lines.append(
            f"| {title if title != last else ''} | {problem[2]} | "
            + " | ".join(cells)
            + f" | {pair[0]:.2f} | {pair[1]:.2f} |"
        )
        last = title
    lines.append("")
    for head_dim, pairs in ratios.items():
        fa3, cudnn = (mean(pair[i] for pair in pairs) for i in (0, 1))
        lines.append(
            f"Geometric mean over the {len(pairs)} problems of head dim {head_dim}: dash is"
            f" {fa3:.2f}x faster than FA3 det, and {cudnn:.2f}x faster than cuDNN (not"
            " deterministic) in the same process."
        )
    return "\n" + "\n".join(lines) + "\n\n"


# ---- dash beside its peers, in one process -------------------------------------------------------


def best_of(variants: dict[str, dict], is_dash: bool, deterministic: bool) -> dict:
    """The fastest in the memory that peers get: [batch, rows, heads, head dim]."""
    return max(
        (
            row
            for row in variants.values()
            if (row["family"] == "dash") == is_dash
            and row["deterministic"] == deterministic
            and not row["variant"].endswith("bhsd")
        ),
        key=lambda row: row["tflops"],
    )


def ratios_to_peers(record: dict) -> dict[int, list[tuple[float, float]]]:
    """For each head dim the ratios to the fastest peer that is not deterministic, and to the
    fastest that is."""
    ratios: dict[int, list[tuple[float, float]]] = {}
    for problem, variants in by_problem(record).items():
        speed = best_of(variants, True, True)["tflops"]
        ratios.setdefault(problem[0], []).append(
            (
                speed / best_of(variants, False, False)["tflops"],
                speed / best_of(variants, False, True)["tflops"],
            )
        )
    return ratios


def beside_peers(record: dict, name: str) -> str:
    versions, cudnn = (
        record["families"],
        f"{record['cudnn'] // 10000}.{record['cudnn'] // 100 % 100}",
    )
    lines = [
        f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, medians of"
        f" {record['rounds']} rounds, TFLOP/s of the whole backward ([record]({link(name)})): dash"
        f" of commit {record['commit']}, FlashAttention-3 of commit"
        f" {versions['fa3']['flash-attention'][:12]}, flash-attn-4"
        f" {versions['fa4']['flash-attn-4']}, PyTorch's cuDNN {cudnn}. nd: not deterministic.",
        "",
        "| head dim, mask | S | dash | order | "
        + " | ".join(PEERS)
        + " | to best nd | to best det |",
        "|---|---|---|---|" + "---|" * (len(PEERS) + 2),
    ]
    last = None
    for (head_dim, mask, rows), variants in by_problem(record).items():
        best = best_of(variants, True, True)
        cells = [
            f"**{best['tflops']:.0f}**",
            best["variant"].removeprefix("dash "),
            *(f"{variants[peer]['tflops']:.0f}" for peer in PEERS),
        ]
        cells += [
            f"{best['tflops'] / best_of(variants, False, deterministic)['tflops']:.2f}"
            for deterministic in (False, True)
        ]
        title = f"{head_dim} {mask}"
        lines.append(f"| {title if title != last else ''} | {rows} | " + " | ".join(cells) + " |")
        last = title
    lines.append("")
    for head_dim, pairs in ratios_to_peers(record).items():
        lines.append(
            f"Geometric mean over the {len(pairs)} problems of head dim {head_dim}: dash is"
            f" {mean(nd for nd, _ in pairs):.2f}x faster than the best non-deterministic peer, and"
            f" {mean(det for _, det in pairs):.2f}x faster than the best deterministic one."
        )
    return "\n" + "\n".join(lines) + "\n\n"


# ---- kind=auto, on shapes that people have -------------------------------------------------------


def chosen_kinds(record: dict, name: str) -> str:
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, milliseconds of the whole backward, medians"
            f" ([record]({link(name)}))."
        ),
        "",
        (
            "| head dim, mask | rows of q x k | batch | heads | auto took | ms | predicted | best"
            " fixed kind | ms | cuDNN nd | to best fixed |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in record["results"]:
        times = row["ms"]
        best = min(KINDS, key=lambda kind: times[kind])
        lines.append(
            f"| {row['head_dim']} {row['mask']} | {row['rows']} x {row['kv_rows']} | {row['batch']}"
            f" | {row['heads']}/{row['kv_heads']} | {row['auto']} | **{times['auto']:.3f}** |"
            f" {row['predicted_us']['auto'] / 1e3:.3f} | {best} | {times[best]:.3f} |"
            f" {times['cudnn (nd)']:.3f} | {times[best] / times['auto']:.2f} |"
        )
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Masks, by active task -----------------------------------------------------------------------


def by_active_task(record: dict, name: str) -> str:
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, medians of {record['rounds']} rounds ([record]({link(name)})). A"
            " time above its bound is bold."
        ),
        "",
        (
            "| head dim, rows | mask | order | n | main, ns a task | bound | dash, ms |"
            " FlashAttention-2, ms |"
        ),
        "|---|---|---|---|---|---|---|---|",
    ]
    last = None
    for row in record["results"]:
        time, bound = row["ns_of_task_in_main"], row["bound"]
        shown = f"**{time:.0f}**" if time > bound else f"{time:.0f}"
        title = f"{row['head_dim']}, {row['rows']}"
        theirs = f"{row['flash_ms']:.3f}" if row["flash_ms"] else "–"
        lines.append(
            f"| {title if title != last else ''} | {row['mask']} | {row['kind']} |"
            f" {row['tasks_of_item']:.1f} | {shown} | {bound:.0f} | {row['ms']:.3f} | {theirs} |"
        )
        last = title
    ratios = [row["flash_ms"] / row["ms"] for row in record["results"] if row["flash_ms"]]
    lines += [
        "",
        (
            f"Where PyTorch's FlashAttention-2 knows the mask, dash is {min(ratios):.2f}x to"
            f" {max(ratios):.2f}x faster."
        ),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


# ---- Both ways, by each framework's own call -----------------------------------------------------


def both_ways(record: dict, name: str) -> str:
    shapes = by_shape(record)
    left_out = (
        f" No time was left for {' and '.join(record['left_out'])}." if record["left_out"] else ""
    )
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, medians of"
            f" {record['rounds']} rounds ([record]({link(name)})), milliseconds. Only dash and"
            f" `SDPA flash det` are deterministic. The fastest is bold.{left_out}"
            + of_forward(record, "cuDNN's")
        ),
        "",
        "| head dim, mask | heads | rows of q x k | batch | "
        + " | ".join(CALLS)
        + " | MiB of dash | MiB of cuDNN |",
        "|---|---|---|---|" + "---|" * (len(CALLS) + 2),
    ]
    last = None
    for variants in shapes.values():
        row = variants["dash"]
        fastest = min(variants[call]["ms"] for call in CALLS)
        times = [
            f"**{ms:.2f}**" if ms == fastest else f"{ms:.2f}"
            for ms in (variants[call]["ms"] for call in CALLS)
        ]
        title = f"{row['head_dim']} {row['mask']}"
        lines.append(
            f"| {title if title != last else ''} | {row['heads']}/{row['kv_heads']} | {row['rows']}"
            f" x {row['kv_rows']} | {row['batch']} | "
            + " | ".join(times)
            + f" | {row['mib']:.0f} | {variants['SDPA cuDNN']['mib']:.0f} |"
        )
        last = title
    ratios = [variants["SDPA cuDNN"]["ms"] / variants["dash"]["ms"] for variants in shapes.values()]
    lines += [
        "",
        (
            f"dash is {min(ratios):.2f}x to {max(ratios):.2f}x faster than cuDNN,"
            f" {mean(ratios):.2f}x in geometric mean."
        ),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def head_dims_beside_cudnn(record: dict, name: str) -> str:
    lines = [
        (
            f"TFLOP/s of the backward, {record['device']}, {record['date']}, commit"
            f" {record['commit']}, 16384 tokens, bf16, dash beside cuDNN (not deterministic) in one"
            f" process ([record]({link(name)}), `test/Device/head_dims.py --only-speed`)."
        ),
        "",
        "| head dim, mask | S | dash | cuDNN nd | to cuDNN |",
        "|---|---|---|---|---|",
    ]
    last = None
    for row in record["speeds"]:
        title = f"{row['head_dim']} {row['mask']}"
        lines.append(
            f"| {title if title != last else ''} | {row['rows']} | **{row['dash']:.0f}** |"
            f" {row['cudnn']:.0f} | {row['dash'] / row['cudnn']:.2f} |"
        )
        last = title
    return "\n" + "\n".join(lines) + "\n\n"


def summary(peers: dict, sustained: dict, head_dims: dict) -> str:
    """The README's table: how many times faster dash is, and in which row the least."""
    lines = [
        (
            "| backward, bf16 | faster than the fastest peer | than the fastest deterministic peer"
            " | weakest row |"
        ),
        "|---|---|---|---|",
    ]
    gpu, ratios = peers["gpu"].removeprefix("NVIDIA "), ratios_to_peers(peers)
    weakest: dict[int, tuple[float, str]] = {}
    for (head_dim, mask, rows), variants in by_problem(peers).items():
        ratio = best_of(variants, True, True)["tflops"] / best_of(variants, False, False)["tflops"]
        weakest[head_dim] = min(
            weakest.get(head_dim, (math.inf, "")), (ratio, f"{mask}, {rows} rows")
        )
    for head_dim, pairs in ratios.items():
        lines.append(
            f"| {gpu}, head dim {head_dim} | **{mean(nd for nd, _ in pairs):.2f}x** |"
            f" {mean(det for _, det in pairs):.2f}x | {weakest[head_dim][0]:.2f}x:"
            f" {weakest[head_dim][1]} |"
        )
    pairs = [
        (best_of_turns(variants), problem) for problem, variants in by_problem(sustained).items()
    ]
    ratio, (head_dim, mask, rows) = min(pairs)
    lines.append(
        f"| {sustained['gpu'].removeprefix('NVIDIA ')}, both, without a pause (power limit) |"
        f" {mean(pair[0] for pair in pairs):.2f}x | – | {ratio:.2f}x: head dim {head_dim}, {mask},"
        f" {rows} rows |"
    )
    speeds = [(row["dash"] / row["cudnn"], row) for row in head_dims["speeds"]]
    ratio, row = min(speeds, key=lambda speed: speed[0])
    lines.append(
        f"| {head_dims['device'].split()[1]}, head dim {row['head_dim']}, beside cuDNN alone |"
        f" {mean(speed for speed, _ in speeds):.2f}x | – | {ratio:.2f}x: {row['mask']},"
        f" {row['rows']} rows |"
    )
    text = (
        "Peers are FlashAttention-3, FlashAttention-4 and cuDNN. Their fastest modes are not"
        " deterministic; dash is. Numbers are geometric means of the newest records ([all rows, and"
        " how they were measured](dialects/dash/docs/measurements.md))."
    )
    return (
        "\n".join(lines)
        + "\n\n"
        + textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False)
        + "\n"
    )


def best_of_turns(variants: dict[str, dict]) -> float:
    """How many times faster dash is than the fastest of the rest that need not be deterministic,
    one pass after the other."""
    theirs = max(
        row["tflops"] for variant, row in variants.items() if variant in ("FA3 nd", "cudnn (nd)")
    )
    return next(row["tflops"] for variant, row in variants.items() if variant not in TURNS) / theirs
