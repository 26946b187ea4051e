"""Attention for PyTorch, with gradients that are the same bits on every run.

o = dash_attn.attention(q, k, v, causal=True)      # [batch, heads, rows, head_dim]
with dash_attn.enable(): ...                       # or: PyTorch's own attention
"""

from .dropin import disable, enable
from .explanation import Explanation, explain
from .function import attention

__all__ = ["Explanation", "attention", "disable", "enable", "explain"]
