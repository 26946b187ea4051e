"""The gradient of the LSE, which is of each row the scores' probabilities: dS = P * (dP - delta)
+ P * dLSE. So it is taken from delta, and a kernel that takes delta in place of o does the rest,
dsink too. That is another program, compiled when it is first needed."""

from __future__ import annotations

import torch

PIECE = 8  # elements of a row that a lane of a kernel's `prepare` adds up


def in_place_of_o(
    do: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, dlse: torch.Tensor | None
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """What a kernel takes, o or delta, where the LSE may have a gradient."""
    return (o, None) if dlse is None else (None, delta_of(do, o, lse, dlse))


def delta_of(
    do: torch.Tensor, o: torch.Tensor, lse: torch.Tensor, dlse: torch.Tensor
) -> torch.Tensor:
    """rowsum(o * do) - dlse, of float32; 0 in rows that see nothing, whatever their dlse is. do,
    o: [batch, heads, rows, head_dim], of packed sequences [rows, heads, head_dim]; lse, dlse and
    what is found: [batch, heads, rows], or [heads, rows].

    Added as `prepare` adds: a dlse of zeros, as compiled programs have it of an LSE that is not
    differentiated, leaves all bits as they are. o may be of float32, as it is before it is
    rounded. Products of 16-bit numbers are exact in float32, so it is no matter which of them a
    machine adds in one step."""
    turned = (o, do) if o.dim() == 4 else (o.transpose(0, 1), do.transpose(0, 1))
    both = zip(*(tensor.unflatten(-1, (-1, PIECE)).unbind(-1) for tensor in turned))
    one, other = next(both)
    is_unrounded = o.dtype == torch.float32
    sums = one.float() * other
    for one, other in both:
        # `prepare` rounds each product of an o of float32
        sums = sums + one * other if is_unrounded else torch.addcmul(sums, one, other)
    while sums.shape[-1] > 1:
        if sums.shape[-1] % 2:  # lanes behind the last piece add zeros
            sums = torch.nn.functional.pad(sums, (0, 1))
        sums = sums[..., ::2] + sums[..., 1::2]
    return (sums[..., 0] - dlse).masked_fill(lse.isinf(), 0).contiguous()
