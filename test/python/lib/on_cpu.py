"""dash_attn.torch without a GPU: its operators, and those of PyTorch that it uses, are computed on
the CPU in float64."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import fixtures  # noqa: F401  (finds dash_attn)
import torch
from torch._meta_registrations import alloc_with_matching_layout

from dash_attn import reference
from dash_attn.kernel.masks import mask_of
from dash_attn.reference import Mask
from dash_attn.torch.delta import in_place_of_o
from dash_attn.torch.forward import outputs
from dash_attn.torch.problem import HAS_SPLITS

# By whom gradients were computed, window, scale.
LAUNCHED: list[tuple[str, tuple[int, int], float]] = []
FORWARDS: list[str] = []  # by whom these were computed


def forward(
    q: Any,
    k: Any,
    v: Any,
    bias: Any,
    with_lse: bool,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    """cuDNN's: causal at the top left, LSE with a dimension of 1."""
    FORWARDS.append("cudnn")
    assert (
        bias is None
        and with_lse
        and not dropout
        and not debug
        and (not causal or q.shape[2] == k.shape[2])
    )
    o, lse = reference.forward(
        q,
        k,
        v,
        scale=q.shape[3] ** -0.5 if scale is None else scale,
        mask=Mask(right=0 if causal else -1),
    )
    seed, none = torch.tensor(0), None
    like_q = alloc_with_matching_layout(q, tuple(o.shape))
    like_q.copy_(o)
    return like_q, lse.float()[..., None], none, none, q.shape[2], k.shape[2], seed, seed, none


def flash_forward(
    q: Any,
    k: Any,
    v: Any,
    cum_q: Any,
    cum_k: Any,
    max_q: int,
    max_k: int,
    dropout: float,
    causal: bool,
    debug: bool,
    *,
    scale: float | None = None,
    window_size_left: int | None = None,
    window_size_right: int | None = None,
    **_: Any,
) -> tuple[Any, ...]:
    """FlashAttention's: [batch, rows, heads, head_dim], or packed, masks at the bottom right."""
    FORWARDS.append("flash")
    assert q.shape[-1] == k.shape[-1] == v.shape[-1]
    assert not dropout and not causal and not debug
    if cum_q is not None:
        return flash_of_lists(
            q, k, v, cum_q, cum_k, max_q, max_k, scale, (window_size_left, window_size_right), **_
        )
    assert cum_k is None and (max_q, max_k) == (q.shape[1], k.shape[1])
    o, lse = reference.forward(
        *(x.transpose(1, 2) for x in (q, k, v)),
        scale=q.shape[3] ** -0.5 if scale is None else scale,
        mask=Mask(window_size_left, window_size_right),
    )
    none = torch.empty(0)
    return torch.empty_like(q).copy_(o.transpose(1, 2)), lse.float(), none, none, none


def sequences(cu_q: Any, cu_k: Any) -> Iterator[tuple[slice, slice]]:
    """The rows of each in q and in k."""
    for i in range(cu_q.numel() - 1):
        yield slice(int(cu_q[i]), int(cu_q[i + 1])), slice(int(cu_k[i]), int(cu_k[i + 1]))


def one_of(tensor: Any, rows: slice) -> Any:
    return tensor[rows].transpose(0, 1)[None]


def flash_of_lists(
    q: Any,
    k: Any,
    v: Any,
    cu_q: Any,
    cu_k: Any,
    max_q: int,
    max_k: int,
    scale: float,
    window: tuple[int, int],
    *,
    num_splits: int | None = None,
) -> tuple[Any, ...]:
    """As PyTorch's: what no sequence has is whatever was there. A bound of 1 is another path, of
    decoding."""
    assert num_splits == (1 if HAS_SPLITS else None) and max_q > 1 and max_k > 1
    o, lse = (
        torch.full(q.shape, torch.nan, dtype=q.dtype),
        torch.full((q.shape[1], q.shape[0]), torch.nan),
    )
    for of_q, of_k in sequences(cu_q, cu_k):
        assert of_q.stop - of_q.start <= max_q and of_k.stop - of_k.start <= max_k
        if of_k.stop > of_k.start:
            one, sums = reference.forward(
                one_of(q, of_q), one_of(k, of_k), one_of(v, of_k), scale=scale, mask=Mask(*window)
            )
            o[of_q], lse[:, of_q] = (
                one[0].transpose(0, 1).to(q.dtype),
                torch.where(sums[0].isfinite(), sums[0], torch.inf).float(),
            )
        else:
            o[of_q], lse[:, of_q] = 0, torch.inf
    none = torch.empty(0)
    return o, lse, none, none, none


