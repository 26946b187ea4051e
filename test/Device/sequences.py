"""Lists of sequences: gradients of each beside float64, whatever stands in its neighbours' rows;
bits that are those of the sequence alone; rows that no sequence has, and rows around the tensors,
which no kernel touches; lengths that make no sense. For a kernel with a sink, its gradient too: a
row a sequence.

Tensors are [rows, heads, head dim], as FlashAttention packs them, between guard rows that are
watched.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch
from accuracy import BESIDE_ROUNDING, NOISE, load
from group import Skip, Test, demand

from dash_attn import reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import BITS, DTYPES, OUTPUTS, errors, first_difference, wrong_words

GUARD = 40  # rows on each side of a tensor
NAN = float("nan")
INPUTS = ("q", "k", "v", "do", "o")
ON_KV = ("k", "v", "dk", "dv")
EDGES = (0, 0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 513, 1000)
# A sequence that meets several kv tiles, none of them whole, alone and among these.
PROBE = (457, 700)
# Kinds of one order of adds to dQ, and of different ones of visits, whose sums dK and dV are.
BY_KV_TILE = {"ascending", "descending"}
COMPANIES = {
    "alone": [],
    "of 2": [(300, 300)],
    "of 7, equal": [PROBE] * 6,
    "of 7": [(1, 900), (0, 0), (640, 64), (1000, 1000), (5, 0), (0, 77)],
}


@dataclass
class Packed:
    """A list's tensors, with what has to stay as it is around them."""

    lengths: list[tuple[int, int]]
    heads: int
    kv_heads: int
    head_dim: int
    tensors: dict[str, torch.Tensor]
    # With guard rows, and a row of dsink in front of that of the first sequence and behind that of
    # the last.
    whole: dict[str, torch.Tensor]
    gap: int  # rows in front of the first sequence and behind the last that none has

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5

    @property
    def outputs(self) -> tuple[str, ...]:
        return OUTPUTS + ("dsink",) * ("sink" in self.tensors)

    @property
    def guard(self) -> dict[str, int]:
        """Rows of no sequence on each side of an output."""
        return {name: 1 if name == "dsink" else GUARD for name in self.outputs}

    def rows(self, index: int, name: str) -> slice:
        if name == "dsink":
            return slice(index, index + 1)
        side = 1 if name in ON_KV else 0
        begin = self.gap + sum(pair[side] for pair in self.lengths[:index])
        return slice(begin, begin + self.lengths[index][side])

    def of(self, index: int, name: str) -> torch.Tensor:
        """[1, heads, rows, head dim] of one sequence; lse without the last."""
        if name == "lse":
            return self.tensors["lse"][None, :, self.rows(index, name)]
        return self.tensors[name][self.rows(index, name)].transpose(0, 1)[None]


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    found = []
    plain = {
        kernel.kind: kernel
        for kernel in kernels
        if has_lengths(kernel) and not kernel.debug and scores_of(kernel) == (None, False)
    }
    for kernel in kernels:
        if kernel.debug:  # other launches, the same bits
            found.append(
                Test(
                    f"sequences {kernel.name}",
                    kernel.name,
                    lambda kernel=kernel: bits_are_those_of(
                        kernel, plain[kernel.kind], 10 if quick else 100
                    ),
                )
            )
            continue
        checks = {"random": lambda k=kernel: random_lists(k, 4 if quick else 40)}
        if kernel.manifest["order"]["source"] == "entry":
            checks |= {
                "company": lambda k=kernel: company(k),
                "neighbours": lambda k=kernel: neighbours(k),
                "repeats": lambda k=kernel: repeats(k, 20 if quick else 200),
                "graph": lambda k=kernel: graph(k),
                "nonsense": lambda k=kernel: nonsense(k),
                "kinds": lambda k=kernel: kinds_differ(k, kernels),
            }
        found += [
            Test(f"sequences {kernel.name} {name}", kernel.name, check)
            for name, check in checks.items()
        ]
    return found


def has_lengths(kernel: BundledKernel) -> bool:
    """Whether they come with each call."""
    return kernel.manifest["order"]["source"] == "entry"


def scores_of(kernel: BundledKernel) -> tuple[float | None, bool]:
    return kernel.softcap, kernel.has_sink


