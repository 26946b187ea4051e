"""What is asked for of attention in a framework, and why it cannot be served: the same in all of
them. What kernels cover is asked of libdash; here is what the arguments of a call must be to
each other. Looks at nothing but options, sizes and names, so that programs which are being
traced may ask, too."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..errors import ArgumentError
from ..reference import Mask
from ..support.records import Record
from .coverage import Coverage, ask, limits
from .list_kinds import DEALT, kind_of_lists
from .masks import are_rules, mask_of
from .unrounded import NAME as UNROUNDED
from .unrounded import SLACK, type_of

# how MLIR spells what frameworks call so
ELEMENTS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
# of determinism; which of them kernels keep is libdash's to say
LEVELS = ("run", "batch", "machine", "world")
DASH, TORCH, CUDNN = "dash", "torch", "cudnn"  # by whom a forward pass is
LAYOUTS = ("bhsd", "bshd")
PACKED = "thd"  # of sequences one behind the other: [rows, heads, head_dim]
NAMES = ("q", "k", "v")
# how many columns before its own a row sees, and how many behind it; -1 is no bound
Window = tuple[int, int]
FULL, CAUSAL = (-1, -1), (-1, 0)

Q_TILE = 64  # rows
SEARCHED = "synthesized"  # the kind that most sizes take; its order is a table
# Head dims above it have two programs, of dk and dv and of dq, with kinds of their own.
MOST_TOGETHER = 128
OF_KV, OF_Q = "dk dv", "dq"
GRADIENTS = ("", OF_KV, OF_Q)  # those of a program; empty for all
# The kind of forwards, of dq, and of dk and dv: they sum nothing across items, so no bit follows
# from it.
OF_OWN_SUMS = "longest-first"
ROW = "row"  # the level of every forward
MACHINE = "machine"  # the strongest level of gradients
# that an order of gradients may have
KINDS = ("ascending", "descending", "shift", DEALT, "symmetric-shift", SEARCHED)
APART = ("", "parts", "all")
Q_TILES_OF_FORWARD = (0, 64, 128, 192)
FOLDS = (1, 2, 4, 8, 16, 32, 64)  # query heads of a q tile: a warpgroup has 64 rows
ANY_SIZES = (0, 0, 0, 0, 0)
TYPES = """
!of_qk = memref<?x?x?x{head_dim}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!of_v = memref<?x?x?x{head_dim_v}x{element}, strided<[?, ?, ?, 1], offset: ?>>
!per_row = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
!sink = memref<?xf32, strided<[1], offset: ?>>
!dsink = memref<?x?xf32, strided<[?, 1], offset: ?>>
"""
OF_GRADIENT = {"dq": "!of_qk", "dk": "!of_qk", "dv": "!of_v"}
FORWARD = """
func.func @attention_fwd(%q: !of_qk, %k: !of_qk, %v: !of_v, %o: !of_v, %lse: !per_row,
                         %scale: f32{arguments}) {{
  dash.attention_fwd
      ins(%q, %k, %v : !of_qk, !of_qk, !of_v)
      outs(%o, %lse : !of_v, !per_row)
      mask(<{mask}>) level({level}) scale(%scale){clauses}
  return
}}
"""
BACKWARD = """
func.func @attention_bwd(%q: !of_qk, %k: !of_qk, %v: !of_v, %do: !of_v, %{given}: {of_given}, %lse: !per_row, %dq: !of_qk,
                         %dk: !of_qk, %dv: !of_v, %scale: f32{arguments}) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, {given} = %{given} : !of_qk, !of_qk, !of_v, !of_v, !per_row, {of_given})
      outs(%dq, %dk, %dv : !of_qk, !of_qk, !of_v)
      mask(<{mask}>) level({level}) scale(%scale){clauses}
  return
}}
"""
# a part of the gradients, which has no sink
PART = """
func.func @attention_bwd(%q: !of_qk, %k: !of_qk, %v: !of_v, %do: !of_v, %{given}: {of_given}, %lse: !per_row,
                         {gradients}, %scale: f32{arguments}) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, {given} = %{given} : !of_qk, !of_qk, !of_v, !of_v, !per_row, {of_given})
      outs({outs})
      mask(<{mask}>) level({level}) scale(%scale){clauses}
  return
}}
"""


def demand(reason: str | None) -> None:
    """Raises ArgumentError where there is a reason to refuse."""
    if reason is not None:
        raise ArgumentError(reason)


def plain(value: Any) -> Any:
    """A scalar of NumPy, a fraction, or an array without dimensions as a number of Python, if
    the host knows it and it needs no gradient; all else as it is."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if getattr(value, "ndim", None) == 0 and not any(
        getattr(value, name, False) for name in ("requires_grad", "is_cuda", "is_meta")
    ):
        try:
            value = value.item()
        except (TypeError, ValueError, RuntimeError):  # of a program that is being traced
            return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return operator.index(value)
    return (
        float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else value
    )