def own_forward(
    q: Any,
    k: Any,
    v: Any,
    left: int,
    right: int,
    scale: float,
    softcap: float = 0.0,
    sink: Any = None,
    cu_q: Any = None,
    cu_k: Any = None,
    cut: int = 0,
    rules: str = "",
    out: Any = None,
    clears_rows: bool = True,
) -> tuple[Any, ...]:
    """The operator of dash's forward: in a list, rows outside of all sequences are 0, unless they
    stay as they are, and -inf in the LSE. Pieces of keys change no more than the last bits."""
    FORWARDS.append("dash")
    o, lse = outputs(q, k, v, cu_q)
    o = o if out is None else out
    rest = {"scale": scale, "mask": mask_of(left, right, rules), "sink": sink}
    rest |= {"softcap": softcap or None}
    if cu_q is None:
        one, sums = reference.forward(q, k, v, **rest)
        return o.copy_(one), lse.copy_(sums)
    lse.fill_(-torch.inf)
    if clears_rows:
        o.zero_()
    for of_q, of_k in sequences(cu_q, cu_q if cu_k is None else cu_k):
        if of_k.stop == of_k.start:
            o[of_q], lse[:, of_q] = 0, -torch.inf if sink is None else sink[:, None]
        elif of_q.stop > of_q.start:
            given = one_of(q, of_q), one_of(k, of_k), one_of(v, of_k)
            one, sums = reference.forward(*given, **rest)
            o[of_q], lse[:, of_q] = one[0].transpose(0, 1).to(q.dtype), sums[0].float()
    return o, lse


def own_unrounded(
    q: Any,
    k: Any,
    v: Any,
    left: int,
    right: int,
    scale: float,
    softcap: float = 0.0,
    sink: Any = None,
    cu_q: Any = None,
    cu_k: Any = None,
    rules: str = "",
) -> tuple[Any, ...]:
    """The operator of the forward that keeps o in float32, too."""
    rest = left, right, scale, softcap, sink, cu_q, cu_k, 0, rules
    unrounded, lse = own_forward(*(one.float() for one in (q, k, v)), *rest)
    FORWARDS[-1] = "dash, unrounded"
    o = outputs(q, k, v, cu_q)[0].copy_(unrounded)
    return o, lse, torch.empty_like(o, dtype=torch.float32).copy_(unrounded)