def make(
    kernel: BundledKernel,
    lengths: list[tuple[int, int]],
    heads: int,
    kv_heads: int,
    seed: int,
    gap: int = 0,
) -> Packed:
    """Inputs of all sequences; NaN in rows that none has, in guard rows and in outputs. What a
    sequence has depends on the seed and its own lengths alone."""
    dtype, d, options = DTYPES[kernel.element], kernel.head_dim, {"device": "cuda"}
    totals = [sum(pair[side] for pair in lengths) + 2 * gap for side in (0, 1)]
    whole = {
        name: torch.full(
            (totals[name in ON_KV] + 2 * GUARD, kv_heads if name in ON_KV else heads, d),
            NAN,
            dtype=dtype,
            **options,
        )
        for name in (*INPUTS, *OUTPUTS)
    }
    tensors = {name: tensor[GUARD:-GUARD] for name, tensor in whole.items()}
    whole["lse"] = torch.full((heads, totals[0]), NAN, **options)
    tensors["lse"] = whole["lse"]
    if kernel.has_sink:
        tensors["sink"] = torch.linspace(-1.0, 2.0, heads, **options)
        whole["dsink"] = torch.full((len(lengths) + 2, heads), NAN, **options)
        tensors["dsink"] = whole["dsink"][1:-1]
    packed = Packed(lengths, heads, kv_heads, d, tensors, whole, gap)
    for index, pair in enumerate(lengths):
        generator = torch.Generator(device="cuda").manual_seed(
            seed * 1000003 + pair[0] * 4099 + pair[1]
        )
        for name in ("q", "k", "v", "do"):
            packed.of(index, name).copy_(
                torch.randn(packed.of(index, name).shape, generator=generator, **options)
            )
        if kernel.softcap:  # so large that the cap is felt
            packed.of(index, "q").mul_(kernel.softcap / 2)
        if min(pair) > 0:
            o, lse = reference.forward(
                packed.of(index, "q"),
                packed.of(index, "k"),
                packed.of(index, "v"),
                **asked(kernel, packed),
            )
            packed.of(index, "o").copy_(o)
            packed.of(index, "lse").copy_(
                torch.where(torch.isfinite(lse), lse, float("inf")).float()
            )
        else:
            packed.of(index, "o").zero_()
            packed.of(index, "lse").fill_(float("inf"))
    return packed


def asked(kernel: BundledKernel, packed: Packed) -> dict[str, Any]:
    """Options of the reference."""
    return {
        "scale": packed.scale,
        "mask": kernel.mask,
        "softcap": kernel.softcap,
        "sink": packed.tensors.get("sink"),
    }


def bounds(packed: Packed, side: int) -> torch.Tensor:
    numbers = [packed.gap]
    for pair in packed.lengths:
        numbers.append(numbers[-1] + pair[side])
    return torch.tensor(numbers, dtype=torch.int32, device="cuda")


def run(
    kernel: BundledKernel, packed: Packed, cu: tuple[torch.Tensor, torch.Tensor] | None = None
) -> dict[str, torch.Tensor]:
    """Copies of the gradients, NaN where nothing was written."""
    for name in packed.outputs:
        packed.whole[name].fill_(NAN)
    launch(kernel, packed, cu)
    torch.cuda.synchronize()
    return {name: packed.tensors[name].clone() for name in packed.outputs}


def launch(
    kernel: BundledKernel, packed: Packed, cu: tuple[torch.Tensor, torch.Tensor] | None = None
) -> None:
    lengths = {}
    if has_lengths(kernel):
        q, kv = cu or (bounds(packed, 0), bounds(packed, 1))
        lengths = {"cu_seqlens_q": q, "cu_seqlens_kv": kv}
    load(kernel).backward(**packed.tensors, **lengths, scale=packed.scale, layout="thd")


