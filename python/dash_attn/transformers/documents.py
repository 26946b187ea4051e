"""Packed documents: where they begin, and that none of their begins is overlooked.

Positions that begin anew belong to another document. transformers itself looks for that in some
shapes of positions only, not beside an attention_mask or a cache, and not all models hand
positions to what makes masks. So they are looked at where they come in: as arguments of a model,
in whatever shape. While such a model runs, attention of its rows is refused unless it is told of
documents.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel

from .refusal import NAME, cannot_wait, refuse

WITH_OFFSETS = "DataCollatorWithFlattening(return_flash_attn_kwargs=True)"


@dataclasses.dataclass(frozen=True, eq=False)
class Documents:
    """numbers: of each row's document, [batch, rows], which do not descend."""

    numbers: torch.Tensor

    @staticmethod
    def of(numbers: torch.Tensor) -> Documents | None:
        """None where there is one in each row of the batch. A program that is being compiled
        cannot ask: it is told of several by cu_seq_lens_q, and ends with an error when it runs
        if there are several without."""
        if cannot_wait(numbers) and not (_inside() and _inside()[-1].has_offsets):
            torch._assert_async(
                (numbers[:, -1:] == numbers[:, :1]).all(), "position_ids of packed sequences"
            )
            return None
        return Documents(numbers)

    @functools.cached_property
    def offsets(self) -> tuple[torch.Tensor, int]:
        """Where each begins, int32, and the end of the last, over all rows of the batch one
        behind the other; and how long the longest is. Waits for the device."""
        steps = self.numbers.diff(dim=-1)
        begins = torch.ones_like(self.numbers, dtype=torch.bool)
        begins[:, 1:] = steps != 0
        found = torch.cat(
            [
                begins.flatten().nonzero()[:, 0],
                begins.new_full((1,), begins.numel(), dtype=torch.long),
            ]
        )
        longest, descends = torch.stack([found.diff().max(), (steps < 0).any()]).tolist()
        if descends:
            raise refuse("documents whose numbers ascend in a row", "others")
        return found.int(), longest


def begins_of(positions: torch.Tensor) -> torch.Tensor:
    """Which tokens begin a document though others are before them, [batch, rows - 1]. Positions
    of a document go up by 1.

    Those of several dimensions, [dimensions, batch, rows] (time, height, width, as of Qwen2-VL),
    go up by more behind an image and stay within one; but time never goes back, and nothing but
    a begin is where the first token is, or before. With a row of text's positions before them,
    that row says it, as in transformers.
    """
    if positions.dim() == 3 and positions.shape[0] == 4:
        positions = positions[0]
    if positions.dim() < 3:
        return torch.atleast_2d(positions).diff(dim=-1) != 1
    of_time = positions[0].diff(dim=-1)
    return (of_time < 0) | (positions[..., 1:] <= positions[..., :1]).all(dim=0)


class _Memo:
    """What was found of a tensor, until it is gone or was written to."""

    def __init__(self, found: Callable[..., Any]) -> None:
        self._find = found
        self._known: dict[int, tuple[Any, int, Any]] = {}

    def __call__(self, tensor: torch.Tensor) -> Any:
        reference, version, found = self._known.get(id(tensor), (None, None, None))
        if reference is not None and reference() is tensor and version == tensor._version:
            return found
        found = self._find(tensor)
        key = id(tensor)
        self._known[key] = (
            weakref.ref(tensor, lambda gone: self._forget(key, gone)),
            tensor._version,
            found,
        )
        return found

    def _forget(self, key: int, gone: Any) -> None:
        if key in self._known and self._known[key][0] is gone:
            del self._known[key]


# all layers of a step, and all steps of a loop, may have the same ones
_has_begins = _Memo(lambda positions: bool(begins_of(positions).any()))


def has_several(positions: torch.Tensor) -> bool:
    """Waits for the device, once."""
    return (
        torch.is_tensor(positions)
        and positions.dim() > 0
        and positions.shape[-1] > 1
        and (_has_begins if not positions.is_inference() else _has_begins._find)(positions)
    )


# ---- Models --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Inside:
    """A model that runs. rows: of its positions, where documents are packed in them, else None."""

    model: Any
    rows: int | None
    has_offsets: bool


_running = threading.local()
# names of those of forward, without self, of models that look at their positions
_parameters: dict[type, tuple[str, ...]] = {}