def plain_options(causal: Any, window: Any, scale: Any) -> tuple[Any, Any, Any]:
    return (
        plain(causal),
        tuple(map(plain, window)) if isinstance(window, (tuple, list)) else window,
        plain(scale),
    )


def refusal_of_options(
    causal: Any,
    window: Any,
    scale: Any,
    level: Any,
    *,
    are_numbers: tuple[type, ...] = (int, float),
) -> str | None:
    """Why these options of `attention`, plain ones, are refused; None if they are not.
    are_numbers: what a scale may be."""
    if not isinstance(causal, bool):
        return f"causal: expected True or False, found {type(causal).__name__}"
    if not isinstance(level, str) or not level:
        level = repr(level)
    reason = refusal_of(ask(level=level_of_gradients(level)))
    if reason:
        return reason
    if hasattr(scale, "ndim"):
        return (
            f"scale: expected a number that the host knows, found {type(scale).__name__}; scale q"
            " by it: attention(q * scale, k, v, scale=1), which gives it a gradient, too"
        )
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, are_numbers)):
        return f"scale: expected a number, found {type(scale).__name__}"
    if scale is not None and not math.isfinite(scale):
        return f"scale: expected a finite number, found {scale}"
    if window is not None and not (
        isinstance(window, (tuple, list))
        and len(window) == 2
        and all(isinstance(side, int) and not isinstance(side, bool) for side in window)
    ):
        return (
            "window: expected None or (left, right), whole numbers, -1 where there is no bound,"
            f" found {window!r}"
        )
    if causal and window is not None and window[1] > 0:
        return f"window: expected a right side of 0 or -1 beside causal, found {tuple(window)}"
    return None


def level_of_gradients(level: str) -> str:
    """The level at which gradients are computed. Gradients add over rows of q, so none can have
    level `row`: beside it they have the strongest that there is."""
    return MACHINE if level == ROW else level


def refusal_of(answer: Coverage | str) -> str | None:
    """The reason, if the answer is one."""
    return answer if isinstance(answer, str) else None


def refusal_of_layout(layout: Any, has_lengths: bool = False) -> str | None:
    """has_lengths: whether there are offsets of sequences beside it."""
    if not isinstance(layout, str):
        return (
            f"layout: expected one of {', '.join((*LAYOUTS, PACKED))}, found"
            f" {type(layout).__name__}"
        )
    if has_lengths and layout != PACKED:
        return f"layout: expected {PACKED}, {_spelled(PACKED)}, beside cu_seqlens, found {layout!r}"
    if not has_lengths and layout == PACKED:
        return f"layout: expected cu_seqlens_q beside {PACKED}, found none"
    if not has_lengths and layout not in LAYOUTS:
        return f"layout: expected one of {', '.join(LAYOUTS)}, found {layout!r}"
    return None


def refusal_of_softcap(softcap: Any, *, are_numbers: tuple[type, ...] = (int, float)) -> str | None:
    """Why scores have no such cap; 0 is none. are_numbers: what it may be."""
    if isinstance(softcap, bool) or not isinstance(softcap, are_numbers):
        return f"softcap: expected a number, or 0 for none, found {type(softcap).__name__}"
    if softcap == 0 or 0 < softcap < math.inf:
        return None
    return f"softcap: expected a finite number above 0, or 0 for none, found {softcap}"