def demand_kept(packed: Packed, found: dict[str, torch.Tensor], when: str) -> None:
    """Guard rows and rows of no sequence are NaN as before, all others are numbers."""
    for name, guard in packed.guard.items():
        whole, owned = (
            packed.whole[name],
            torch.zeros(found[name].shape[0], dtype=torch.bool, device="cuda"),
        )
        for index in range(len(packed.lengths)):
            owned[packed.rows(index, name)] = True
        outside = torch.cat([whole[:guard], whole[-guard:], found[name][~owned]])
        demand(
            bool(torch.isnan(outside).all()), f"{when}: {name} was written outside of its sequences"
        )
        wrong = int((~torch.isfinite(found[name][owned])).sum())
        demand(not wrong, f"{when}: {wrong} elements of {name} are not finite")


def random_list(rng: random.Random, most: int) -> list[tuple[int, int]]:
    def one() -> int:
        return rng.choice(EDGES) if rng.random() < 0.5 else rng.randrange(most)

    lengths = [(one(), one()) for _ in range(rng.choice([1, 1, 2, 3, 5, 12, 40]))]
    if rng.random() < 0.5:  # self-attention
        lengths = [(q, q) for q, _ in lengths]
    return (
        lengths
        if any(q for q, _ in lengths) and any(kv for _, kv in lengths)
        else [*lengths, (3, 5)]
    )


def lists_of(
    kernel: BundledKernel, count: int
) -> list[tuple[list[tuple[int, int]], int, int, int]]:
    """(lengths, heads, kv heads, gap)"""
    if not has_lengths(kernel):
        command = kernel.manifest["order"]["command"]
        stated = {
            key: [int(number) for number in text.split("+")]
            for key, text in (
                part.split(":") for part in command.rsplit("sizes=", 1)[1].rstrip("'").split(",")
            )
        }
        return [
            (list(zip(stated["q"], stated["kv"])), stated["heads"][0], stated["kv-heads"][0], 0)
        ]
    found = []
    for seed in range(count):
        rng = random.Random(seed)
        heads, kv_heads = rng.choice([(1, 1), (2, 2), (4, 2), (6, 2), (8, 1)])
        found.append(
            (
                random_list(rng, rng.choice([100, 400, 900])),
                heads,
                kv_heads,
                rng.choice([0, 0, 3, 70]),
            )
        )
    return found


def random_lists(kernel: BundledKernel, count: int) -> dict[str, Any]:
    worst = 0.0
    for seed, (lengths, heads, kv_heads, gap) in enumerate(lists_of(kernel, count)):
        packed = make(kernel, lengths, heads, kv_heads, seed, gap)
        found = run(kernel, packed)
        when = f"seed {seed}, {lengths}, {heads} heads over {kv_heads}"
        demand_kept(packed, found, when)
        for index, pair in enumerate(lengths):
            part = {
                name: found[name][packed.rows(index, name)].transpose(0, 1)[None]
                for name in OUTPUTS
            }
            if kernel.has_sink:
                part["dsink"] = found["dsink"][packed.rows(index, "dsink")]
            if min(pair) == 0:
                demand(
                    all(bool((one == 0).all()) for one in part.values()),
                    f"{when}: gradients without a partner are not 0",
                )
                continue
            if index >= 6:  # the first ones are enough of a long list
                break
            inputs = [packed.of(index, name) for name in (*INPUTS, "lse")]
            exact, plain = (
                reference.backward(*inputs, **asked(kernel, packed), corrected=corrected)
                for corrected in (True, False)
            )
            dtype = DTYPES[kernel.element]
            rounded = reference.backward(
                *inputs, **asked(kernel, packed), rounded=lambda x: x.to(dtype).double()
            )
            ours = errors(part, exact, plain)
            theirs = errors(
                {name: one.to(part[name].dtype) for name, one in rounded.items()}, exact, plain
            )
            for name in packed.outputs:
                worst = max(worst, ours[name])
                demand(
                    ours[name] <= max(BESIDE_ROUNDING * theirs[name], NOISE),
                    f"{when}: {name} of sequence {index} is {ours[name]:.3e} off, unavoidable"
                    f" roundings {theirs[name]:.3e}",
                )
    return {"lists": count, "worst": worst}


def probe_bits(
    kernel: BundledKernel, others: list[tuple[int, int]], place: int, heads: int, kv_heads: int
) -> dict[str, torch.Tensor]:
    lengths = [*others[:place], PROBE, *others[place:]]
    packed = make(kernel, lengths, heads, kv_heads, seed=7)
    found = run(kernel, packed)
    return {name: found[name][packed.rows(place, name)] for name in packed.outputs}


