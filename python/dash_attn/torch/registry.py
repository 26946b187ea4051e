"""Operators of PyTorch, which a process has once. The package may be imported more than once, so
what an operator calls is what was imported last: also for programs that found the operator
before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

# The package may be there twice, once under another name, from Hugging Face's hub; names of
# operators are one process's.
PACKAGE = __name__.partition(".")[0]
SPACE = "dash" if PACKAGE == "dash_attn" else PACKAGE


def define(name: str, schema: str) -> None:
    """Declares SPACE::OPERATOR, once. Raises RuntimeError where another version of the package
    has declared it otherwise."""
    space, _, operator = name.partition("::")
    if not hasattr(getattr(torch.ops, space), operator):
        torch.library.define(name, schema, tags=torch.Tag.pt2_compliant_tag)
    found, wanted = _overload(name)._schema, torch._C.parse_schema(name + schema)
    if str(found) != str(wanted):
        raise RuntimeError(
            f"this process has imported another version of {PACKAGE} before,"
            f" whose operator is {found}, expected {wanted}: start the process again"
        )


def implement(name: str, key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function what the operator does where PyTorch says `key`, such as "CUDA"; "fake"
    and "vmap" are the other functions that PyTorch asks for."""
    ways = {"fake": torch.library.register_fake, "vmap": torch.library.register_vmap}
    functions = _overload(name).__dict__.setdefault("_dash_functions", {})

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        is_new = key not in functions
        functions[key] = function
        if is_new:

            def call(*arguments: Any, **rest: Any) -> Any:
                return functions[key](*arguments, **rest)

            if key in ways:
                ways[key](name, call)
            else:
                torch.library.impl(name, key, call)
        return function

    return register


def _overload(name: str) -> Any:
    space, _, operator = name.partition("::")
    return getattr(getattr(torch.ops, space), operator).default


# One for all copies of the package, as the operators are: another copy may have replaced PyTorch's.
_thread = _overload("aten::_flash_attention_forward").__dict__.setdefault(
    "_dash_foreign", threading.local()
)


@contextmanager
def foreign() -> Iterator[None]:
    """Inside, PyTorch's operators of attention are PyTorch's own on this thread, also while
    `enable` has replaced them."""
    was = is_foreign()
    _thread.is_foreign = True
    try:
        yield
    finally:
        _thread.is_foreign = was


def is_foreign() -> bool:
    return getattr(_thread, "is_foreign", False)
