"""What the package's command lines share: what they answer to --version, and how they end.

They end as diff does: 0 where all went well, or is equal; 1 where something differs, which one
has to look at; 2 for trouble, of which nothing follows, said in a line. 130 is an interrupt.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ..errors import CapacityError, DriverError, LibraryError

GOOD, DIFFERS, TROUBLE, INTERRUPTED = 0, 1, 2, 130
# Errors of a user's files, arguments and machine. Errors of arguments, manifests, programs and JSON
# are ValueErrors.
EXPECTED = (ValueError, OSError, LibraryError, DriverError, CapacityError)


class _Version(argparse.Action):
    def __init__(self, **rest: Any) -> None:
        super().__init__(nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .library import library

        print(library().dashGetVersion().text)
        parser.exit()


def parser_of(name: str, about: str | None) -> argparse.ArgumentParser:
    """The arguments of `python3 -m dash_attn.NAME`."""
    parser = argparse.ArgumentParser(
        prog=f"python3 -m dash_attn.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="say which dash this is, and end")
    return parser


def _give_up_output() -> None:
    """What could not be printed is not tried again when Python ends, which would be another
    status."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(name: str, main: Callable[[], int], interrupted: str = "") -> int:
    """The exit status of `python3 -m dash_attn.NAME`, which does `main`. A mistake of our own is
    trouble, too, with where it is. interrupted: what there is to say to the caller."""
    try:
        return main()
    except EXPECTED as error:
        print(f"dash_attn.{name}: error: {error}", file=sys.stderr)
        _give_up_output()
        return TROUBLE
    except KeyboardInterrupt:
        print(
            f"dash_attn.{name}: interrupted{f'; {interrupted}' if interrupted else ''}",
            file=sys.stderr,
        )
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        return TROUBLE
