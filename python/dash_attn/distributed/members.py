"""The ranks of a group, with a small group on the CPU: they compare what they ask for before any
other group is made for them, which would wait for ranks that ask for another one."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist

from .agreement import agree
from .failures import RankError

_made: dict[tuple[int, ...], Members] = {}  # of this process


def new_group(ranks: tuple[int, ...], backend: str, name: str, timeout: datetime.timedelta) -> Any:
    # which older PyTorchs do not have
    order = {} if list(ranks) == sorted(ranks) else {"sort_ranks": False}
    return dist.new_group(
        list(ranks),
        timeout=timeout,
        backend=backend,
        use_local_synchronization=True,
        group_desc=f"dash world {name}",
        **order,
    )


class Members:
    def __init__(self, ranks: tuple[int, ...], timeout: datetime.timedelta) -> None:
        self.default, self.size = dist.group.WORLD, len(ranks)
        self.control = new_group(ranks, "gloo", "agreement", timeout)

    def is_alive(self) -> bool:
        """Whether torch.distributed is what it was when the group was made."""
        return dist.is_initialized() and dist.group.WORLD is self.default

    def agree(self, fields: Mapping[str, Any], refusal: Exception | None) -> None:
        """Raises the same on all ranks, where they have other fields, or where one has a reason to
        refuse."""
        agree(self._gather, fields, refusal)

    def _gather(self, mine: torch.Tensor) -> list[torch.Tensor]:
        found = [torch.empty_like(mine) for _ in range(self.size)]
        try:
            dist.all_gather(found, mine, group=self.control)
        except RuntimeError as error:
            said = str(error).split("\n")[0][:300]
            raise RankError(
                f"this rank waited in an agreement on groups in vain: {said}"
            ) from error
        return found


def members_of(ranks: tuple[int, ...], timeout: datetime.timedelta) -> Members:
    """Made by all ranks when they are first asked for; the same from then on."""
    found = _made.get(ranks)
    if found is None or not found.is_alive():
        found = _made[ranks] = Members(ranks, timeout)
    return found
