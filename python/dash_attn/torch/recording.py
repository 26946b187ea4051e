"""Records a run for `dash_attn.audit`: a mode that sees every operator, hooks that say in which
module, hashes that stay on the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._python_dispatch import TorchDispatchMode

from ..compare.runs import BLOCK, Entry, Run, Space
from .hash_log import Log
from .hashing import hash_blocks
from .operator import NAME, SINK
from .problem import ELEMENTS

# These give memory that is not written yet.
UNFILLED = (
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
    "resize_",
)
# These have outputs that they do not fill: seeds of a dropout that there is not.
PARTLY_FILLED = ("attention_forward", "_scaled_dot_product")
# These move elements, or write constants: beside PyTorch's own tag for operators that compute each
# element by itself.
MOVING = (
    "_to_copy",
    "clone",
    "copy_",
    "cat",
    "stack",
    "slice_backward",
    "select_backward",
    "constant_pad_nd",
    "_unsafe_view",
    "fill_",
    "zero_",
    "zeros",
    "zeros_like",
    "ones",
    "ones_like",
    "full",
    "full_like",
    "new_zeros",
    "new_ones",
    "new_full",
    "arange",
    "scalar_tensor",
)


@contextmanager
def record(
    model: torch.nn.Module | None = None, every: bool = False, space: bool = False
) -> Iterator[Run]:
    """Gives a Run whose entries are there at the end."""
    if model is not None and not isinstance(model, torch.nn.Module):
        raise TypeError(f"expected a module of PyTorch, found {type(model).__name__}")
    run, recorder = Run((), every), Recorder(model, every, space)
    try:
        recorder.see_parameters()
        with recorder:
            yield run
        object.__setattr__(run, "entries", recorder.entries())
        run.spaces.update(recorder.spaces())
    finally:
        recorder.remove()


@dataclass(frozen=True)
class Operator:
    """is_view: gives views and nothing else; is_hashed: what it gives is, or only_floats of it;
    written: places and names of arguments that it writes to."""

    name: str
    is_view: bool
    is_hashed: bool
    only_floats: bool
    written: tuple[int | str, ...]

    @staticmethod
    def of(function: Any, every: bool) -> Operator:
        schema = function._schema
        name = schema.name.split("::")[1]
        written = tuple(
            argument.name if argument.kwarg_only else i
            for i, argument in enumerate(schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        )
        is_view = bool(schema.returns) and all(
            one.alias_info is not None and not one.alias_info.is_write for one in schema.returns
        )
        is_hashed = name not in UNFILLED and (
            every or torch.Tag.pointwise not in function.tags and name not in MOVING
        )
        return Operator(
            str(function),
            is_view and not written,
            is_hashed,
            any(part in name for part in PARTLY_FILLED),
            written,
        )


class Recorder(TorchDispatchMode):
    def __init__(self, model: torch.nn.Module | None, every: bool, space: bool) -> None:
        super().__init__()
        self._model, self._every, self._space = model, every, space
        self._spaces: dict[int, tuple[Space, torch.Tensor]] = {}
        self._logs: dict[torch.device, Log] = {}
        self._found: list[tuple[tuple[Any, ...], torch.device, int]] = []
        self._operators: dict[Any, Operator] = {}
        # storages, by weak references: one that is referred to keeps its number
        self._known: set[int] = set()
        self._modules: list[str] = []  # in which the program is
        self._paths: dict[int, str] = {}  # of the nodes of autograd, by their numbers
        self._step, self._is_stepping = 0, False
        self._names = (
            {id(parameter): name for name, parameter in model.named_parameters()}
            if model is not None
            else {}
        )
        self._hooks = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        for path, module in model.named_modules() if model is not None else ():
            self._hooks += [
                module.register_forward_pre_hook(self._enter(path), with_kwargs=True),
                module.register_forward_hook(self._leave, always_call=True),
            ]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """PyTorch would wrap each call otherwise: this mode is not for compiled programs."""
        return False

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        for storage in self._known:
            torch.UntypedStorage._free_weak_ref(storage)
        self._known.clear()

    def entries(self) -> tuple[Entry, ...]:
        """Waits for the devices."""
        values = {device: log.values() for device, log in self._logs.items()}
        return tuple(Entry(*place, values[device][slot]) for place, device, slot in self._found)

    def spaces(self) -> dict[int, Space]:
        """Waits for the devices."""
        return {
            number: space._replace(hashes=tuple(one % 2**64 for one in hashes.flatten().tolist()))
            for number, (space, hashes) in self._spaces.items()
        }

    def see_parameters(self) -> None:
        if self._model is not None:
            for path, tensor in (*self._model.named_parameters(), *self._model.named_buffers()):
                self._hash(tensor, "input", path, "parameter")

    # ---- Operators -------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        about = self._operators.get(function)
        if about is None:
            about = self._operators[function] = Operator.of(function, self._every)
        if self._is_stepping or about.is_view:
            return function(*args, **kwargs)
        node = torch._C._current_autograd_node()
        path = self._modules[-1] if self._modules else ""
        if node is None:
            phase = "forward"
            # the node that was made for this operator
            self._paths.setdefault(torch.autograd._get_sequence_nr() - 1, path)
        elif self._modules:
            phase = "recomputed"
        else:
            phase, path = (
                "backward",
                self._paths.get(
                    node._sequence_nr(), self._names.get(id(getattr(node, "variable", None)), "")
                ),
            )
        written = (
            [args[i] if isinstance(i, int) else kwargs.get(i) for i in about.written]
            if about.written
            else ()
        )
        for i, tensor in enumerate(tensors_of((*args, *kwargs.values()) if kwargs else args)):
            if self._is_new(tensor) and not any(tensor is one for one in written):
                self._hash(tensor, "input", path, f"argument {i} of {about.name}")
        result = function(*args, **kwargs)
        outputs = (
            (result,)
            if isinstance(result, torch.Tensor)
            else tensors_of(result)
            if isinstance(result, (tuple, list))
            else ()
        )
        for tensor in outputs:
            self._is_new(tensor)
        if not about.is_hashed:
            return result
        for i, tensor in enumerate(tensors_of(written) if written else outputs):
            if not about.only_floats or tensor.is_floating_point():
                self._hash(tensor, phase, path, about.name, i)
                if (
                    self._space
                    and tensor.dim() > 1
                    and tensor.numel()
                    and tensor.layout is torch.strided
                    and tensor.device.type != "meta"
                ):
                    self._see_blocks(tensor, about.name, args)
        return result

    def _see_blocks(self, tensor: torch.Tensor, name: str, args: Any) -> None:
        """The number of the entry that was made last."""
        is_ours, call = name.removesuffix(".default").replace(".", "::") == NAME, None
        # arguments that have their defaults may be left out
        sink, cu_q = (*args[SINK : SINK + 2], None, None)[:2] if is_ours else (None, None)
        if is_ours and sink is None and cu_q is None:
            _, q, k, v, *_ = args
            call = {
                "q": tuple(q.shape),
                "k": tuple(k.shape),
                "v": tuple(v.shape),
                "window": tuple(args[6:8]),
                "element": ELEMENTS[q.dtype],
            }
        axis = 0 if cu_q is not None and tensor.dim() == 3 else tensor.dim() - 2
        self._spaces[len(self._found) - 1] = (
            Space(tuple(tensor.shape), axis, (), call),
            hash_blocks(tensor, axis, BLOCK),
        )

    def _is_new(self, tensor: torch.Tensor) -> bool:
        """Whether its memory was not seen yet; from now on it was."""
        if tensor.layout is not torch.strided:
            return False
        storage = tensor.untyped_storage()
        if storage._cdata in self._known:
            return False
        self._known.add(storage._weak_ref())
        return True

    def _hash(
        self, tensor: torch.Tensor, phase: str, path: str, name: str, output: int = 0
    ) -> None:
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            return
        self._is_new(tensor)
        log = self._logs.get(tensor.device)
        if log is None:
            log = self._logs[tensor.device] = Log(tensor.device)
        self._found.append(
            ((self._step, phase, path, name, output), tensor.device, log.add(tensor))
        )

    # ---- Modules and optimizers ------------------------------------------------------------------

    def _enter(self, path: str) -> Any:
        def enter(module: Any, args: Any, kwargs: Any) -> None:
            if not self._modules and torch._C._current_autograd_node() is None:
                with torch.utils._python_dispatch._disable_current_modes():
                    for i, tensor in enumerate(tensors_of((*args, *kwargs.values()))):
                        self._hash(tensor, "input", path, f"argument {i} of the model")
            self._modules.append(path)

        return enter

    def _leave(self, *_: Any) -> None:
        self._modules.pop()

    def _before_step(self, optimizer: Any, *_: Any) -> None:
        self._is_stepping = True

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        with torch.utils._python_dispatch._disable_current_modes():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    self._hash(
                        parameter,
                        "optimizer",
                        self._names.get(id(parameter), "?"),
                        type(optimizer).__name__,
                    )
        self._is_stepping = False
        self._step += 1
        for storage in [
            storage for storage in self._known if torch.UntypedStorage._expired(storage)
        ]:
            self._known.remove(storage)
            torch.UntypedStorage._free_weak_ref(storage)
        self._paths.clear()


def tensors_of(values: Iterable[Any]) -> list[torch.Tensor]:
    """Those among the values, and in lists among them."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [one for one in value if isinstance(one, torch.Tensor)]
    return found