def refusal_of_cut(cut: Any) -> str | None:
    """Why keys are not cut into pieces of so many rows, whatever the head dims are."""
    if cut is None or type(cut) is int and cut > 0:
        return None
    return (
        "cut: expected None, or how many rows of k and v a piece has, a whole number above 0, found"
        f" {cut!r}"
    )


def refusal_of_forward(
    forward: Any,
    foreign: str,
    whose: str,
    scale: Any,
    softcap: float,
    level: str,
    *,
    keeps_level: bool = False,
    cut: int | None = None,
) -> str | None:
    """Why no forward pass of this name serves options that are not refused themselves. foreign:
    the name of one of `whose`; keeps_level: it keeps every level but `row`. A scale that a program
    traces is looked at in the launch."""
    if not isinstance(forward, str) or forward not in (DASH, foreign):
        return f"forward: expected '{DASH}' or '{foreign}', found {forward!r}"
    if forward == DASH:
        reason = refusal_of_scale(scale) if type(scale) in (int, float) else None
        return reason and f'{reason}; forward="{foreign}" takes any'
    if cut is not None:
        return (
            f"cut: no forward pass of {whose} cuts keys by length alone; leave out"
            f' forward="{foreign}"'
        )
    if softcap:
        return f'softcap: {whose} has no forward pass with one; leave out forward="{foreign}"'
    if level == "run" or keeps_level and level != ROW:
        return None
    return (
        f"level: expected 'run', found '{level}': no forward pass of {whose} promises it; leave out"
        f' forward="{foreign}"'
    )


def refusal_of_scale(scale: Any) -> str | None:
    """Why forwards refuse a scale: the largest score of a row is found before the scale applies."""
    return None if scale > 0 else f"scale: expected a number above 0, found {scale}"


def window_of(causal: bool, window: Any) -> Window:
    """What rows see, of options that are not refused."""
    if window is None:
        return CAUSAL if causal else FULL
    return (window[0], 0 if causal else window[1])


def sides_of(causal: bool, window: Any, mask: Mask | None) -> Window:
    """The same where a mask may state it."""
    return window_of(causal, window) if mask is None else (mask.left, mask.right)


def refusal_of_array(
    name: str, dtype: str, of_q: str, rank: int, shape: Sequence[int], layout: str, hint: str
) -> str | None:
    """Why one of q, k and v is refused, whatever the others are. dtype: as its framework calls
    it; hint: how another one is cast there."""
    if name == NAMES[0] and (reason := refusal_of(ask(element=ELEMENTS.get(dtype, dtype)))):
        return reason
    if dtype != of_q:
        return f"{name}: expected {of_q} as q, found {dtype}; {hint}"
    if rank != len(layout):
        return (
            f"{name}: expected {len(layout)} dimensions, {_spelled(layout)}, found the shape"
            f" {tuple(shape)}"
        )
    return None


def refusal_of_sizes(
    q: Sequence[int], k: Sequence[int], v: Sequence[int], layout: str
) -> str | None:
    """Why arrays of these shapes, of a layout's dimensions, are no problem of attention."""
    if k[:-1] != v[:-1]:
        return f"v: expected the shape of k, {tuple(k)}, but for the head dim, found {tuple(v)}"
    if layout != PACKED and q[0] != k[0]:
        return f"k: expected the batch of q, {q[0]}, found {k[0]}"
    if q[-1] != k[-1]:
        return f"k: expected the head dim of q, {q[-1]}, found {k[-1]}"
    return None


def coverage_of(
    q: Sequence[int],
    k: Sequence[int],
    v: Sequence[int],
    layout: str,
    *,
    window: Window = FULL,
    sequences: int = 0,
    cut: int = 0,
) -> Coverage | str:
    """How kernels compute a problem of these shapes, or why none does. sequences: of packed
    ones, how many; cut: rows of a piece of keys, 0 where they are not cut."""
    heads, rows = layout.index("h"), layout.index("t" if layout == PACKED else "s")
    batch = {} if layout == PACKED else {"batch": q[0]}
    return ask(
        head_dim=q[-1],
        head_dim_v=v[-1],
        heads=q[heads],
        kv_heads=k[heads],
        q_rows=q[rows],
        kv_rows=k[rows],
        window=window,
        sequences=sequences,
        cut=cut,
        **batch,
    )


