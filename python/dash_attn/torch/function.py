"""`attention`: both passes by dash, or a forward pass of PyTorch and dash's backward."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

import torch

from ..kernel.coverage import Coverage
from ..kernel.masks import Mask, rules_of
from ..kernel.problem import (
    DASH,
    LAYOUTS,
    Window,
    demand,
    level_of_gradients,
    plain,
    plain_options,
    sides_of,
)
from ..kernel.unrounded import ROUNDED, UNROUNDED
from . import pieces
from .foreign import foreign_forward, foreign_operator
from .forward import forward_operator, launch_forward
from .operator import Gradients, fold, gradients, launch_any, unfold
from .problem import Lengths, coverage_of, is_plain, is_steppable, readable, signature
from .refusal import Call, refusal_of_call
from .registry import SPACE, define, implement
from .sinks import refusal_of_sink
from .unrounded import UNDER_TRANSFORMS, launch_unrounded, unrounded_operator
from .used import Used, in_list, out_of_list

_PLAIN = {
    (bool, type(None), of_scale, float, str, str, of_layout, of_cut, str)
    for of_scale in (type(None), float)
    for of_layout in (type(None), str)
    for of_cut in (type(None), int)
}
MOST_ACCEPTED = 4096  # problems; more than that are asked about anew


class Accepted(NamedTuple):
    """A call that is not refused. level: that of gradients; rules: of the mask. is_plain: kernels
    take its tensors as they lie, where none of the bits `odd` of an address is set, in one launch;
    else the coverage says how many slices there are, if more than one."""

    window: Window
    scale: float
    level: str
    rules: str
    is_plain: bool
    odd: int = 0
    coverage: Coverage | None = None


_accepted: dict[Any, Accepted] = {}


@overload
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    mask: Mask | None = None,
    scale: float | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    cu_seqlens_k: torch.Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    seqused_q: torch.Tensor | None = None,
    seqused_k: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: Literal[False] = False,
) -> torch.Tensor: ...


@overload
def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    mask: Mask | None = None,
    scale: float | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    cu_seqlens_k: torch.Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    seqused_q: torch.Tensor | None = None,
    seqused_k: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: Literal[True],
) -> tuple[torch.Tensor, torch.Tensor]: ...


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    mask: Mask | None = None,
    scale: float | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    cu_seqlens_k: torch.Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    seqused_q: torch.Tensor | None = None,
    seqused_k: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
    softcap: float = 0.0,
    level: str = "run",
    forward: str = DASH,
    layout: str | None = None,
    cut: int | None = None,
    delta: str = ROUNDED,
    return_lse: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """softmax(scale * q k^T) v, with gradients that are the same bits on every run.

    q is [batch, heads, rows, head_dim]; k and v are [batch, kv_heads, kv_rows, head_dim], where
    kv_heads divides heads. The type is bfloat16 or float16, and head_dim a multiple of 8 up to
    256, above 128 without a sink; that of v, and so of o, may be another one than that of q and
    k. With layout "bshd", tensors are [batch, rows, heads, head_dim]; None is "bhsd". window:
    (left, right), the columns that a row sees before and after its own, -1 for all; aligned at
    the bottom right. mask: in place of causal and window a `dash_attn.reference.Mask`, which may be
    a union with first columns, or have a bitmap over blocks of rows. scale: head_dim^-0.5 if None.
    return_lse: also returns the natural logarithms of the sums, [batch, heads, rows] of float32,
    with gradients; infinite for a row that sees nothing. Under autocast, float32 is cast as for
    PyTorch's own attention.

    cu_seqlens_q, cu_seqlens_k: offsets of packed sequences, int32 on the device, ascending from
    0 to at most the rows. Then q, k, v and o are [rows, heads, head_dim] (layout "thd"), and the
    LSE is [heads, rows]. Sequence i has the rows from offset i to offset i + 1, and sees only
    its own. cu_seqlens_k is cu_seqlens_q if None. Rows outside all sequences are 0.
    max_seqlen_q, max_seqlen_k: bounds of all lengths; all rows if None. They save time with
    forward "torch". The host never reads offsets.

    seqused_q, seqused_k: how many of its first rows each sequence of a batch uses, of q, and of k
    and v: [batch] of int32 on the device; all if None. Masks are aligned at the bottom right of
    these. Other rows are not looked at: o and gradients are 0 there, and the LSE is -inf. Beside
    cu_seqlens_q they count from each sequence's offset. Numbers beyond the rows count as all, and
    the host never reads them. Memory of [batch, rows, heads, head_dim] is read as it lies, any
    other is copied.

    sink: [heads], any floating-point type: for each head, a score that takes part in every row's
    softmax but has no value (gpt-oss). The LSE includes it, and it has gradients. softcap: scores
    are softcap * tanh(score / softcap), as in Gemma 2; 0 for none.

    level: what the bits of gradients do not depend on. "run": equal calls have equal bits. With
    "batch", those of a sequence do not depend on the other sequences, in a batch or packed; with
    "machine", nor on the number of multiprocessors. "row" is the level of o and the LSE. Gradients
    add over rows and cannot have it, so it gives them "machine". forward: "dash", whose o and LSE
    are always of level `row`: a row's bits follow from its own query, and the keys and values that
    it sees.
    "torch": a forward pass of PyTorch, cuDNN's or FlashAttention's, which serves fewer calls and
    promises level "run" alone. It removes the share of a sink from an o that is rounded, which
    rounds once more.

    cut: None, or how many rows of k and v a piece has, a multiple of the kv tile. Pieces are
    computed side by side and put together in their order, so that few rows over many keys
    (decoding) are fast. A row's bits are then those of this cut: equal calls, batches, chunks
    and decoded tokens agree among calls of one cut, and among calls of none. No size changes it.

    delta: of what o the gradients take rowsum(o do). "rounded", as everywhere: of the o that is
    returned. "unrounded": the forward keeps o in float32, too. That lowers the error of dq and dk
    where rows have most of their probability at few columns (docs/numbers.md), and costs memory of
    twice o until the backward pass. o and the LSE have other bits than with "rounded", too.

    Raises ArgumentError for a call that is not served; the message says what to do instead, and
    `dash_attn.explain` says it without raising. The bits depend on `explain(...).certificate`,
    and with forward "torch" on the libraries that it names.
    """
    # all others trace by a mode, on tensors of other types
    is_compiling = torch.compiler.is_dynamo_compiling()
    if is_compiling or torch._C._is_any_autocast_enabled():
        q, k, v = _autocast(q, k, v)
    if (
        cu_seqlens_q is not None
        or cu_seqlens_k is not None
        or max_seqlen_q is not None
        or max_seqlen_k is not None
        or seqused_q is not None
        or seqused_k is not None
    ):
        lengths = Lengths(cu_seqlens_q, cu_seqlens_k, plain(max_seqlen_q), plain(max_seqlen_k))
        options = causal, window, scale, softcap, level, forward, cut, delta
        used = Used(seqused_q, seqused_k)
        o, lse = _of_sequences(q, k, v, sink, lengths, used, options, layout, mask)
        return (o, lse) if return_lse else o
    key = None
    try:
        if (
            not is_compiling
            and type(q) is type(k) is type(v) is torch.Tensor
            and tuple(
                map(type, (causal, window, scale, softcap, level, forward, layout, cut, delta))
            )
            in _PLAIN
            and (mask is None or type(mask) is Mask)
        ):
            key = (
                q.shape,
                q.stride(),
                q.dtype,
                q.device,
                k.shape,
                k.stride(),
                k.dtype,
                k.device,
                v.shape,
                v.stride(),
                v.dtype,
                v.device,
                causal,
                scale,
                softcap,
                level,
                forward,
                layout,
                cut,
                delta,
                mask,
            )
        accepted = _accepted[key]  # asked once about calls that are alike
    # nested and sparse tensors have no strides, and a mask of lists has no hash
    except (KeyError, RuntimeError, TypeError):
        options = causal, window, scale, softcap, level, forward, layout, cut
        accepted = _accept(key, q, k, v, options, mask, delta, is_compiling)
    if sink is not None:
        demand(refusal_of_sink(sink, q, v, layout or LAYOUTS[0]))
    if accepted.coverage is not None:
        options = {
            "mask": mask,
            "window": None if mask is not None else accepted.window,
            "scale": accepted.scale,
            "softcap": softcap,
            "level": level,
            "forward": forward,
            "layout": layout,
            "cut": cut,
            "delta": delta,
            "return_lse": return_lse,
        }
        return pieces.attended(
            lambda *one: attention(*one[:3], sink=one[3], **options),
            q,
            k,
            v,
            sink,
            layout or LAYOUTS[0],
            accepted.coverage,
        )
    is_transformed = torch._C._are_functorch_transforms_active()  # tensors have no addresses then
    if (
        not accepted.is_plain
        or accepted.odd
        and not is_transformed
        and (q.data_ptr() | k.data_ptr() | v.data_ptr()) & accepted.odd
    ):
        q, k, v = readable(q), readable(k), readable(v)
    if layout == "bshd":
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    apply = attended if is_compiling else Transformed.apply if is_transformed else _apply
    rest = softcap, sink, *_NO_LENGTHS, accepted.level, forward, cut or 0, accepted.rules
    o, lse = apply(q, k, v, *accepted.window, accepted.scale, *rest, delta == UNROUNDED)
    if layout == "bshd":
        o = o.transpose(1, 2)
    return (o, lse) if return_lse else o


def _of_sequences(
    q: Any,
    k: Any,
    v: Any,
    sink: Any,
    lengths: Lengths,
    used: Used,
    options: tuple[Any, ...],
    layout: Any,
    mask: Any,
) -> Any:
    causal, window, scale, softcap, level, forward, cut, delta = options
    causal, window, scale = plain_options(causal, window, scale)
    softcap, cut = plain(softcap), plain(cut)
    plain_ones = causal, window, scale, softcap, level, forward, layout, cut
    call = Call(q, k, v, *plain_ones, sink, lengths, used, mask, delta)
    demand(refusal_of_call(call))
    layout, batch = call.layout_of_tensors, q.shape[0]
    if used.are_given:
        q, k, v, lengths = in_list(q, k, v, layout, lengths, used)
    q, k, v = readable(q), readable(k), readable(v)
    scale = q.shape[2] ** -0.5 if scale is None else scale
    apply = attended if torch.compiler.is_dynamo_compiling() else _attend
    filled = lengths.filled(q, k)
    rest = float(softcap), sink, *filled, level_of_gradients(level), forward, cut or 0, call.rules
    o, lse = apply(q, k, v, *call.sides, scale, *rest, delta == UNROUNDED)
    if not used.are_given:
        return o, lse
    is_right = used.q is None or sink is None and forward == DASH
    return out_of_list(o, lse, layout, batch, None if is_right else filled.cu_q)


def _accept(
    key: Any,
    q: Any,
    k: Any,
    v: Any,
    options: tuple[Any, ...],
    mask: Any,
    delta: Any,
    is_compiling: bool,
) -> Accepted:
    """Raises ArgumentError where something is refused. key: of calls that are alike; None where
    options have to become plain before there is one."""
    if key is None:
        options = (
            *plain_options(*options[:3]),
            plain(options[3]),
            *options[4:7],
            plain(options[7]),
        )
        is_key = not is_compiling and type(delta) is str and _is_key(*options)
        if is_key and (seen := signature(q, k, v)) is not None:
            key = (seen, q.device, k.device, v.device, *options, delta)
            if mask is None and key in _accepted:
                return _accepted[key]
    demand(refusal_of_call(Call(q, k, v, *options, mask=mask, delta=delta)))
    causal, window, scale, _, level, _, layout, _ = options
    sides, layout = sides_of(causal, window, mask), layout or LAYOUTS[0]
    is_plain = is_steppable(q) and is_steppable(k) and is_steppable(v)
    scale = q.shape[3] ** -0.5 if scale is None else scale
    rules = "" if mask is None else rules_of(mask)
    found = Accepted(sides, scale, level_of_gradients(level), rules, is_plain)
    if key is not None:
        coverage = coverage_of(q, k, v, layout)
        is_whole = pieces.is_whole(q, k, layout, coverage)
        found = found._replace(odd=coverage.alignment - 1, coverage=None if is_whole else coverage)
        if len(_accepted) >= MOST_ACCEPTED:
            _accepted.clear()
        _accepted[key] = found
    return found


def _is_key(
    causal: Any,
    window: Any,
    scale: Any,
    softcap: Any,
    level: Any,
    forward: Any,
    layout: Any,
    cut: Any,
) -> bool:
    """Whether options that are equal mean the same: 1 is not True."""
    return (
        type(causal) is bool
        and (window is None or type(window) is tuple and all(type(side) is int for side in window))
        and (scale is None or type(scale) in (int, float))
        and type(softcap) in (int, float)
        and type(level) is type(forward) is str
        and (layout is None or type(layout) is str)
        and (cut is None or type(cut) is int)
    )


def _forward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    left: int,
    right: int,
    scale: float,
    softcap: float,
    sink: torch.Tensor | None,
    cu_q: torch.Tensor | None,
    cu_k: torch.Tensor | None,
    max_q: int | None,
    max_k: int | None,
    level: str,
    forward: str,
    cut: int,
    rules: str,
    unrounded: bool,
) -> tuple[torch.Tensor, ...]:
    """o and the LSE, and where it is asked for o unrounded. level: of gradients alone."""
    plain = is_plain(q, k, v)  # then without the operators, which cost the host more
    if forward != DASH:
        function = foreign_forward if plain else foreign_operator
        return function(q, k, v, left, right, scale, sink, cu_q, cu_k, max_q, max_k)
    numbers = None if sink is None else sink.float()
    if unrounded:
        function = launch_unrounded if plain else unrounded_operator
        return function(q, k, v, left, right, scale, softcap, numbers, cu_q, cu_k, rules)
    function = launch_forward if plain else forward_operator
    return function(q, k, v, left, right, scale, softcap, numbers, cu_q, cu_k, cut, rules)


class Attention(torch.autograd.Function):
    """`_forward` with the gradients of q, k, v and the sink. Both of its outputs may be
    differentiated."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> tuple[torch.Tensor, torch.Tensor]:
        o, lse, *unrounded = _forward(*given)
        _keep(ctx, given, *(unrounded or [o]), lse)
        return o, lse

    @staticmethod
    def backward(ctx: Any, do: torch.Tensor | None, dlse: torch.Tensor | None) -> tuple[Any, ...]:
        if do is None and dlse is None:
            return (None,) * 17
        q, k, v, o, lse, sink, cu_q, cu_k = ctx.saved_tensors
        left, right, scale, softcap, level, rules = ctx.given
        if do is None:
            do = torch.zeros_like(o, dtype=q.dtype)
        if torch.is_grad_enabled():
            function = Gradients.apply
        elif dlse is None and is_plain(do, q, k, v):
            function = launch_any  # without the operator, which costs the host more
        else:
            function = gradients
        numbers = None if sink is None else sink.float()
        dq, dk, dv, dsink = function(
            do,
            q,
            k,
            v,
            o,
            lse,
            left,
            right,
            scale,
            dlse,
            numbers,
            cu_q,
            cu_k,
            level,
            softcap,
            rules,
        )
        if dsink is not None:
            dsink = dsink.sum(0).to(sink.dtype)
        return dq, dk, dv, *[None] * 4, dsink, *[None] * 9


