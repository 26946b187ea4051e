"""Masks that hide more than a band: a union with first columns, a bitmap over blocks. `attention`
takes them as `dash_attn.reference.Mask`; kernels and operators have them as a window, and their
rules in a short text, by which equal ones are equal and which a record may hold."""

from __future__ import annotations

import functools
import re
from typing import Any

from ..reference import Blocks, Mask, Union
from .coverage import ask

UNION = re.compile(r"union (\d{1,19}) (-1|\d{1,19}) (-1|\d{1,19})")
BLOCKS = re.compile(r"blocks (\d{1,10}) (\d{1,10}) (\d{1,7}) (\d{1,7}) ([0-9a-f]+)")


def refusal_of_mask(mask: Any, causal: Any, window: Any) -> str | None:
    """Why this is no mask, or not the only one; what kernels cover of masks is libdash's to say."""
    if mask is None:
        return None
    if not isinstance(mask, Mask):
        return f"mask: expected a dash_attn.reference.Mask, found {type(mask).__name__}"
    if causal is not False or window is not None:
        return (
            "mask: expected neither causal nor window beside it, which it states itself:"
            f" Mask(left, right, ...), found causal={causal!r} and window={window!r}"
        )
    if not _are_whole(mask.left, mask.right):
        return (
            "mask: expected whole numbers for its sides, -1 where there is no bound, found"
            f" {(mask.left, mask.right)!r}"
        )
    union, blocks = mask.union, mask.blocks
    if union is not None and not (isinstance(union, Union) and _are_whole(*union)):
        return (
            f"mask: expected a union of whole numbers, Union(columns, left, right), found {union!r}"
        )
    if blocks is None:
        return None
    if not isinstance(blocks, Blocks) or not _are_whole(*blocks[:2]):
        return (
            "mask: expected blocks of whole numbers of rows, Blocks(q, kv, bits), found"
            f" {type(blocks).__name__}"
        )
    if not _is_bitmap(blocks.bits):
        return (
            "mask: expected bits as a tuple for each kv block, each of one bool for each q block;"
            " Blocks.of makes them of an array"
        )
    return None


def _are_whole(*numbers: Any) -> bool:
    return all(type(number) is int for number in numbers)


def _is_bitmap(bits: Any) -> bool:
    return (
        type(bits) is tuple
        and bool(bits)
        and all(type(line) is tuple and len(line) == len(bits[0]) > 0 for line in bits)
        and all(type(bit) is bool for line in bits for bit in line)
    )


def rules_of(mask: Mask) -> str:
    """What a mask hides beside its band, in a text without it; empty if nothing."""
    return _rules_of(mask)  # compiled programs look into no cache


@functools.lru_cache(maxsize=1024)
def _rules_of(mask: Mask) -> str:
    found = []
    if mask.union is not None:
        found.append("union " + " ".join(map(str, mask.union)))
    if mask.blocks is not None:
        q, kv, bits = mask.blocks
        text = "".join("01"[bit] for line in bits for bit in line)
        found.append(f"blocks {q} {kv} {len(bits)} {len(bits[0])} {int('1' + text, 2):x}")
    return ", ".join(found)


@functools.lru_cache(maxsize=1024)
def mask_of(left: int, right: int, rules: str) -> Mask:
    """The mask of a window and rules, as `rules_of` writes them; ValueError for any other text."""
    mask = Mask(left, right)
    for rule in rules.split(", ") if rules else ():
        if union := UNION.fullmatch(rule):
            mask = mask._replace(union=Union(*map(int, union.groups())))
        elif blocks := BLOCKS.fullmatch(rule):
            q, kv, lines, length = map(int, blocks.groups()[:4])
            text = bin(int(blocks[5], 16))[3:]
            if not text or len(text) != lines * length:
                raise ValueError(f"expected {lines} x {length} bits of a bitmap, found {len(text)}")
            bits = tuple(
                tuple(bit == "1" for bit in text[first : first + length])
                for first in range(0, len(text), length)
            )
            mask = mask._replace(blocks=Blocks(q, kv, bits))
        else:
            raise ValueError(f"expected rules of a mask, found {rule[:64]!r}")
    if rules_of(mask) != rules:
        raise ValueError(f"expected rules of a mask, each once, found {rules[:64]!r}")
    return mask


def are_rules(text: str) -> bool:
    """Whether `rules_of` writes this text for some mask."""
    try:
        mask_of(-1, -1, text)
    except ValueError:
        return False
    return True


def refusal_of_rules(
    mask: Mask, head_dim: int, head_dim_v: int, is_list: bool, q_rows: int, kv_rows: int
) -> str | None:
    """Why kernels do not cover a mask, as libdash says it. is_list: beside sequences whose lengths
    come with each run; q_rows, kv_rows: UNKNOWN where they do not matter."""
    told: dict[str, int] = {}
    if mask.union is not None:
        names = "union_columns", "union_left", "union_right"
        told |= {"has_union": 1, **dict(zip(names, mask.union))}
    if mask.blocks is not None:
        q, kv, bits = mask.blocks
        told |= {"has_blocks": 1, "block_q": q, "block_kv": kv}
        told |= {"q_blocks": len(bits[0]), "kv_blocks": len(bits)}
    told |= {"head_dim": head_dim, "head_dim_v": head_dim_v, "sequences": int(is_list)}
    answer = ask(q_rows=q_rows, kv_rows=kv_rows, **told)
    return answer if isinstance(answer, str) else None
