"""Numbers that are hard (dialects/dash/docs/numbers.md), and tensors beyond 32-bit indices."""

from __future__ import annotations

from typing import Any

import torch
from accuracy import load
from cases import case
from group import Skip, Test, demand
from repeat import demand_same

from dash_attn import reference
from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, Case, make_inputs, poison, run
from dash_attn.reference import CAUSAL, FULL

SHAPE = (300, 700, 1, 4, 2, "bhsd")
MORE_QUERIES = (700, 300, 1, 2, 1, "bhsd")
AT = (0, 1, 205)  # batch, head and row of what is changed; its kv head is 0
END_OF_BF16 = 3.39e38
GIB = 1 << 30


def tests(kernels: list[BundledKernel], quick: bool) -> list[Test]:
    open_ones = [
        kernel
        for kernel in kernels
        if not kernel.fixed_sizes
        and kernel.element == "bf16"
        and kernel.is_deterministic
        and kernel.mask in (FULL, CAUSAL)
    ]
    checks = [
        (kernel, check)
        for kernel in open_ones[:2]
        for check in (infinite_lse, lse_nan, rows_of_inputs, scales, subnormals, end_of_bf16)
    ]
    # Chains of these do not hang on how many heads there are, so that a few of them can be computed
    # alone.
    checks += [
        (kernel, check)
        for kernel in open_ones
        if kernel.kind == "ascending" and not quick
        for check in (many_elements, wide_strides)
    ]
    return [
        Test(
            f"hard_numbers {kernel.name} {check.__name__}",
            kernel.name,
            lambda kernel=kernel, check=check: check(kernel),
        )
        for kernel, check in checks
    ]


def changed(
    bundled: BundledKernel, name: str, at: tuple[int, ...], value: float
) -> tuple[Case, dict[str, torch.Tensor]]:
    """Gradients of inputs of which one number is another."""
    problem = case(bundled, SHAPE)
    tensors = make_inputs(problem)
    if name:
        tensors[name][at] = value
    found = run(load(bundled), problem, tensors, stream=0)
    torch.cuda.synchronize()
    return problem, found


def seen_by(problem: Case, row: int) -> int:
    """How many kv rows a row sees, the first ones."""
    return row + 1 + problem.kv_rows - problem.q_rows if problem.mask == CAUSAL else problem.kv_rows


def rest_of(tensor: torch.Tensor, at: tuple[int, ...]) -> torch.Tensor:
    """All rows but one."""
    keep = torch.ones(tensor.shape[:-1], dtype=torch.bool, device=tensor.device)
    keep[at] = False
    return tensor[keep]


def infinite_lse(bundled: BundledKernel) -> None:
    _, below = changed(bundled, "lse", AT, -float("inf"))
    _, above = changed(bundled, "lse", AT, float("inf"))
    demand(bool((below["dq"][AT] == 0).all()), "dq of a row with the LSE -inf is not 0")
    demand(
        all(bool(torch.isfinite(below[name]).all()) for name in OUTPUTS), "a gradient is not finite"
    )
    demand_same(above, below, "LSE inf beside -inf")


def lse_nan(bundled: BundledKernel) -> None:
    problem, found = changed(bundled, "lse", AT, float("nan"))
    expected = {
        name: torch.zeros(found[name].shape[:-1], dtype=torch.bool, device="cuda")
        for name in OUTPUTS
    }
    expected["dq"][AT] = True
    for name in ("dk", "dv"):
        expected[name][0, 0, : seen_by(problem, AT[2])] = True
    for name in OUTPUTS:
        nan = torch.isnan(found[name])
        demand(
            bool((nan == expected[name][..., None]).all()),
            f"{int(nan.sum())} elements of {name} are NaN, in other places than expected",
        )


def rows_of_inputs(bundled: BundledKernel) -> None:
    _, plain = changed(bundled, "", (), 0)
    for value in (float("nan"), float("inf")):
        for name in ("q", "do"):
            _, found = changed(bundled, name, (*AT, 3), value)
            demand(
                not bool(torch.isfinite(found["dq"][AT]).all()),
                f"{name} {value}: dq of the row is finite",
            )
            demand(
                torch.equal(rest_of(found["dq"], AT), rest_of(plain["dq"], AT)),
                f"{name} {value}: dq of other rows has other bits",
            )
            for kv in ("dk", "dv"):
                demand(
                    torch.equal(found[kv][:, 1], plain[kv][:, 1]),
                    f"{name} {value}: {kv} of the other kv head has other bits",
                )
        for name in ("k", "v"):
            at = (0, 0, AT[2])
            _, found = changed(bundled, name, (*at, 3), value)
            for kv in ("dk", "dv"):
                demand(
                    torch.equal(rest_of(found[kv], at), rest_of(plain[kv], at)),
                    f"{name} {value}: {kv} of other rows has other bits",
                )


def scales(bundled: BundledKernel) -> dict[str, Any]:
    problem = case(bundled, SHAPE)
    tensors = make_inputs(problem)
    kernel = load(bundled)
    kernel.backward(**tensors, scale=0.0, stream=0)
    demand(
        bool((tensors["dq"] == 0).all()) and bool((tensors["dk"] == 0).all()),
        "scale 0: dq and dk are not 0",
    )
    demand(bool(torch.isfinite(tensors["dv"]).all()), "scale 0: dv is not finite")
    scale = -problem.scale
    o, lse = reference.forward(
        tensors["q"], tensors["k"], tensors["v"], scale=scale, mask=problem.mask
    )
    tensors["o"].copy_(o)
    tensors["lse"].copy_(lse.float())
    poison(tensors)
    kernel.backward(**tensors, scale=scale, stream=0)
    torch.cuda.synchronize()
    exact = reference.backward(
        *(tensors[name] for name in ("q", "k", "v", "do", "o", "lse")),
        scale=scale,
        mask=problem.mask,
    )
    far = {
        name: reference.relative_error(tensors[name], exact[name], exact[name]) for name in OUTPUTS
    }
    demand(
        all(error < 1e-2 for error in far.values()),
        f"scale below 0: expected gradients within 0.01 of float64, found {far}",
    )
    return {"errors": far}