def company(kernel: BundledKernel) -> dict[str, Any]:
    """Level batch: the same bits alone and among others, at any place."""
    checked = 0
    for heads, kv_heads in ((4, 2), (3, 3)):
        alone = probe_bits(kernel, [], 0, heads, kv_heads)
        for name, others in COMPANIES.items():
            for place in {0, len(others) // 2, len(others)}:
                found = probe_bits(kernel, others, place, heads, kv_heads)
                different = [
                    text
                    for text in (first_difference(found[out], alone[out], out) for out in alone)
                    if text
                ]
                demand(not different, f"place {place} {name}: {different}")
                checked += 1
    return {"checked": checked}


def neighbours(kernel: BundledKernel) -> None:
    """NaN and inf in the rows of all others change no bit of a sequence."""
    others = COMPANIES["of 7"]
    place = 3
    lengths = [*others[:place], PROBE, *others[place:]]
    packed = make(kernel, lengths, 4, 2, seed=7)
    plain = run(kernel, packed)
    for value in (NAN, float("inf")):
        for index in range(len(lengths)):
            if index != place:
                for name in (*INPUTS, "lse"):
                    packed.of(index, name).fill_(value)
        found = run(kernel, packed)
        for name in packed.outputs:
            rows = packed.rows(place, name)
            text = first_difference(found[name][rows], plain[name][rows], name)
            demand(not text, f"{value} in the neighbours' rows: {text}")


def repeats(kernel: BundledKernel, count: int) -> dict[str, Any]:
    packed = make(
        kernel, [(700, 700), (0, 3), (64, 640), (1500, 1500), (1, 1)], 8, 4, seed=3, gap=5
    )
    expected = run(kernel, packed)
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    other = torch.cuda.Stream()
    for number in range(count):
        with torch.cuda.stream(other):
            for _ in range(number % 3):
                torch.matmul(a, a)
        found = run(kernel, packed)
        for name in packed.outputs:
            bits = BITS[found[name].element_size()]
            demand(
                torch.equal(found[name].view(bits), expected[name].view(bits)),
                f"run {number}: {name} has other bits",
            )
    return {"repeats": count}


def graph(kernel: BundledKernel) -> dict[str, Any]:
    """Captured once; replayed with other lengths, which the host does not look at."""
    total, heads, kv_heads = 2000, 4, 2
    lists = [
        [(total, total)],
        [(1000, 1000), (1000, 1000)],
        [(1, 1), (1999, 1999)],
        [(700, 700), (0, 0), (1300, 1300)],
        [(640, 640)] * 3 + [(80, 80)],
    ]
    most = max(len(one) for one in lists)
    lists = [one + [(0, 0)] * (most - len(one)) for one in lists]
    packs = [make(kernel, one, heads, kv_heads, seed=2) for one in lists]
    expected = [run(kernel, packed) for packed in packs]
    place = make(kernel, lists[0], heads, kv_heads, seed=2)  # what is copied from stays as it is
    cu = (bounds(place, 0), bounds(place, 1))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launch(kernel, place, cu)
    stream.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, stream=stream):
        launch(kernel, place, cu)
    for number, packed in enumerate(packs * 2):
        with torch.cuda.stream(stream):
            for name in (*INPUTS, "lse"):
                place.tensors[name].copy_(packed.tensors[name])
            for side in (0, 1):
                cu[side].copy_(bounds(packed, side))
            for name in place.outputs:
                place.whole[name].fill_(NAN)
            captured.replay()
        stream.synchronize()
        for name in place.outputs:
            text = first_difference(place.tensors[name], expected[number % len(packs)][name], name)
            demand(not text, f"replay {number} with {packed.lengths}: {text}")
    return {"replays": 2 * len(packs)}