def gradients_of_lists(
    by: str,
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    cu_q: Any,
    cu_k: Any,
    left: int,
    right: int,
    scale: float,
    level: str = "run",
    dlse: Any = None,
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[Any, ...]:
    LAUNCHED.append((by + of_lse(dlse), (left, right), scale))
    deltas = in_place_of_o(do, o, lse, dlse)[1]
    dq, dk, dv = found = tuple(torch.zeros_like(x) for x in (q, k, v))
    for of_q, of_k in sequences(cu_q, cu_k):
        if min(of_q.stop - of_q.start, of_k.stop - of_k.start) > 0:
            given = [
                one_of(x, rows)
                for x, rows in ((q, of_q), (k, of_k), (v, of_k), (do, of_q), (o, of_q))
            ]
            delta = None if deltas is None else deltas[None, :, of_q]
            each = reference.backward(
                *given,
                lse[None, :, of_q],
                scale=scale,
                mask=mask_of(left, right, rules),
                softcap=softcap or None,
                delta=delta,
            )
            for whole, one, rows in zip(found, each.values(), (of_q, of_k, of_k)):
                whole[rows] = one[0].transpose(0, 1).to(q.dtype)
    return found


def launch_list(*arguments: Any) -> tuple[Any, ...]:
    return gradients_of_lists("dash, packed", *arguments)


def launch_of_dropin(*arguments: Any) -> tuple[Any, ...]:
    return launch_list(*arguments[:6], *arguments[9:], *arguments[6:9])


def gradients(
    by: str,
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    left: int,
    right: int,
    scale: float | None,
    layout: str = "bhsd",
    dlse: Any = None,
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[Any, ...]:
    LAUNCHED.append((by + of_lse(dlse), (left, right), scale))
    given = [x.transpose(1, 2) if layout == "bshd" else x for x in (q, k, v, do, o)]
    lse = lse[..., 0] if lse.dim() == 4 else lse
    found = reference.backward(
        *given,
        lse,
        scale=q.shape[3] ** -0.5 if scale is None else scale,
        mask=mask_of(left, right, rules),
        softcap=softcap or None,
        delta=in_place_of_o(do, o, lse, dlse)[1],
    )
    return tuple(
        torch.empty_like(x).copy_(dx.transpose(1, 2) if layout == "bshd" else dx)
        for x, dx in zip((q, k, v), found.values())
    )


def of_lse(dlse: Any) -> str:
    return "" if dlse is None else ", of the LSE"


def launch(*arguments: Any) -> tuple[Any, ...]:
    return gradients("dash", *arguments)


def launch_with_sink(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    sink: Any,
    left: int,
    right: int,
    scale: float,
    dlse: Any = None,
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[Any, ...]:
    LAUNCHED.append((f"dash, sink{of_lse(dlse)}", (left, right), scale))
    found = reference.backward(
        q,
        k,
        v,
        do,
        o,
        lse,
        scale=scale,
        mask=mask_of(left, right, rules),
        sink=sink,
        softcap=softcap or None,
        delta=in_place_of_o(do, o, lse, dlse)[1],
    )
    return (
        *(torch.empty_like(x).copy_(found[name]) for x, name in ((q, "dq"), (k, "dk"), (v, "dv"))),
        found["dsink"].float(),
    )


def launch_list_with_sink(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    sink: Any,
    cu_q: Any,
    cu_k: Any,
    left: int,
    right: int,
    scale: float,
    level: str,
    dlse: Any = None,
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[Any, ...]:
    LAUNCHED.append((f"dash, packed, sink{of_lse(dlse)}", (left, right), scale))
    deltas = in_place_of_o(do, o, lse, dlse)[1]
    found = *(torch.zeros_like(x) for x in (q, k, v)), torch.zeros(cu_q.numel() - 1, q.shape[1])
    for number, (of_q, of_k) in enumerate(sequences(cu_q, cu_k)):
        if min(of_q.stop - of_q.start, of_k.stop - of_k.start) > 0:
            given = [
                one_of(x, rows)
                for x, rows in ((q, of_q), (k, of_k), (v, of_k), (do, of_q), (o, of_q))
            ]
            delta = None if deltas is None else deltas[None, :, of_q]
            each = reference.backward(
                *given,
                lse[None, :, of_q],
                scale=scale,
                mask=mask_of(left, right, rules),
                sink=sink,
                softcap=softcap or None,
                delta=delta,
            )
            for whole, name, rows in zip(found, ("dq", "dk", "dv"), (of_q, of_k, of_k)):
                whole[rows] = each[name][0].transpose(0, 1).to(q.dtype)
            found[3][number] = each["dsink"][0]
        elif deltas is not None and of_q.stop > of_q.start:  # rows that see the sink alone
            share = torch.exp(sink[:, None] - lse[:, of_q])
            found[3][number] = -(share * deltas[:, of_q]).sum(-1)
    return found


def launch_any(
    do: Any,
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    left: int,
    right: int,
    scale: float,
    dlse: Any = None,
    sink: Any = None,
    cu_q: Any = None,
    cu_k: Any = None,
    level: str = "run",
    softcap: float = 0.0,
    rules: str = "",
) -> tuple[Any, ...]:
    """The operator of the backward pass."""
    given, sinks, numbers = (
        (do, q, k, v, o, lse),
        () if sink is None else (sink,),
        (left, right, scale),
    )
    if cu_q is not None:
        function = launch_list if sink is None else launch_list_with_sink
        offsets = (cu_q, cu_q if cu_k is None else cu_k)
        found = function(*given, *sinks, *offsets, *numbers, level, dlse, softcap, rules)
    elif sink is not None:
        found = launch_with_sink(*given, sink, *numbers, dlse, softcap, rules)
    else:
        found = gradients("dash", *given, *numbers, dlse=dlse, softcap=softcap, rules=rules)
    return found if len(found) == 4 else (*found, None)


def serve(package: str) -> None:
    """package: dash_attn, or a copy of it under another name."""
    names = ("function", "foreign", "operator", "forward", "problem", "refusal", "dropin")
    names += ("unrounded",)
    calls = ("aten_forward", "aten_backward", "aten_calls")
    of = {name: importlib.import_module(f"{package}.torch.{name}") for name in (*names, *calls)}
    torch.library.impl(of["operator"].NAME, "CPU", launch_any)
    torch.library.impl(of["forward"].NAME, "CPU", own_forward)
    torch.library.impl(of["foreign"].NAME, "CPU", of["foreign"].foreign_forward)
    for name in ("function", "aten_forward"):
        of[name].launch_forward = own_forward
    torch.library.impl(of["unrounded"].NAME, "CPU", own_unrounded)
    of["function"].launch_unrounded = own_unrounded
    of["function"].launch_any, of["problem"].DEVICE, of["dropin"].KEY = launch_any, "cpu", "CPU"
    of["aten_forward"].is_capturing = lambda: False
    of["aten_backward"].launch, of["aten_backward"].launch_list = launch, launch_of_dropin
    for name in ("refusal", "aten_calls"):
        of[name].refusal_of_device = lambda index: None


def not_here(*_: Any, **__: Any) -> Any:
    raise AssertionError("expected a test that computes it")


LIBRARY = torch.library.Library("aten", "IMPL")
LIBRARY.impl("_scaled_dot_product_cudnn_attention", forward, "CPU")
LIBRARY.impl("_flash_attention_forward", flash_forward, "CPU")
for name in (
    "_scaled_dot_product_flash_attention",
    "_cudnn_attention_forward",
    "_efficient_attention_forward",
    "_flash_attention_forward_no_dropout_inplace",
):
    LIBRARY.impl(name, not_here, "CPU")
serve("dash_attn")
