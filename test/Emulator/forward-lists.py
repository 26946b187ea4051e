"""Kernels of forwards of lists on the emulator of `lib`: each sequence is near float64 and has the
bits that it has alone, in a batch of its own. Rows that no sequence has are NaN: they are not read,
and nothing is written there. The order that the device makes has each item once."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from forward_case import Arrays, Case, are_equal, check_errors, compiled, demand, run  # noqa: E402
from launch import Kernel  # noqa: E402

UNION = "window = [30, 0], union = #dash.union<columns = 20, window = [-1, 0]>"
HEADER, RECORD = 8, 12  # words of an order buffer's parts


def check_outside(case: Case, found: Arrays, given: Arrays) -> None:
    """Rows without keys have zeros, and an LSE of -inf or of the sink alone; those of no sequence
    are as they were, all bits set."""
    alone = np.broadcast_to(given.get("sink", np.float32(-np.inf)), case.heads)[None, :, None]
    is_written = np.zeros(found["o"].shape[2], bool)
    for of_q, of_kv in case.rows():
        is_written[of_q] = True
        if of_kv.start == of_kv.stop:
            demand(not found["o"][:, :, of_q].any(), f"{case}: o of rows without keys")
            demand(np.allclose(found["lse"][:, :, of_q], alone, 1e-6), f"{case}: their LSE")
    for name, tensor in (("o", found["o"]), ("lse", found["lse"].view(np.uint32))):
        left = tensor[:, :, ~is_written]
        demand(bool((left == np.iinfo(left.dtype).max).all()), f"{case}: {name} outside is written")


def check_alone(case: Case, found: Arrays, given: Arrays, folder: Path) -> None:
    """Beside the kernel of a batch of one sequence."""
    for index, (of_q, of_kv) in enumerate(case.rows()):
        q, kv = case.lengths[index]
        if q == 0 or kv == 0:
            continue
        alone = replace(case, lengths=(), q=q, kv=kv, options="", is_stated=False)
        rows = {"q": of_q, "k": of_kv, "v": of_kv}
        inputs = {
            name: tensor[:, :, rows[name]] if name in rows else tensor
            for name, tensor in given.items()
        }
        mine = run(alone, folder / str(index), inputs)
        demand(are_equal(mine, found, of_q), f"{case}: other bits in a list than alone: {q, kv}")


def check_order(case: Case, kernel: Kernel) -> None:
    """Each item is there once, and walks the tiles of its line upward. Items are dealt evenly, or
    drawn from one list, in which sequences with more keys come first."""
    words = np.frombuffer(kernel.region("order"), np.int32)
    _, workers, items, lists, first_item, first_visit, _, sequences = words[:HEADER].tolist()
    tiles = kernel.manifest["program"]["tiles"]
    cut = case.cut or 2**31
    expected = [
        (index, head, tile, piece * case.heads + head if case.cut else 0)
        for index, (q, kv) in enumerate(case.lengths)
        for head in range(case.heads)
        for tile in range(-(-q // tiles["q"]))
        for piece in range(-(-kv // cut) if case.cut else 1)
    ]
    records = words[first_item:][: 8 * items].reshape(-1, 8)
    demand(
        sorted(map(tuple, records[:, [0, 1, 2, 7]].tolist())) == sorted(expected)
        and sequences == len(case.lengths),
        f"{case}: items {records[:, :3].tolist()}",
    )
    visits = words[first_visit:][: (len(words) - first_visit) // 4 * 4].reshape(-1, 4)
    for sequence, head, tile, first_head, first, count, rounds, last in records.tolist():
        begin = last // case.heads * cut // tiles["kv"] if case.cut else 0
        end = min(-(-case.lengths[sequence][1] // tiles["kv"]), begin + cut // tiles["kv"])
        walked = visits[first : first + count, 1].tolist()
        demand(
            walked == sorted(set(walked))
            and set(walked) <= set(range(begin, end))
            and (case.mask != "full" or count == end - begin)
            and (first_head, rounds) == (head * case.kv_heads // case.heads, 1),
            f"{case}: item {sequence, head, tile} walks {walked} from head {first_head}",
        )
    shares = np.diff(words[lists : lists + workers + 1])
    is_drawn = not (case.is_stated or case.cut or "hand-out=false" in case.options)
    if is_drawn:
        begins = list(dict.fromkeys(records[:, 0].tolist()))
        by_keys = sorted(set(begins), key=lambda one: (-case.lengths[one][1], one))
        demand(workers == 1 and shares.tolist() == [items], f"{case}: lists of {shares} items")
        demand(
            begins == by_keys and (np.diff(records[:, 0]) != 0).sum() == len(begins) - 1,
            f"{case}: sequences in the order {records[:, 0].tolist()}, expected {by_keys}",
        )
        return
    demand(workers > 1, f"{case}: one list of {shares} items")
    demand(int(shares.max() - shares.min()) <= len(case.lengths), f"{case}: shares {shares}")


def check(case: Case, folder: Path, memory: str = "bhsd") -> None:
    given = case.inputs()
    kernel = compiled(case, folder)
    found = kernel.run(given, case.sizes(), case.head_dim**-0.5, case.seed, memory)
    check_errors(case, found, given)
    check_outside(case, found, given)
    check_order(case, kernel)
    check_alone(case, found, given, folder)


def main() -> None:
    folder = Path(sys.argv[1])
    # Empty sequences of queries, of keys and of both; fewer keys than queries, and more.
    odd = ((70, 70), (0, 30), (33, 0), (200, 70), (0, 0), (1, 65), (129, 300), (5, 5))
    few = ((70, 70), (0, 30), (33, 0), (140, 70), (1, 200))
    formulas = Case(options="kind=longest-first", lengths=few)
    for name, case, memory in (
        ("causal", replace(formulas, lengths=odd), "bshd"),
        (
            "own",
            replace(formulas, lengths=odd, options=f"{formulas.options} hand-out=false"),
            "bshd",
        ),
        ("full", replace(formulas, mask="full", head_dim=128, head_dim_v=128), "padded"),
        ("window", replace(formulas, mask="window = [40, 10]", options="kind=ascending"), "bhsd"),
        ("union", replace(formulas, mask=UNION, heads=1, lengths=((30, 300), (140, 150))), "bhsd"),
        ("sink", replace(formulas, has_sink=True, softcap=20.0, heads=4, kv_heads=2), "bhsd"),
        (
            "small",
            replace(formulas, options="kind=longest-first q-tile=64", head_dim_v=40, workers=1),
            "bhsd",
        ),
        ("stated", Case(lengths=((70, 70), (200, 70), (1, 65)), is_stated=True), "bshd"),
        ("cut", replace(formulas, lengths=odd, cut=128, heads=4, kv_heads=2), "bshd"),
        ("cut-full", replace(formulas, mask="full", lengths=few, cut=128, has_sink=True), "padded"),
        ("cut-stated", Case(lengths=((70, 70), (3, 300)), is_stated=True, cut=128), "bhsd"),
    ):
        check(case, folder / name, memory)


main()