Slice = tuple[slice, slice, slice]  # of the batch, of heads of q, of heads of k


def slices_of(q: Sequence[int], k: Sequence[int], v: Sequence[int], layout: str) -> list[Slice]:
    """What each launch computes of a batch of these shapes: batch by batch, heads by heads.
    Raises ArgumentError where no kernel does."""
    found = coverage_of(q, k, v, layout)
    demand(refusal_of(found))
    assert isinstance(found, Coverage)
    heads = layout.index("h")
    group = q[heads] // k[heads]

    def ranges(whole: int, each: int) -> list[slice]:
        return [slice(begin, min(begin + each, whole)) for begin in range(0, whole, each)]

    return [
        (batch, slice(some.start * group, some.stop * group), some)
        for batch in ranges(q[0], found.batch)
        for some in ranges(k[heads], found.kv_heads)
    ]


def refusal_of_sink(
    is_floating: bool,
    dtype: str,
    shape: Sequence[int],
    heads: int,
    head_dim: int,
    head_dim_v: int,
) -> str | None:
    """Why an array is no sink of so many heads."""
    if is_floating and tuple(shape) == (heads,):
        if max(head_dim, head_dim_v) <= MOST_TOGETHER:  # as compiled programs may ask
            return None
        return refusal_of(ask(head_dim=head_dim, head_dim_v=head_dim_v, has_sink=1))
    return (
        f"sink: expected floating-point numbers, one for each of {heads} heads, found {dtype} of"
        f" the shape {tuple(shape)}"
    )


ONE_SINK = (
    "sink: expected one for all of vmap's dimension, found one for each; call attention in a loop"
)


def refusal_of_rectangle(q: Sequence[int], k: Sequence[int], layout: str, whose: str) -> str | None:
    """Why a mask with a bound on the right is refused: cuDNN's is aligned at the top left, ours
    at the bottom right."""
    rows = 2 if layout == "bhsd" else 1
    if q[rows] != k[rows]:
        return (
            f"causal: expected as many rows of q as of k, found {q[rows]} and {k[rows]}: {whose}"
            " forward pass would hide other elements than the kernel (dash's causal masks are"
            " aligned at the bottom right)"
        )
    return None


def refusal_of_gpu(name: str, capability: tuple[int, int] | None) -> str | None:
    """Why kernels cannot run on a GPU; capability: None where there is none."""
    return refusal_of(
        ask(device=name, capability=0 if capability is None else 10 * capability[0] + capability[1])
    )


def head_dims(of_qk: Any, of_v: Any) -> str:
    """For people: "128", or "128/64" where v has a head dim of its own."""
    return f"{of_qk}" if of_v == of_qk else f"{of_qk}/{of_v}"


class Wanted(NamedTuple):
    """A kernel. head_dim, head_dim_v: of q and k, and of v, o and their gradients; element:
    "bf16" or "f16"; kind, parts: of its order, the kind empty before one is chosen, and of
    packed sequences, whose lengths come with each call (is_list); has_runs: whether parts are
    runs of a query head's q tiles; sizes: those that a table is for, as `orders.SIZES` names
    them, else empty; has_sink: of a softmax in which each head has a score without a value;
    apart: contributions that are kept apart, those of "parts" or "all", or "" where sums grow
    turn by turn. An order has the same bits either way, but a search finds others.
    takes_delta: in place of o, as where the LSE has a gradient; the order is that of the
    kernel that takes o. softcap: at which scores are capped, 0 for none. is_forward: it computes
    o and the LSE, at level `row` and in the order of `OF_OWN_SUMS`; q_tile: rows of its q tiles, 0
    for those that the compiler takes; fold: query heads of one of them, 1 where each has its own.
    Bits follow from neither. gradients: those of
    `GRADIENTS` that it computes. cut: of a forward, rows of the pieces into which keys are cut; 0
    where they are not. rules: what the mask hides beside its window, as `rules_of` says it.
    is_unrounded: a forward writes o in f32, too; a backward reads such an o. passes_ds: the program
    of dk and dv keeps dS for that of dq, which changes no bit of either."""

    head_dim: int
    head_dim_v: int
    element: str
    window: Window
    kind: str = ""
    parts: int = 1
    has_runs: bool = False
    sizes: tuple[int, ...] = ()
    level: str = "run"
    is_list: bool = False
    has_sink: bool = False
    apart: str = ""
    takes_delta: bool = False
    softcap: float = 0.0
    is_forward: bool = False
    q_tile: int = 0
    gradients: str = ""
    cut: int = 0
    rules: str = ""
    is_unrounded: bool = False
    fold: int = 1
    passes_ds: bool = False

    @property
    def mask(self) -> Mask:
        return mask_of(*self.window, self.rules)


