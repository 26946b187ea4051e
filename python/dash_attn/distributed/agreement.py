"""What all ranks must have alike is compared before anything is sent: its hashes first, and
where these differ, field by field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..errors import ArgumentError, CapacityError, LibraryError
from .failures import named

RAISED = {kind.__name__: kind for kind in (ArgumentError, CapacityError, LibraryError)}
MOST = 90  # characters of a value in a message
Gather = Callable[[torch.Tensor], list[torch.Tensor]]  # the tensors of all ranks


def agree(gather: Gather, fields: Mapping[str, Any], refusal: Exception | None) -> None:
    """Raises the same on all ranks: the refusals, where one has any; else ArgumentError with the
    first field that differs."""
    texts = {name: json.dumps(value) for name, value in fields.items()}
    if refusal is not None:
        texts = {"": json.dumps([type(refusal).__name__, str(refusal)])}
    whole = json.dumps(texts).encode()
    digest = torch.frombuffer(bytearray(hashlib.sha256(whole).digest()), dtype=torch.int64)
    mine = torch.cat([digest, torch.tensor([len(whole), refusal is not None])])
    heads = gather(mine)
    if all(torch.equal(head, mine) for head in heads) and refusal is None:
        return
    most = max(int(head[4]) for head in heads)
    padded = torch.zeros(-(-most // 8) * 8, dtype=torch.uint8)
    padded[: len(whole)] = torch.frombuffer(bytearray(whole), dtype=torch.uint8)
    found = [
        json.loads(bytes(text.view(torch.uint8)[: int(head[4])].tolist()))
        for text, head in zip(gather(padded.view(torch.int64)), heads)
    ]
    refusals = {
        rank: tuple(json.loads(texts[""])) for rank, texts in enumerate(found) if "" in texts
    }
    if refusals:
        raise refused(refusals, len(found))
    for name in dict.fromkeys(name for texts in found for name in texts):
        values = [texts.get(name, '"nothing"') for texts in found]
        if len(set(values)) > 1:
            where, values = _first_difference(name, values)
            raise ArgumentError(f"{where}: expected the same on all ranks, found {spelled(values)}")


def _first_difference(name: str, values: list[str]) -> tuple[str, list[str]]:
    """The first element that differs, of lists that are equally long."""
    read = [json.loads(value) for value in values]
    if not all(isinstance(one, list) for one in read) or len({len(one) for one in read}) > 1:
        return name, values
    i = next(i for i, items in enumerate(zip(*read)) if any(item != items[0] for item in items))
    return f"{name}[{i}]", [json.dumps(one[i]) for one in read]


def refused(refusals: Mapping[int, tuple[str, str]], ranks: int) -> Exception:
    """Where all say the same, that."""
    different = list(dict.fromkeys(refusals.values()))
    kind = RAISED.get(different[0][0], ArgumentError)
    if len(different) == 1 and len(refusals) == ranks:
        return kind(different[0][1])
    said = [
        f"{named([rank for rank, other in refusals.items() if other == one])}: {one[1]}"
        for one in different[:4]
    ]
    return kind("; ".join(said))


def spelled(values: list[str]) -> str:
    """Which ranks have what."""
    groups: dict[str, list[int]] = {}
    for rank, value in enumerate(values):
        groups.setdefault(value, []).append(rank)
    return ", ".join(
        f"{_short(value)} on {named(ranks)}" for value, ranks in list(groups.items())[:4]
    ) + " …" * (len(groups) > 4)


def _short(value: str) -> str:
    value = value.strip('"')
    return value if len(value) <= MOST else f"{value[:MOST]}…"