def _keep(ctx: Any, given: tuple[Any, ...], o: torch.Tensor, lse: torch.Tensor) -> None:
    """What the backward pass takes. o: or the unrounded one."""
    q, k, v, left, right, scale, softcap, sink, cu_q, cu_k, _, _, level, *_, rules, _ = given
    ctx.save_for_backward(q, k, v, o, lse, sink, cu_q, cu_k)
    ctx.given = (left, right, scale, softcap, level, rules)
    ctx.set_materialize_grads(False)


# What `Attention.apply` does where no transform of torch.func is active, without asking once more
# whether one is.
_apply = super(torch.autograd.Function, Attention).apply


class Transformed(Attention):
    """The same in the form that transforms of torch.func take, which costs more on the host."""

    @staticmethod
    def forward(*given: Any) -> tuple[torch.Tensor, ...]:
        demand(UNDER_TRANSFORMS if given[-1] else None)
        return _forward(*given)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        _keep(ctx, inputs, *output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *given: Any) -> Any:
        folded = fold(info.batch_size, in_dims, given, _SINK)
        return unfold(info.batch_size, Transformed.apply(*folded)), (0, 0)


_SINK = 7  # its place among what is given
_NO_LENGTHS = Lengths()

NAME = f"{SPACE}::attention"
define(
    NAME,
    "(Tensor q, Tensor k, Tensor v, int left, int right, float scale, float softcap, Tensor? sink,"
    " Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k,"
    " str level, str forward, int cut, str rules, bool unrounded) -> (Tensor, Tensor)",
)


def _attend(*given: Any) -> Any:
    is_transformed = torch._C._are_functorch_transforms_active()
    return (Transformed if is_transformed else Attention).apply(*given)


# The same for programs that Dynamo compiles, as an operator that it does not look into. It would
# make a graph of the Function, and keep what that saves for the backward pass without looking
# whether it is as it was: with `o.mul_(gate)` behind attention gradients would be wrong in
# silence. Autograd keeps tensors of a call, and says what it says in eager mode. Whatever comes
# behind Dynamo sees the operators that the Function calls; so do transforms of torch.func, whose
# own treatment of operators must not come first.
for key in ("CompositeImplicitAutograd", "FuncTorchDynamicLayerFrontMode"):
    implement(NAME, key)(_attend)
attended = getattr(torch.ops, SPACE).attention.default


def _autocast(*tensors: Any) -> tuple[Any, ...]:
    """As autocast treats PyTorch's own attention."""
    if not isinstance(tensors[0], torch.Tensor) or not torch.is_autocast_enabled(
        tensors[0].device.type
    ):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(
        (
            tensor.to(dtype)
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
            else tensor
        )
        for tensor in tensors
    )
