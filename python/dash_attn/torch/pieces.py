"""What no single launch takes as it is: tensors that kernels cannot read are copied, and more
than one launch counts goes in slices.

Copies change no bit. An order follows from the sizes of its slice, and slices from those of the
problem: so bits are the same on every run, and those of `attention` on each slice alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..kernel.coverage import Coverage
from ..kernel.problem import PACKED, Slice, Wanted, Window, slices_of
from ..kernel.tasks import slices_of_gradients
from .kernels import (
    TorchKernel,
    ds_of,
    forward_of,
    kernel_of,
    order_of,
    tell_of_memory,
    wanted_of,
)
from .problem import readable

ON_KV = ("k", "v", "dk", "dv")
GRADIENTS = ("dq", "dk", "dv", "dsink")
RESULTS = ("o", "lse", "unrounded")


def forward(
    window: Window,
    layout: str,
    scale: float,
    softcap: float,
    cut_rows: int = 0,
    rules: str = "",
    clears_rows: bool = False,
    **tensors: torch.Tensor | None,
) -> None:
    """Fills o, lse and unrounded among `tensors`, which have the names of `Kernel.forward`.
    cut_rows: of pieces of keys, 0 where they are not cut; rules: of the mask beside its window;
    clears_rows: whether rows outside of all packed sequences are filled, too. Raises
    ArgumentError, and then some may be filled."""
    given = _readable(tensors)
    slices = [None] if layout == PACKED else slices_of(*_shapes(tensors), layout)
    for which in slices:
        one = given
        if which is not None:
            one = {name: cut(name, tensor, which, layout) for name, tensor in given.items()}
        wanted = forward_of(
            one["q"],
            one["k"],
            one["v"],
            window,
            layout,
            one.get("cu_seqlens_q"),
            softcap=softcap,
            has_sink="sink" in one,
            cut=cut_rows,
            rules=rules,
            is_unrounded="unrounded" in one,
        )
        kernel_of(wanted).forward(**one, layout=layout, scale=scale, clears_rows=clears_rows)
    _give_back(given, tensors, RESULTS)


def backward(
    window: Window,
    layout: str,
    scale: float,
    softcap: float = 0.0,
    level: str = "run",
    rules: str = "",
    passes_ds: bool = True,
    **tensors: torch.Tensor | None,
) -> None:
    """Fills the gradients among `tensors`, which have the names of `Kernel.backward`, and have o
    or delta. passes_ds: whether there may be memory for dS on its way. Raises ArgumentError, and
    then some may be filled."""
    given = _readable(tensors)
    rest: dict[str, Any] = {"has_sink": "sink" in given, "takes_delta": "delta" in given}
    rest |= {"is_unrounded": is_unrounded(given.get("o")), "softcap": softcap}
    rest |= {"level": level, "rules": rules}
    wanted = wanted_of(given["q"], given["v"], window, **rest)
    for which in slices_of_gradients(wanted, *_shapes(tensors), layout):
        one = {name: cut(name, tensor, which, layout) for name, tensor in given.items()}
        kernels = order_of(one["q"], one["k"], one["v"], window, layout, **rest).kernels
        passes_ds = _run_batch(kernels, one, layout, scale, passes_ds)
    _give_back(given, tensors, GRADIENTS)


def backward_of_sequences(
    kernels: list[TorchKernel],
    scale: float,
    clears_rows: bool = False,
    **tensors: torch.Tensor | None,
) -> None:
    """The same of packed sequences, which are one launch of each kernel. clears_rows: whether
    gradients of rows outside of all sequences become 0."""
    given = _readable(tensors)
    _run(kernels, given, PACKED, scale, clears_rows)
    _give_back(given, tensors, GRADIENTS)


def _run_batch(
    kernels: Sequence[Wanted],
    given: dict[str, torch.Tensor],
    layout: str,
    scale: float,
    passes_ds: bool,
) -> bool:
    """Where there is no memory for dS on its way, it is computed twice. Returns whether there may
    be some for the next slice: each request in vain empties PyTorch's cache."""
    if passes_ds or not kernels[0].passes_ds:
        try:
            ds = ds_of(kernels, given["q"], given["k"], given["v"], layout)
            beside = {} if ds is None else {"ds": ds}
            _run([kernel_of(one) for one in kernels], given | beside, layout, scale)
            return passes_ds
        except torch.OutOfMemoryError:
            if not kernels[0].passes_ds:
                raise
        ds, beside = None, {}  # gives it back
    tell_of_memory()
    twice = [one._replace(passes_ds=False) for one in kernels]
    _run([kernel_of(one) for one in twice], given, layout, scale)
    return False