def _covered(name: str, words: Iterable[str]) -> tuple[str, ...]:
    """Those words that kernels cover."""
    return tuple(word for word in words if refusal_of(ask(**{name: word})) is None)


def _covered_head_dims() -> tuple[int, ...]:
    most = limits()
    return tuple(range(most.head_dim_multiple, most.head_dim + 1, most.head_dim_multiple))


_FLAGS = "has_runs", "is_list", "has_sink", "takes_delta", "is_forward", "is_unrounded", "passes_ds"
_FIELDS: dict[str, Callable[[Record], Any]] = {
    **{
        name: lambda record, name=name: record.word(name, _covered_head_dims())
        for name in ("head_dim", "head_dim_v")
    },
    "element": lambda record: record.word("element", _covered("element", ELEMENTS.values())),
    "window": lambda record: record.numbers("window", (2,), -1),
    "parts": lambda record: record.number("parts", 1),
    "kind": lambda record: record.word(
        "kind",
        ("",)
        if record.flag("is_list")
        or record.flag("is_forward")
        or record.word("gradients", GRADIENTS)
        else KINDS,
    ),
    "sizes": lambda record: record.numbers("sizes", (0, len(ANY_SIZES)), 1),
    "level": lambda record: record.word(
        "level", (ROW,) if record.flag("is_forward") else _covered("level", LEVELS)
    ),
    "apart": lambda record: record.word("apart", APART),
    **{name: lambda record, name=name: record.flag(name) for name in _FLAGS},
    "softcap": lambda record: record.amount("softcap"),
    "q_tile": lambda record: record.word("q_tile", Q_TILES_OF_FORWARD),
    "gradients": lambda record: record.word("gradients", GRADIENTS),
    "cut": lambda record: record.number("cut", 0),
    "fold": lambda record: record.word("fold", FOLDS),
    "rules": lambda record: record.line("rules", "rules of a mask, each once", are_rules),
}


def wanted_of(record: Record) -> Wanted:
    """The kernel that a record names by the fields of `Wanted`, as JSON has them. Raises
    ValueError for any value that no kernel has."""
    return Wanted(**{name: _FIELDS[name](record) for name in Wanted._fields})


def for_any_sizes(wanted: Wanted) -> Wanted:
    """The same for all that the same program serves."""
    return wanted._replace(sizes=wanted.sizes and ANY_SIZES)


def program_of(wanted: Wanted) -> tuple[str, str, str]:
    """What `Kernel.compile` takes: the program, its options and its name. If it has a table,
    that is for other sizes: those wanted are planned."""
    mask = wanted.mask
    sinks = ("sink",) if wanted.is_forward else ("sink", "dsink")
    clauses = " sequences(<?>)" * wanted.is_list
    if wanted.has_sink:
        names, types = (", ".join(f"{sign}{name}" for name in sinks) for sign in "%!")
        clauses += f" sink({names} : {types})"
    if wanted.softcap:
        clauses += f" softcap({wanted.softcap:.9e})"
    if wanted.cut:
        clauses += f" cut({wanted.cut})"
    arguments = "".join(f", %{name}: !{name}" for name in sinks) * wanted.has_sink
    of_unrounded = type_of(wanted.head_dim_v)
    if wanted.is_forward and wanted.is_unrounded:
        clauses += f" unrounded(%{UNROUNDED} : {of_unrounded})"
        arguments += f", %{UNROUNDED}: {of_unrounded}"
    if wanted.passes_ds:
        of_ds = f"memref<?x4096x{wanted.element}, strided<[?, 1], offset: ?>>"
        clauses += f" ds(%ds : {of_ds})"
        arguments += f", %ds: {of_ds}"
    if wanted.fold > 1:
        clauses += f" fold({wanted.fold})"
    given = (
        {"given": "delta", "of_given": "!per_row"}
        if wanted.takes_delta
        else {"given": "o", "of_given": of_unrounded if wanted.is_unrounded else "!of_v"}
    )
    names = wanted.gradients.split()
    body = FORWARD if wanted.is_forward else PART if names else BACKWARD
    text = (TYPES + body).format(
        **given,
        gradients=", ".join(f"%{name}: {OF_GRADIENT[name]}" for name in names),
        outs=", ".join(f"{name} = %{name}" for name in names)
        + " : "
        + ", ".join(OF_GRADIENT[name] for name in names),
        head_dim=wanted.head_dim,
        head_dim_v=wanted.head_dim_v,
        element=wanted.element,
        mask=mask.text,
        level=wanted.level,
        clauses=clauses,
        arguments=arguments,
    )
    if wanted.is_forward:
        return text, _options_of_forward(wanted), f"forward of {mask.name} mask"
    if names:
        return text, _options_of_part(wanted), f"{' and '.join(names)} of {mask.name} mask"
    return text, _options_of_backward(wanted), f"attention of {mask.name} mask"


