"""Which kernels a bundle for machines with a GPU has, and the options of dash-opt that compile
each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TARGETS_OWN = 0  # workers: as many as the target has multiprocessors
KINDS = ("ascending", "descending", "shift", "symmetric-shift", "synthesized", "unordered")
# The masks, by their names, and the kinds that each has kernels of. Windows: one as models have it,
# one of which both edges run through a tile at once, one without a right side and one without a
# left. A bitmap is of stated rows: a block of queries and one of keys have no partner. Unions: 200
# first columns of all, a tile and a part of one, beside a diagonal; 4 of them beside a window; of
# each a table and formulas.
MASKS = {
    "full": KINDS,
    "causal": KINDS,
    "window-512-0": ("ascending", "shift", "synthesized"),
    "window-100-40": ("shift",),
    "window-300-all": ("shift",),
    "window-all-70": ("shift",),
    "blocks-causal": ("shift",),
    "union-200-all-0-all-all": ("synthesized", "descending"),
    "union-4-100-all-all-0": ("shift", "descending"),
}
FORMULAS_OF_UNIONS = ("ascending", "descending")
WINDOW_OF_EXAMPLE = "window = [512, 0]"
UNION_OF_EXAMPLE = "causal, union = #dash.union<columns = 4, window = [512, -1]>"
BITS = "[[1, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]"
HEAD_DIMS = (128, 64)
KV_TILE = 128
# Rows of Q in a tile: 128 do not fit registers.
Q_TILES = {(head_dim, mask): 64 for head_dim in HEAD_DIMS for mask in MASKS}
# An order that is searched for is a table for stated sizes: one that tests can afford, and one of
# the benchmark's.
TABLE_SIZES = {"small": "q:1024,kv:1024,batch:2,heads:4,kv-heads:4"}
TABLE_SIZES_OF_BENCH = {
    128: "q:4096,kv:4096,batch:4,heads:16,kv-heads:16",
    64: "q:4096,kv:4096,batch:4,heads:32,kv-heads:32",
}


# What tables are searched with: costs of a machine that is measured anew must not change bits that
# golden.json holds.
COSTS = Path(__file__).resolve().parents[2] / "test/Device/golden-costs.json"

# The kind whose order is written to a file, and read from it: the kernel's kind is "file", and its
# order a table.
FROM_FILE = "symmetric-shift"
# Builds for tests: one keeps every contribution to dQ, one sleeps at random wherever roles wait for
# each other, in one threads arrive at barriers for themselves, which a checker of races
# understands. Workers that draw tickets have the bits of those that do not.
DEBUG_OPTIONS = {
    "contributions": "contributions=true",
    "delays": "delays=true",
    "threads": "threads-arrive=true",
    "tickets": "tickets=true",
}
TICKETS_KIND = "ascending"
# Contributions that are kept apart: of parts, and of a kind of a mask.
APART = {"-apart-parts": "apart=parts", "-apart-all": "apart=all"}
APART_KINDS = {"causal": "symmetric-shift", "window-512-0": "shift", "blocks-causal": "shift"}
# Lists of sequences: kinds of orders that the device makes of lengths, and lengths of tables.
LIST_KINDS = {
    "full": ("shift", "ascending", "shortest-first"),
    "causal": ("symmetric-shift", "ascending", "shortest-first"),
    "window-100-40": ("shift", "shortest-first"),
    "union-200-all-0-all-all": ("descending",),
    "union-4-100-all-all-0": ("descending", "ascending"),
}
LIST_TABLE = {"causal": "q:700+64+1+1500+129+333,kv:700+640+1+1500+129+100,heads:8,kv-heads:4"}
# Kernels that take delta in place of o, of batches and of lists.
GIVEN_DELTA = {"causal": "symmetric-shift"}
# Kernels of batches that take o in f32, as it is before it is rounded.
UNROUNDED = {"causal": "symmetric-shift"}
O_OF_F32 = "memref<?x?x?x{head_dim}xf32, strided<[?, ?, ?, 1], offset: ?>>"
# Kinds whose kernels are also built for f16, one of a mask: a kernel differs from that of bf16 in a
# few instructions.
F16_KINDS = {"full": "shift", "causal": "symmetric-shift"}
# For a mask: a kind, its parts and its level. The usual sizes that an order is proven for have
# heads that they divide.
PARTS = {"full": ("shift", 4, "run"), "causal": ("symmetric-shift", 8, "batch")}
PARTS_SIZES = "heads:16,kv-heads:2"
# More parts than a kv head has query heads: runs of q tiles. For a mask: a kind, its parts and
# sizes, of formulas the usual ones.
RUNS = {
    "full": ("shift", 3, "heads:1,kv-heads:1"),
    "causal": ("synthesized", 4, "q:2048,kv:2048,batch:1,heads:2,kv-heads:2"),
}
# Kernels for tests of levels: of a class of masks, a kind of order. At level machine it is made for
# so many workers and run by others, at level batch it serves any batch (orders of bitmaps are
# tables: one for each); kernels of a lower level beside them do have other bits.
LEVEL_KINDS = {"causal": "symmetric-shift", "window-512-0": "shift", "blocks-causal": "synthesized"}
MADE_FOR, LEVEL_WORKERS, LEVEL_BATCHES = 64, (132, 100, 66), (1, 2, 7)
LEVEL_TABLE = "parts=1 sizes=q:1024,kv:1024,heads:32,kv-heads:32,batch:"
# At level batch a table of a list gives each sequence the order that it has beside others; at level
# run a search looks at all of them.
LEVEL_LISTS = {"beside-one": "1000+64", "among-many": "1000+3000+200+1000+1900"}
# Kernels with other scores: with a softcap, as Gemma 2 has it, and with a sink, as gpt-oss has it.
# For a mask: a kind, what each of its kernels of batches has, and what those of lists have.
SOFTCAP = 50.0
SCORES = {
    "causal": ("symmetric-shift", ("softcap", "sink"), ("softcap", "sink")),
    "window-512-0": ("shift", ("softcap-sink",), ("sink",)),
    "union-4-100-all-all-0": ("descending", ("softcap-sink",), ()),
}
# Lists of which there is the build that a checker of races understands.
LIST_THREADS = {"causal": "symmetric-shift"}
DEBUG_KINDS = {
    "full": ("ascending", "shift", "symmetric-shift"),
    "causal": ("ascending", "shift", "symmetric-shift"),
    "window-512-0": ("shift",),
}


@dataclass(frozen=True)
class DeviceKernel:
    """name is that of its files; example is a program of dialects/dash/examples, of head dim
    128."""

    name: str
    head_dim: int
    mask: str
    options: str
    element: str = "bf16"
    order: str = ""  # how dash-apply-schedule makes the order that kind=file reads
    has_lengths: bool = False  # of a list of sequences whose lengths come with each call
    takes_delta: bool = False  # in place of o
    takes_unrounded: bool = False  # o in f32
    scores: tuple[str, ...] = ()  # what is done to them: "softcap", "sink"

    @property
    def example(self) -> str:
        return f"bwd-{self.mask.split('-')[0]}.mlir"

    def program(self, text: str) -> str:
        """The example's text for this mask, head dim and type."""
        bounds = ["-1" if bound == "all" else bound for bound in self.mask.split("-")[1:]]
        text = text.replace(WINDOW_OF_EXAMPLE, f"window = [{', '.join(bounds)}]")
        if self.mask.startswith("union"):
            columns, left, right, *band = bounds
            text = text.replace(
                UNION_OF_EXAMPLE,
                f"window = [{', '.join(band)}], union = #dash.union<columns = {columns}, "
                f"window = [{left}, {right}]>",
            )
        text = re.sub(r"dense<\[\[.*\]\]>", f"dense<{BITS}>", text)
        if self.takes_delta:
            text = (
                text.replace("%o: !tensor", "%delta: !per_row")
                .replace("o = %o", "delta = %delta")
                .replace("!per_row, !tensor)", "!per_row, !per_row)")
            )
        if self.takes_unrounded:
            of_o = O_OF_F32.format(head_dim=self.head_dim)
            text = text.replace("%o: !tensor", f"%o: {of_o}").replace(
                "!per_row, !tensor)", f"!per_row, {of_o})"
            )
        if "sink" in self.scores:
            text = text.replace(
                "%scale: f32)",
                "%scale: f32, %sink: memref<?xf32>, %dsink: memref<?x?xf32, strided<[?, 1]>>)",
            )
            text = text.replace(
                "scale(%scale)",
                "scale(%scale) sink(%sink, %dsink : memref<?xf32>, memref<?x?xf32, strided<[?,"
                " 1]>>)",
            )
        if self.has_lengths:
            text = text.replace("scale(%scale)", "scale(%scale) sequences(<?>)")
        if "softcap" in self.scores:
            text = text.replace("\n  return", f" softcap({SOFTCAP})\n  return")
        return text.replace("x128xbf16", f"x{self.head_dim}xbf16").replace("bf16", self.element)