def _run(
    kernels: list[TorchKernel],
    given: dict[str, torch.Tensor],
    layout: str,
    scale: float,
    clears_rows: bool = False,
) -> None:
    """All gradients, each by the kernel that computes it, which clears its rows, too."""
    names, rest = GRADIENTS[:3], {"layout": layout, "scale": scale, "clears_rows": clears_rows}
    for kernel in kernels:
        own = zip(names, kernel.own(given[name] for name in names))
        kernel.backward(**{"o": None} | given | dict(own), **rest)


def _shapes(tensors: dict[str, torch.Tensor | None]) -> tuple[torch.Size, ...]:
    return tuple(tensors[name].shape for name in ("q", "k", "v"))


def _readable(tensors: dict[str, torch.Tensor | None]) -> dict[str, torch.Tensor]:
    """What kernels can read, and write; the LSE without cuDNN's last dimension of 1."""
    return {
        name: readable(tensor[..., 0] if name == "lse" and tensor.shape[3:] == (1,) else tensor)
        for name, tensor in tensors.items()
        if tensor is not None
    }


def _give_back(
    given: dict[str, torch.Tensor],
    tensors: dict[str, torch.Tensor | None],
    written: tuple[str, ...],
) -> None:
    for name, tensor in given.items():
        if name in written and tensors[name] is not tensor:
            tensors[name].copy_(tensor)


def is_unrounded(o: torch.Tensor | None) -> bool:
    """Whether an o is one of float32, as it is before it is rounded."""
    return o is not None and o.dtype == torch.float32


def is_whole(q: torch.Tensor, k: torch.Tensor, layout: str, coverage: Coverage) -> bool:
    """Whether it is one launch."""
    return coverage.batch == q.shape[0] and coverage.kv_heads == k.shape[layout.index("h")]


def cut(name: str, tensor: torch.Tensor, which: Slice, layout: str) -> torch.Tensor:
    batch, heads, kv_heads = which
    if name == "sink":
        return tensor[heads]
    found = tensor[batch]
    of_heads = kv_heads if name in ON_KV else heads
    return found[:, of_heads] if found.dim() < 4 or layout == "bhsd" else found[:, :, of_heads]


def attended(
    function: Callable[..., Any],
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    sink: torch.Tensor | None,
    layout: str,
    coverage: Coverage,
) -> Any:
    """What function(q, k, v, sink) gives, o, or that and the LSE: the same slices, by a function
    that has gradients of its own."""
    heads = layout.index("h")
    of_batch = coverage.batch < q.shape[0]
    dim, count = (0, coverage.batch) if of_batch else (heads, coverage.kv_heads)
    of_q = count if of_batch else count * q.shape[heads] // k.shape[heads]
    parts = list(zip(q.split(of_q, dim), k.split(count, dim), v.split(count, dim)))
    sinks = [sink] * len(parts) if of_batch or sink is None else sink.split(of_q)
    found = [function(*part, one) for part, one in zip(parts, sinks)]
    if isinstance(found[0], torch.Tensor):
        return torch.cat(found, dim)
    return torch.cat([o for o, _ in found], dim), torch.cat([lse for _, lse in found], min(dim, 1))
