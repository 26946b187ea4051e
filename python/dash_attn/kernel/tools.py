"""dash-opt and dash-run of the wheel: libdash's mains, each in a process of its own."""

from __future__ import annotations

import ctypes
import os
import sys

from ..errors import LibraryError
from .library import library


def dash_opt() -> int:
    return _main("dash-opt", "dashOptMain")


def dash_run() -> int:
    return _main("dash-run", "dashRunMain")


def _main(name: str, function: str) -> int:
    try:
        main = getattr(library(), function)
    except LibraryError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    arguments = [os.fsencode(argument) for argument in (name, *sys.argv[1:])]
    return main(len(arguments), (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None))