def device_kernels(workers: int = TARGETS_OWN) -> list[DeviceKernel]:
    kernels = []
    for head_dim in HEAD_DIMS:
        for mask in MASKS:
            common = f"q-tile={Q_TILES[head_dim, mask]} kv-tile={KV_TILE} workers={workers}"
            for kind in MASKS[mask]:
                tables = {"": ""}
                if (
                    mask.startswith("blocks")
                    or mask.startswith("union")
                    and kind not in FORMULAS_OF_UNIONS
                ):
                    tables = TABLE_SIZES
                elif kind == "synthesized":
                    tables = TABLE_SIZES | {"bench": TABLE_SIZES_OF_BENCH[head_dim]}
                for suffix, sizes in tables.items():
                    name = "-".join(filter(None, (f"d{head_dim}", mask, kind, suffix)))
                    stated = f" parts=1 sizes={sizes} costs={COSTS}" if sizes else ""
                    kernels.append(
                        DeviceKernel(name, head_dim, mask, f"kind={kind} {common}{stated}")
                    )
                    if kind == APART_KINDS.get(mask) and suffix in ("", "small"):
                        kernels.append(
                            DeviceKernel(
                                f"{name}-apart-all",
                                head_dim,
                                mask,
                                f"kind={kind} {common}{stated} {APART['-apart-all']}",
                            )
                        )
                    if kind == FROM_FILE and not suffix:
                        stated = f"workers={workers} sizes={TABLE_SIZES['small']}"
                        kernels.append(
                            DeviceKernel(
                                f"d{head_dim}-{mask}-file",
                                head_dim,
                                mask,
                                f"kind=file {common} sizes={TABLE_SIZES['small']}",
                                order=f"kind={kind} {stated}",
                            )
                        )
                    if (of_mask := PARTS.get(mask)) and of_mask[0] == kind:
                        options = (
                            f"kind={kind} {common} parts={of_mask[1]} level={of_mask[2]}"
                            f" sizes={PARTS_SIZES}"
                        )
                        kernels += [
                            DeviceKernel(
                                f"{name}-parts{of_mask[1]}{suffix}",
                                head_dim,
                                mask,
                                f"{options} {option}",
                            )
                            for suffix, option in (
                                ("", ""),
                                ("-contributions", DEBUG_OPTIONS["contributions"]),
                                ("-delays", DEBUG_OPTIONS["delays"]),
                                *APART.items(),
                            )
                        ]
                    if (
                        (of_mask := RUNS.get(mask))
                        and of_mask[0] == kind
                        and suffix in ("", "small")
                    ):
                        options = f"kind={kind} {common} parts={of_mask[1]} sizes={of_mask[2]}"
                        kernels += [
                            DeviceKernel(
                                f"d{head_dim}-{mask}-{kind}-runs{of_mask[1]}{build}",
                                head_dim,
                                mask,
                                f"{options} {option}",
                            )
                            for build, option in (
                                ("", ""),
                                ("-contributions", DEBUG_OPTIONS["contributions"]),
                                *APART.items(),
                            )
                        ]
                    if kind == F16_KINDS.get(mask):
                        kernels.append(
                            DeviceKernel(
                                f"{name}-f16",
                                head_dim,
                                mask,
                                f"kind={kind} {common}",
                                element="f16",
                            )
                        )
                    if kind in DEBUG_KINDS.get(mask, ()):
                        kernels += [
                            DeviceKernel(
                                f"{name}-{word}", head_dim, mask, f"kind={kind} {common} {option}"
                            )
                            for word, option in DEBUG_OPTIONS.items()
                            if word != "tickets" or kind == TICKETS_KIND
                        ]
            kernels += [
                DeviceKernel(
                    f"d{head_dim}-{mask}-{kind}-list",
                    head_dim,
                    mask,
                    f"kind={kind} level=batch {common}",
                    has_lengths=True,
                )
                for kind in LIST_KINDS.get(mask, ())
            ]
            if mask in SCORES:
                kind, *changes = SCORES[mask]
                kernels += [
                    DeviceKernel(
                        f"d{head_dim}-{mask}-{kind}{'-list' * has_lengths}-{change}",
                        head_dim,
                        mask,
                        f"kind={kind}{' level=batch' * has_lengths} {common}",
                        has_lengths=has_lengths,
                        scores=tuple(change.split("-")),
                    )
                    for has_lengths in (False, True)
                    for change in changes[has_lengths]
                ]
            if mask in LIST_TABLE:
                kernels.append(
                    DeviceKernel(
                        f"d{head_dim}-{mask}-synthesized-list",
                        head_dim,
                        mask,
                        f"kind=synthesized table=true parts=1 {common} sizes={LIST_TABLE[mask]}",
                    )
                )
            if TICKETS_KIND in LIST_KINDS.get(mask, ()):
                kernels.append(
                    DeviceKernel(
                        f"d{head_dim}-{mask}-{TICKETS_KIND}-list-tickets",
                        head_dim,
                        mask,
                        f"kind={TICKETS_KIND} level=batch {common} {DEBUG_OPTIONS['tickets']}",
                        has_lengths=True,
                    )
                )
            if kind := LIST_THREADS.get(mask):
                kernels.append(
                    DeviceKernel(
                        f"d{head_dim}-{mask}-{kind}-list-threads",
                        head_dim,
                        mask,
                        f"kind={kind} level=batch {common} {DEBUG_OPTIONS['threads']}",
                        has_lengths=True,
                    )
                )
            if kind := GIVEN_DELTA.get(mask):
                kernels += [
                    DeviceKernel(
                        f"d{head_dim}-{mask}-{kind}{'-list' * has_lengths}-delta",
                        head_dim,
                        mask,
                        f"kind={kind} level=batch {common}",
                        has_lengths=has_lengths,
                        takes_delta=True,
                    )
                    for has_lengths in (False, True)
                ]
            if kind := UNROUNDED.get(mask):
                kernels.append(
                    DeviceKernel(
                        f"d{head_dim}-{mask}-{kind}-unrounded",
                        head_dim,
                        mask,
                        f"kind={kind} {common}",
                        takes_unrounded=True,
                    )
                )
    return kernels + level_kernels()


