"""How models are refused."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import ArgumentError

NAME = "dash"  # of attn_implementation
OTHER = "choose another one"


def refuse(expected: str, found: str, instead: str = OTHER) -> ArgumentError:
    """To be raised."""
    return ArgumentError(
        f"attn_implementation='{NAME}': expected {expected}, found {found}; {instead}"
    )


def cannot_wait(tensor: torch.Tensor) -> bool:
    """Whether the host cannot ask what a tensor has: in a program that is being compiled, or a
    CUDA graph that is being captured."""
    return (
        torch.compiler.is_compiling() or tensor.is_cuda and torch.cuda.is_current_stream_capturing()
    )


def spelled(found: Any) -> str:
    return (
        f"a tensor of shape {tuple(found.shape)}"
        if isinstance(found, torch.Tensor)
        else repr(found)
    )
