"""Attention for PyTorch, with gradients that are the same bits on every run.

    o = dash_attn.attention(q, k, v, causal=True)      # [batch, heads, rows, head_dim], bf16 or f16, on an H100 or H200
    with dash_attn.enable(): ...                       # or: PyTorch's own attention, with these gradients
"""

from .dropin import disable, enable
from .explanation import Explanation, explain
from .function import attention

__all__ = ["Explanation", "attention", "disable", "enable", "explain"]
