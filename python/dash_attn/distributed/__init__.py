"""Attention of documents whose rows lie on several GPUs, with the same bits on any number of
them. Needs PyTorch.

    world = World(group, documents=[131072, 9000], heads=32, kv_heads=8, head_dim=128)
    o = attention(q, k, v, world=world)                # rows of this rank: [rows, heads, head_dim]
    o = attention(q, k, v, cu_seqlens=cu, group=group) # or: offsets of its own packed rows
"""

from .described import describe
from .failures import RankError
from .function import attention
from .pingpong import pingpong
from .twice import Corruption, CorruptionError
from .world import World

__all__ = [
    "Corruption",
    "CorruptionError",
    "RankError",
    "World",
    "attention",
    "describe",
    "pingpong",
]
