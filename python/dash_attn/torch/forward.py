"""Forward passes of PyTorch that are the same bits on every run, with the LSE that the backward
pass takes."""

from __future__ import annotations

import torch

from ..kernel.problem import CAUSAL, FULL, Window


def forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, left: int, right: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and the LSE, by the fastest forward pass of PyTorch that is repeatable: cuDNN's; of
    windows FlashAttention's."""
    o, lse = computed(q, k, v, left, right, scale)
    return o, lse.reshape(q.shape[:3])


def computed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, left: int, right: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The LSE as the operator gives it: cuDNN's with a dimension of 1 behind the rows."""
    if left < 0 and right <= 0:
        found = torch.ops.aten._scaled_dot_product_cudnn_attention.default(
            q, k, v, None, True, 0.0, right == 0, False, scale=scale
        )
        return found[0], found[1]
    of_v = v.shape[3]
    q, k, v = alike(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
    o, lse, *_ = torch.ops.aten._flash_attention_forward.default(
        q,
        k,
        v,
        None,
        None,
        q.shape[1],
        k.shape[1],
        0.0,
        False,
        False,
        scale=scale,
        window_size_left=left,
        window_size_right=right,
    )
    if of_v < o.shape[3]:
        o = o[..., :of_v].contiguous()
    return o.transpose(1, 2), lse


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


def operator_of_forward(window: Window, of_qk: int, of_v: int) -> str:
    """By what `forward` computes, for people. of_qk, of_v: head dims."""
    if window in (FULL, CAUSAL):
        return (
            f"aten::_scaled_dot_product_cudnn_attention, PyTorch {torch.__version__}, cuDNN"
            f" {torch.backends.cudnn.version()}"
        )
    return f"aten::_flash_attention_forward{padding(of_qk, of_v)}, PyTorch {torch.__version__}"