def upstream_only(
    bundled: BundledKernel, factor: float
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Gradients with V and O of 0, so that dS is 0, and dO between half of `factor` and all of it;
    and the exact dV."""
    problem = case(bundled, MORE_QUERIES)
    tensors = make_inputs(problem)
    tensors["do"].copy_(tensors["do"].abs().clamp(0.5, 1).double() * factor)
    tensors["v"].zero_()
    tensors["o"].zero_()
    found = run(load(bundled), problem, tensors, stream=0)
    torch.cuda.synchronize()
    exact = reference.backward(
        *(tensors[name] for name in ("q", "k", "v", "do", "o", "lse")),
        scale=problem.scale,
        mask=problem.mask,
    )
    demand(
        bool((found["dq"] == 0).all()) and bool((found["dk"] == 0).all()),
        "dq and dk without dS are not 0",
    )
    return found, exact["dv"]


def subnormals(bundled: BundledKernel) -> dict[str, Any]:
    found, exact = upstream_only(bundled, 2.0**-130)
    dv = found["dv"].double()
    near = (dv - exact).abs() <= exact * 2.0**-6 + 2.0**-133
    demand(bool((near | (dv == 0)).all()), "dv is neither near float64 nor 0")
    return {"kept": float(near.double().mean())}


def end_of_bf16(bundled: BundledKernel) -> None:
    found, exact = upstream_only(bundled, 3.3e38)
    dv, past = found["dv"].double(), exact > 1.01 * END_OF_BF16
    demand(bool(past.any()), "no sum is past the end of bf16")
    demand(bool((dv[past] == float("inf")).all()), "past the end of bf16 dv is not inf")
    demand(
        bool(torch.isfinite(dv[exact < 0.98 * END_OF_BF16]).all()),
        "below the end of bf16 dv is not finite",
    )


# ---- Beyond 32 bits ------------------------------------------------------------------------------


def need(gib: int) -> None:
    torch.cuda.empty_cache()
    free = torch.cuda.mem_get_info()[0] // GIB
    if free < gib:
        raise Skip(f"needs {gib} GiB of memory, found {free}")


def fill(tensors: dict[str, torch.Tensor], seed: int) -> None:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    for name in ("q", "k", "v", "do", "o"):
        # A batch entry at a time: a generator of 32 bits would repeat itself.
        for part in tensors[name]:
            part.normal_(generator=generator)
    tensors["lse"].uniform_(8, 9, generator=generator)
    poison(tensors)


def many_elements(bundled: BundledKernel) -> dict[str, Any]:
    """More than 2^31 elements in each tensor, and 2^32 bytes; heads on both sides of these are
    computed alone as well."""
    need(70)
    batch, heads, rows = 64, 64 * 128 // bundled.head_dim, 4160
    shape = (batch, heads, rows, bundled.head_dim)
    tensors = {
        name: torch.empty(shape, dtype=torch.bfloat16, device="cuda")
        for name in ("q", "k", "v", "do", "o", *OUTPUTS)
    }
    tensors["lse"] = torch.empty(shape[:3], device="cuda")
    fill(tensors, seed=1)
    problem = Case(bundled.head_dim, bundled.mask, rows, rows, batch, heads, heads)
    load(bundled).backward(**tensors, scale=problem.scale, stream=0)
    torch.cuda.synchronize()
    one = Case(bundled.head_dim, bundled.mask, rows, rows, 1, 1, 1)
    places = [(0, 0), (30, heads - 1), (batch // 2, 0), (batch - 2, 1), (batch - 1, heads - 1)]
    for b, h in places:
        alone = {
            name: tensor[b : b + 1, h : h + 1].contiguous() for name, tensor in tensors.items()
        }
        expected = {name: alone[name].clone() for name in OUTPUTS}
        poison(alone)
        demand_same(
            run(load(bundled), one, alone, stream=0),
            expected,
            f"batch {b}, head {h} of {tensors['q'].numel()} elements",
        )
    return {"elements": tensors["q"].numel(), "heads": len(places)}


def wide_strides(bundled: BundledKernel) -> dict[str, Any]:
    """All tensors in one piece of memory, whose batch entries lie more than 2^32 elements apart."""
    need(20)
    problem = case(bundled, (300, 300, 2, 4, 4, "bhsd"))
    plain = make_inputs(problem)
    expected = run(load(bundled), problem, plain, stream=0)
    stride, size = (1 << 32) + 64, plain["q"][0].numel()
    names = [name for name in plain if name != "lse"]
    memory = torch.empty(stride + size * len(names), dtype=torch.bfloat16, device="cuda")
    tensors = {"lse": plain["lse"]}
    for place, name in enumerate(names):
        tensors[name] = memory[place * size :].as_strided(
            plain[name].shape, (stride, *plain[name].stride()[1:])
        )
        tensors[name].copy_(plain[name])
    poison(tensors)
    demand_same(
        run(load(bundled), problem, tensors, stream=0),
        expected,
        f"batch entries {stride} elements apart",
    )
    return {"stride": stride}
