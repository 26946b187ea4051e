"""Attention of documents whose rows lie on several GPUs, with the same bits on any number of them. Needs PyTorch.

    world = World(group, documents=[131072, 9000], heads=32, kv_heads=8, head_dim=128)     # for all layers of a micro-batch
    o = attention(q, k, v, world=world)                                                    # this rank's rows, [rows, heads, head_dim]
"""

from .function import attention
from .world import World

__all__ = ["World", "attention"]
