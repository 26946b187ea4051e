# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/python:%dash_src/test/python/lib %python %s %t
# REQUIRES: python
"""Files appear whole, under names that cannot be guessed, with the mode of any new file; what is no
file, or too large, is not read."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

from fixtures import refused

from dash_attn.support.files import appears, read_text, write_text

TMP = Path(sys.argv[1])


def whole_or_not_at_all() -> None:
    path = TMP / "whole"
    write_text(path, "old")

    class Stop(Exception):
        pass

    def stops() -> None:
        with appears(path) as part:
            part.write_text("half", encoding="utf-8")
            raise Stop

    refused(stops, Stop)
    assert path.read_text(encoding="utf-8") == "old" and list(TMP.iterdir()) == [path]
    write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "new" and list(TMP.iterdir()) == [path]
    refused(lambda: write_text(TMP / "none/below", ""), FileNotFoundError)
    (TMP / "folder").mkdir()
    refused(lambda: write_text(TMP / "folder", ""), IsADirectoryError)
    assert sorted(one.name for one in TMP.iterdir()) == ["folder", "whole"]


def modes() -> None:
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        write_text(TMP / f"mode{mask}", "")
        os.umask(before)
        assert stat.S_IMODE((TMP / f"mode{mask}").stat().st_mode) == 0o666 & ~mask


def links_are_not_followed() -> None:
    """Not one that waits under the name that a process of this number would take, nor one at the
    place itself."""
    target, path = TMP / "target", TMP / "linked"
    target.write_text("precious", encoding="utf-8")
    for planted in (path.with_name(f"linked.{os.getpid()}.part"), path):
        planted.unlink(missing_ok=True)
        planted.symlink_to(target)
        write_text(path, "new")
        assert (
            target.read_text(encoding="utf-8") == "precious"
            and path.read_text(encoding="utf-8") == "new"
            and not path.is_symlink()
        )


def writers_at_once() -> None:
    """With one process number, as two containers have, and one name: each writes its own file, and
    one of them stays, whole."""
    path, ready = TMP / "shared", threading.Barrier(8)
    texts = [str(i) * 100_000 for i in range(8)]

    def write(text: str) -> None:
        with appears(path) as part:
            ready.wait()
            part.write_text(text, encoding="utf-8")
            ready.wait()

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text(encoding="utf-8") in texts and not list(TMP.glob("shared.*"))


def names_of_any_length() -> None:
    path = TMP / ("n" * 255)
    write_text(path, "long")
    assert path.read_text(encoding="utf-8") == "long"


def devices_are_written_to() -> None:
    write_text(Path("/dev/null"), "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def only_files_are_read() -> None:
    os.mkfifo(TMP / "pipe")
    expected = "expected a regular file, found a folder, a pipe or a device"
    for path in (TMP / "pipe", "/dev/zero", TMP / "folder"):
        assert refused(lambda path=path: read_text(path), ValueError) == expected
    refused(lambda: read_text(TMP / "nothing"), FileNotFoundError)
    with (TMP / "large").open("wb") as file:
        file.truncate(10**12)
    assert (
        refused(lambda: read_text(TMP / "large"), ValueError)
        == f"expected a file of at most {1 << 28} bytes, found one of {10**12}"
    )
    (TMP / "latin").write_bytes(b"\xff")
    refused(lambda: read_text(TMP / "latin"), ValueError)
    (TMP / "text").write_text("text ☃", encoding="utf-8")
    assert read_text(TMP / "text") == "text ☃" and read_text("/proc/self/status").startswith(
        "Name:"
    )


for test in (
    whole_or_not_at_all,
    modes,
    links_are_not_followed,
    writers_at_once,
    names_of_any_length,
    devices_are_written_to,
    only_files_are_read,
):
    test()
