"""The table of `attention` with its own forward, from records of test/Device/both_ways.py."""

from __future__ import annotations

from measured import link, mean

PEERS = {"cudnn": "cuDNN", "flash3": "FA3"}
CONTROL = "dash again"
THEIRS = "PyTorch's forward"
FOREIGN = f"{THEIRS}, dash's backward"


def of_control(record: dict) -> list[str]:
    """What two times of the same thing differ by."""
    pairs = [
        (row["forward"][CONTROL], row["forward"]["dash"])
        for row in record["speeds"]
        if CONTROL in row["forward"]
    ]
    if not pairs:
        return []
    found = [again / once for again, once in pairs]
    return [
        "",
        (
            "The control is dash's forward once more in each round: its speed is"
            f" {min(found):.3f}x to {max(found):.3f}x that of the first."
        ),
    ]


def of_attention(record: dict, name: str) -> str:
    """For each head dim and mask the forward beside its peers, and both ways beside cuDNN's."""
    lines = [
        (
            f"{record['gpu']}, PyTorch {record['torch']}, {record['date']}, commit"
            f" {record['commit']}, 16384 tokens, 16 heads of 128 or 32 of 64, one process"
            f" ([record]({link(name)}) of `test/Device/both_ways.py`), in TFLOP/s of the forward:"
            " dash, cuDNN and FlashAttention-3. Below each row: both ways, dash and cuDNN."
        ),
        "",
    ]
    tables: dict[tuple[int, str], list[dict]] = {}
    for row in record["speeds"]:
        tables.setdefault((row["head_dim"], row["mask"]), []).append(row)
    lengths = [row["rows"] for row in next(iter(tables.values()))]
    lines += ["| | " + " | ".join(map(str, lengths)) + " |", "|---" * (1 + len(lengths)) + "|"]
    for (head_dim, mask), rows in tables.items():
        forward = [
            ", ".join(f"{row['forward'][one]:.0f}" for one in ("dash", *PEERS)) for row in rows
        ]
        both = [f"{row['both ways']['dash']:.0f}, {row['both ways']['cudnn']:.0f}" for row in rows]
        lines.append(f"| {head_dim} {mask} | " + " | ".join(forward) + " |")
        lines.append("| both ways | " + " | ".join(both) + " |")

    def ratio(way: str, peer: str) -> str:
        found = [row[way]["dash"] / row[way][peer] for row in record["speeds"]]
        return f"{mean(found):.2f}x ({min(found):.2f}x to {max(found):.2f}x)"

    lines += [
        "",
        (
            f"In geometric mean, with the worst and the best row, the forward has"
            f" {ratio('forward', 'cudnn')} cuDNN's speed and {ratio('forward', 'flash3')} that of"
            f" FlashAttention-3. Both ways have {ratio('both ways', 'cudnn')} cuDNN's speed,"
            f" whose backward is not deterministic, and {ratio('both ways', FOREIGN)} that of"
            " cuDNN's forward before dash's backward."
        ),
        *of_control(record),
        "",
    ]
    for row in record["lists"]:
        speeds = row["forward"]
        lines.append(
            f"- {row['sequences']} packed documents of head dim {row['head_dim']}, the longest of"
            f" {row['longest']} rows, causal: dash {speeds['dash']:.0f}, FlashAttention-2"
            f" {speeds[THEIRS]:.0f}, FlashAttention-3"
            f" {speeds['flash3']:.0f} TFLOP/s forward."
        )
    return "\n".join(lines) + "\n"