def nonsense(kernel: BundledKernel) -> dict[str, Any]:
    """Lengths that do not ascend, are negative or beyond the tensors: it ends, and touches no guard
    row; then all is as before."""
    packed = make(kernel, [(300, 300), (200, 200), (500, 500)], 4, 2, seed=5)
    expected = run(kernel, packed)
    total = 1000
    lists = [
        [0, 500, 200, total],
        [total, 0, total, 0],
        [-5, 300, 500, total],
        [0, 300, 500, 10**9],
        [2**31 - 1, -(2**31), 7, 7],
        [5, 5, 5, 5],
        [0, 1 << 20, 1 << 21, 1 << 30],
    ]
    for numbers in lists:
        wrong = torch.tensor(numbers, dtype=torch.int32, device="cuda")
        for cu in ((wrong, wrong), (wrong, bounds(packed, 1)), (bounds(packed, 0), wrong)):
            run(kernel, packed, cu)
            for name, guard in packed.guard.items():
                guards = torch.cat([packed.whole[name][:guard], packed.whole[name][-guard:]])
                demand(
                    bool(torch.isnan(guards).all()), f"{numbers}: a guard row of {name} was written"
                )
            found = run(kernel, packed)
            for name in packed.outputs:
                text = first_difference(found[name], expected[name], name)
                demand(not text, f"after {numbers}: {text}")
    return {"lists": len(lists)}


def bits_are_those_of(kernel: BundledKernel, plain: BundledKernel, count: int) -> dict[str, Any]:
    """Random lists, beside other work; every counter is left at its end."""
    a, other = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16), torch.cuda.Stream()
    for seed, (lengths, heads, kv_heads, gap) in enumerate(lists_of(kernel, count)):
        packed = make(kernel, lengths, heads, kv_heads, seed, gap)
        expected = run(plain, packed)
        for number in range(3):
            with torch.cuda.stream(other):
                for _ in range(number):
                    torch.matmul(a, a)
            found = run(kernel, packed)
            demand_kept(packed, found, f"seed {seed}, {lengths}")
            for name in OUTPUTS:
                text = first_difference(found[name], expected[name], name)
                demand(not text, f"seed {seed}, {lengths}, run {number}: {text}")
    left = wrong_words(load(kernel))
    demand(not left, f"a counter is not at its end afterwards: {left}")
    return {"lists": count}


def kinds_differ(kernel: BundledKernel, kernels: list[BundledKernel]) -> dict[str, Any]:
    """The negative control: another order gives other bits, so that equal bits mean something.
    Those of dQ, or, of two kinds that add to dQ in the same order, those of dK and dV."""
    other = next(
        (
            one
            for one in kernels
            if one.kind != kernel.kind
            and has_lengths(one)
            and not one.debug
            and scores_of(one) == scores_of(kernel)
        ),
        None,
    )
    if other is None:
        raise Skip("the bundle has one kind of order for lists of this mask")
    # Long chains: after rounding to 16 bits few elements tell one order from another.
    rows = 2000
    of_q, of_kv = most_contributions(kernel, rows)
    names, most, tiles = (
        (("dk", "dv"), of_kv, "q")
        if {kernel.kind, other.kind} <= BY_KV_TILE
        else (("dq",), of_q, "kv")
    )
    if most < 3:
        raise Skip(
            f"no tile of {' and '.join(names)} has contributions of more than {most} {tiles} tiles"
            f" at {rows} rows, and sums of two are the same in either order"
        )
    packed = make(kernel, [(rows, rows)], 8, 8, seed=7)
    found, theirs = run(kernel, packed), run(other, packed)
    differ = {
        name: int((found[name].view(torch.int16) != theirs[name].view(torch.int16)).sum())
        for name in names
    }
    demand(
        all(differ.values()),
        f"the same bits with {kernel.kind} and {other.kind}: {differ} elements differ",
    )
    return {"differing": differ, "other": other.kind}


def most_contributions(kernel: BundledKernel, rows: int) -> tuple[int, int]:
    """How many kv tiles the q tile has that has most, and how many q tiles the kv tile; of one
    sequence."""
    tiles, place = kernel.manifest["program"]["tiles"], torch.arange(rows)
    seen = kernel.mask.sees(place[:, None], place[None], None, rows, rows)
    of_tiles = torch.stack([part.any(0) for part in seen.split(tiles["q"])])
    of_tiles = torch.stack([part.any(1) for part in of_tiles.split(tiles["kv"], 1)], 1)
    return int(of_tiles.sum(1).max()), int(of_tiles.sum(0).max())