def level_kernels() -> list[DeviceKernel]:
    """Kernels of one head dim: levels are the order's, which knows none."""
    kernels, head_dim = [], 128
    for mask, kind in LEVEL_KINDS.items():
        is_table = mask.startswith("blocks")
        table = f" {LEVEL_TABLE}2" if is_table else ""
        machine = {
            f"machine-{workers}": f"level=machine for-workers={MADE_FOR} workers={workers}{table}"
            for workers in LEVEL_WORKERS
        }
        orders = machine | {
            f"run-{workers}": f"level=run workers={workers}{table}"
            for workers in (LEVEL_WORKERS[0], LEVEL_WORKERS[-1])
        }
        for batch in LEVEL_BATCHES if is_table else ():
            orders |= {
                f"{level}-of-{batch}": (
                    f"level={level} workers={LEVEL_WORKERS[0]} {LEVEL_TABLE}{batch}"
                )
                for level in ("batch", "run")
            }
        if not is_table:
            orders["batch"] = f"level=batch workers={LEVEL_WORKERS[0]}"
        common = f"kind={kind} q-tile={Q_TILES[head_dim, mask]} kv-tile={KV_TILE}"
        kernels += [
            DeviceKernel(
                f"d{head_dim}-{mask}-{kind}-level-{name}", head_dim, mask, f"{common} {order}"
            )
            for name, order in orders.items()
        ]
        if mask == "causal":
            options = (
                f"kind=synthesized table=true parts=1 workers={LEVEL_WORKERS[0]}"
                f" q-tile={Q_TILES[head_dim, mask]} kv-tile={KV_TILE}"
            )
            kernels += [
                DeviceKernel(
                    f"d{head_dim}-{mask}-synthesized-list-level-{level}-{which}",
                    head_dim,
                    mask,
                    f"{options} level={level} sizes=q:{rows},kv:{rows},heads:8,kv-heads:4",
                )
                for level in ("batch", "run")
                for which, rows in LEVEL_LISTS.items()
            ]
        if kind in LIST_KINDS.get(mask, ()):
            machine |= {
                f"batch-{workers}": f"level=batch workers={workers}"
                for workers in LEVEL_WORKERS[1:]
            }
            kernels += [
                DeviceKernel(
                    f"d{head_dim}-{mask}-{kind}-list-level-{name}",
                    head_dim,
                    mask,
                    f"{common} {order}",
                    has_lengths=True,
                )
                for name, order in machine.items()
            ]
    return kernels