def _options_of_forward(wanted: Wanted) -> str:
    q_tile = f" q-tile={wanted.q_tile}" if wanted.q_tile else ""
    slack = f" slack={SLACK}" if wanted.is_forward and wanted.is_unrounded else ""
    return f"kind={OF_OWN_SUMS}{q_tile}{slack}{_table_of_own_sums(wanted)}"


def _table_of_own_sums(wanted: Wanted) -> str:
    """A table that will not be used is small; that of a bitmap is used."""
    if not wanted.sizes:
        return ""
    of_one = f"heads:{wanted.fold},kv-heads:1,q:128,kv:128,batch:1"
    stated = _stated_of_bitmap(wanted) or of_one
    return f" table=true sizes={stated}"


def _stated_of_bitmap(wanted: Wanted) -> str:
    """The sizes that a bitmap's table is for; empty without one."""
    if wanted.mask.blocks is None:
        return ""
    names = "batch", "heads", "kv-heads", "q", "kv"
    return ",".join(f"{name}:{size}" for name, size in zip(names, wanted.sizes))


def _options_of_part(wanted: Wanted) -> str:
    if wanted.gradients == OF_Q:
        return _options_of_forward(wanted)
    return f"kind={OF_OWN_SUMS}{_table_of_own_sums(wanted)}"


def parts_of(wanted: Wanted) -> tuple[Wanted, ...]:
    """The programs of all gradients: one, or above head dim MOST_TOGETHER those of dk and dv, and
    of dq, without an order."""
    if max(wanted.head_dim, wanted.head_dim_v) <= MOST_TOGETHER:
        return (wanted,)
    plain = wanted._replace(kind="", parts=1, has_runs=False, sizes=(), apart="")
    return tuple(plain._replace(gradients=part) for part in (OF_KV, OF_Q))


def _options_of_backward(wanted: Wanted) -> str:
    kind = wanted.kind
    if wanted.is_list:
        kind = kind_of_lists(wanted.window, wanted.rules, wanted.level)
    # An order is proven at usual sizes, which have one head: whole heads have to make as many
    # parts.
    parts = f" parts={wanted.parts} sizes=heads:{1 if wanted.has_runs else wanted.parts},kv-heads:1"
    apart = f" apart={wanted.apart}" if wanted.apart else ""
    if stated := _stated_of_bitmap(wanted):
        return f"kind={kind} table=true sizes={stated}"
    if wanted.sizes:  # a table that will not be used is small
        rows = Q_TILE * max(2, wanted.parts) if wanted.has_runs else 2 * Q_TILE
        return f"kind={kind}{apart} table=true{parts},q:{rows},kv:128,batch:1"
    return f"kind={kind}{apart}{parts if wanted.parts > 1 else ''}"


def _spelled(layout: str) -> str:
    names = {"b": "batch", "h": "heads", "s": "rows", "t": "rows", "d": "head_dim"}
    return f"[{', '.join(names[letter] for letter in layout)}]"
