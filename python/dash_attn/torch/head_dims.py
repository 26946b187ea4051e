"""FlashAttention where v has another head dim than q and k."""

from __future__ import annotations

import torch


def alike(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As FlashAttention takes them, which has one head dim: the narrower ones are filled up with
    columns of zeros. Those of q and k change no bit of a score; those of v become columns of o
    that are left out."""
    of_qk, of_v = q.shape[-1], v.shape[-1]
    if of_qk < of_v:
        return _widened(q, of_v), _widened(k, of_v), v
    return q, k, (_widened(v, of_qk) if of_v < of_qk else v)


def _widened(tensor: torch.Tensor, columns: int) -> torch.Tensor:
    return torch.nn.functional.pad(tensor, (0, columns - tensor.shape[-1]))


def padding(of_qk: int, of_v: int) -> str:
    """What `alike` does, for people."""
    if of_qk == of_v:
        return ""
    return f", {'q and k' if of_qk < of_v else 'v'} padded to head dim {max(of_qk, of_v)}"
