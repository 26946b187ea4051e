"""Attention for JAX, with gradients that are the same bits on every run.

o = dash_attn.jax.attention(q, k, v, causal=True)      # [batch, heads, rows, head_dim]
"""

from ..kernel.explanation import Explanation
from .explanation import explain
from .function import attention

__all__ = ["Explanation", "attention", "explain"]