def _inside() -> tuple[Inside, ...]:
    return getattr(_running, "models", ())


def is_inside() -> bool:
    """Whether a model runs whose positions were looked at."""
    return len(_inside()) > 0


def refuse_unnoticed(rows: int) -> None:
    """For attention that was told of no documents."""
    for one in _inside():
        if one.rows is not None and one.rows == rows:
            if one.has_offsets:
                raise refuse(
                    "cu_seq_lens_q at each layer of the model that it was given to", "none"
                )
            raise packed_unnoticed()


def demand_positions(rows: int) -> None:
    """For attention that was told of documents: their positions begin anew only in models that
    take positions."""
    inside = _inside()
    if (
        any(one.rows == rows for one in inside)
        and "position_ids" not in _parameters[type(inside[-1].model)]
    ):
        raise refuse(
            "a model that takes position_ids, beside cu_seq_lens_q",
            f"{type(inside[-1].model).__name__}, which does not",
        )


def packed_unnoticed() -> Exception:
    return refuse(
        "position_ids that go up by 1",
        "others, as of packed documents, where the model takes them for one",
        "leave attention_mask out and pass use_cache=False, or pass cu_seq_lens_q, as"
        f" {WITH_OFFSETS} gives it, or choose another one",
    )


def _enter(model: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    if getattr(model.config, "_attn_implementation", None) != NAME:
        return
    positions, offsets = (
        _argument(model, "position_ids", arguments, options),
        options.get("cu_seq_lens_q"),
    )
    if not isinstance(positions, torch.Tensor) or positions.dim() == 0 or positions.shape[-1] < 2:
        positions = None
    rows = None
    # a model around it was asked
    if offsets is not None and not (positions is None and is_inside()):
        if positions is None:
            raise refuse(
                "position_ids beside cu_seq_lens_q",
                "none: positions would go on from one document to the next",
                f"pass both, as {WITH_OFFSETS} gives them",
            )
        rows = positions.shape[-1]
        if positions.dim() < 2 or positions.shape[-2] == 1:  # attention refuses others
            _demand_agreement(positions, offsets)
    elif positions is not None and cannot_wait(positions):
        torch._assert_async(~begins_of(positions).any(), "position_ids of packed sequences")
    elif positions is not None and has_several(positions):
        rows = positions.shape[-1]
    _running.models = (*_inside(), Inside(model, rows, offsets is not None))


def _leave(model: Any, *_: Any) -> None:
    if _inside() and _inside()[-1].model is model:
        _running.models = _inside()[:-1]


def _argument(model: Any, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if name in options or not arguments:
        return options.get(name)
    names = _parameters[type(model)]
    at = names.index(name) if name in names else len(arguments)
    return arguments[at] if at < len(arguments) else None


def _demand_agreement(positions: torch.Tensor, offsets: torch.Tensor) -> None:
    """Documents begin where both say so."""
    begins, rows = begins_of(positions), positions.shape[-1]
    said = torch.zeros(rows + 1, dtype=torch.bool, device=positions.device)
    said[offsets.long().clamp(0, rows)] = True
    agrees = (
        (said[1:-1] == begins).all()
        & said[0]
        & said[-1]
        & (offsets >= 0).all()
        & (offsets <= rows).all()
    )
    if cannot_wait(positions):
        torch._assert_async(agrees, "position_ids and cu_seq_lens_q")
    elif not bool(agrees):
        raise refuse(
            "position_ids that begin anew where cu_seq_lens_q has a document begin, and nowhere"
            " else",
            "others",
            f"pass those of one collator, as {WITH_OFFSETS} gives them",
        )


def watch_models() -> None:
    """Lets each model look at its positions that takes up this attention from now on, and all
    models in it."""
    check = PreTrainedModel._check_and_adjust_attn_implementation

    @functools.wraps(check)
    def checked(self: Any, *arguments: Any, **options: Any) -> Any:
        found = check(self, *arguments, **options)
        for model in self.modules() if found == NAME else ():
            if (
                isinstance(model, PreTrainedModel)
                and _enter not in model._forward_pre_hooks.values()
            ):
                _parameters[type(model)] = tuple(inspect.signature(type(model).forward).parameters)[
                    1:
                ]
                model.register_forward_pre_hook(_enter, with_kwargs=True)
                model.register_forward_hook(_leave, always_call=True)
        return found

    PreTrainedModel._check_and_adjust_attn_implementation = checked
