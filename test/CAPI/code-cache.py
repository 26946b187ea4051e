# RUN: rm -rf %t && mkdir -p %t
# RUN: env PYTHONPATH=%dash_src/test/python/lib %python %s %t
# REQUIRES: python, plain-libdash
"""What was assembled is kept for later processes, and found again; what is damaged, foreign or not
ours is not loaded."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from first_calls import ASSEMBLED, CUBIN, PTX, PTXAS, files, first_call
from fixtures import write

TMP = Path(sys.argv[1])


def is_kept(manifest: Path) -> None:
    cache = TMP / "cache"
    assert first_call("off", manifest) == ([PTX], [])
    assert first_call(cache, manifest) == (ASSEMBLED, [])
    (kept,) = files(cache)
    whole = kept.read_bytes()
    head, _, code = whole[72:].partition(b"cubin of ")
    assert (
        whole.startswith(b"blake3 ")
        and head.startswith(b"key ")
        and b"\ndash code 3\nptx " in head
        and code
    ), whole
    assert b"\ncapability 90\ndriver 13000" in head, head
    assert b"\nassembler ptxas: a stub Cuda compilation tools, release 13.0, V13.0.88\n" in head, (
        head
    )
    assert cache.stat().st_mode & 0o777 == 0o700 and kept.stat().st_mode & 0o077 == 0
    assert first_call(cache, manifest) == ([CUBIN], [])
    # Another driver, another program: other files.
    assert first_call(cache, manifest, version=12080) == (ASSEMBLED, [])
    other = write(TMP / "other", lambda raw: raw["entries"][3]["parameters"].pop(0))
    assert first_call(cache, other) == (ASSEMBLED, [])
    assert len(files(cache)) == 3 and first_call(cache, manifest) == ([CUBIN], [])
    # A driver that is older than the assembler.
    assert first_call(cache, manifest, fail="cubin:209") == ([CUBIN, PTXAS, CUBIN, PTX], [])


def damage_is_noticed(manifest: Path) -> None:
    cache = TMP / "damaged"
    first_call(cache, manifest)
    (kept,) = files(cache)
    whole = kept.read_bytes()
    others = [path for path in files(TMP / "cache") if path.name != kept.name]
    size = len(whole)
    damages = [
        b"",
        whole[:-1],
        whole + b"x",
        whole[: size // 2],
        whole.replace(b"cubin of", b"cubin or"),
        whole.replace(b"dash code 3", b"dash code 4"),
        *(path.read_bytes() for path in others),
        *(
            whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
            for at in range(0, size, size // 40)
        ),
    ]
    assert len(others) == 2
    for damaged in damages:
        kept.write_bytes(damaged)
        assert first_call(cache, manifest) == (ASSEMBLED, []), damaged[:200]
        assert kept.read_bytes() == whole
    # None is waited for.
    for make in (
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(TMP / "target"),
    ):
        kept.unlink()
        (TMP / "target").write_bytes(whole)
        make(kept)
        assert (
            first_call(cache, manifest) == (ASSEMBLED, [])
            and not kept.is_symlink()
            and kept.read_bytes() == whole
        )


def folders_that_do_not_serve(manifest: Path) -> None:
    """Everything works without, and it is said once for each driver."""
    (TMP / "file").write_text("", encoding="utf-8")
    # So its code is loaded, too.
    other = write(TMP / "other", lambda raw: raw["entries"][1].update(block=[64, 1, 1]))
    hint = (
        "; every process assembles it again, unless the variable DASH_CACHE names another folder,"
        " or is 'off'"
    )
    for folder, why in (
        (TMP / "file", "Not a directory"),
        (TMP / "file/below", "Not a directory"),
        ("/proc/none", ""),
    ):
        found = first_call(folder, manifest, other)
        assert found[0] == ASSEMBLED * 2, found
        (said,) = found[1]
        assert said.startswith(
            f"cannot keep assembled code in '{folder}': {why}"
        ) and said.endswith(hint), said
    if os.geteuid() == 0:  # the owner decides: the owner of a folder may always write to it
        others = TMP / "others"
        shutil.copytree(TMP / "cache", others)
        os.chown(others, 65534, -1)
        why = f"it belongs to user 65534, expected user {os.geteuid()}, which runs this process"
        assert first_call(others, manifest) == (
            ASSEMBLED,
            [f"cannot keep assembled code in '{others}': {why}{hint}"],
        )
        os.chown(others, 0, -1)
        assert first_call(others, manifest) == ([CUBIN], [])
        for kept in files(others):
            os.chown(kept, 65534, -1)
        assert first_call(others, manifest) == (ASSEMBLED, []) and first_call(others, manifest) == (
            [CUBIN],
            [],
        )
    # Read-only, and full: by who may not write, and may not write so much.
    code = (
        "import resource, sys, warnings; from fixtures import *; from dash_attn import Kernel; from"
        " dash_attn.kernel.driver import Driver\nresource.setrlimit(resource.RLIMIT_FSIZE,"
        " (int(sys.argv[2]),) * 2)\nimport os;"
        " os.setuid(int(sys.argv[3]))\nwarnings.simplefilter('always')\nkernel ="
        " Kernel.load(sys.argv[1], Driver(sys.argv[4]))\nkernel.reserve(**dict(zip(SIZES, (2, 4, 4,"
        " 256, 256))))\n"
    )
    # For what the assembler makes, and not for what is said of it.
    room = manifest.with_suffix(".ptx").stat().st_size + 50
    for name, most, user, why in (
        ("read-only", 1 << 30, 65534, "Permission denied"),
        ("full", room, os.geteuid(), "File too large"),
    ):
        folder = TMP / name
        folder.mkdir()
        folder.chmod(0o555 if name == "read-only" else 0o755)
        user = user if os.geteuid() == 0 else os.geteuid()
        os.chown(folder, user, -1)
        done = subprocess.run(
            [sys.executable, "-c", code, manifest, str(most), str(user), str(LIBRARY)],
            capture_output=True,
            text=True,
            env=os.environ | {"DASH_CACHE": str(folder), "DASH_STUB_LOG": "", "TMPDIR": "/tmp"},
            check=False,
        )
        assert (
            done.returncode == 0
            and done.stderr.count(f"cannot keep assembled code in '{folder}': {why}") == 1
        ), done
        assert not list(folder.iterdir())
    # No room for what the assembler reads: the driver assembles, and the process goes on.
    most = manifest.with_suffix(".ptx").stat().st_size - 1
    done = subprocess.run(
        [sys.executable, "-c", code, manifest, str(most), str(os.geteuid()), str(LIBRARY)],
        capture_output=True,
        text=True,
        env=os.environ | {"DASH_CACHE": str(TMP / "unused"), "DASH_STUB_LOG": "", "TMPDIR": "/tmp"},
        check=False,
    )
    assert (
        done.returncode == 0
        and f"cannot hand the PTX to '{os.environ['DASH_PTXAS']}': '/tmp/dash-" in done.stderr
    ), done
    assert (
        ".ptx': File too large; let the variable TMPDIR name another folder; the driver assembles"
        " in its place" in done.stderr
    ), done


def the_users_own(manifest: Path) -> None:
    home = TMP / "home"
    os.environ["HOME"] = str(home)
    for settings, folder in (
        ({}, home / ".cache/dash"),
        ({"XDG_CACHE_HOME": str(TMP / "xdg")}, TMP / "xdg/dash"),
        ({"XDG_CACHE_HOME": "relative"}, home / ".cache/dash"),
    ):
        os.environ.pop("XDG_CACHE_HOME", None)
        os.environ.update(settings)
        shutil.rmtree(folder, ignore_errors=True)
        assert first_call(None, manifest) == (ASSEMBLED, []) and len(files(folder)) == 1
    del os.environ["HOME"], os.environ["XDG_CACHE_HOME"]
    assert first_call(None, manifest) == ([PTX], [])


def processes(manifest: Path) -> None:
    """Eight at once on an empty folder, twice, and twice on files that are being damaged."""
    cache = TMP / "processes"
    code = (
        "import sys; from fixtures import *; from dash_attn import Kernel; from"
        " dash_attn.kernel.driver import Driver\nfor _ in range(20): Kernel.load(sys.argv[1],"
        " Driver(sys.argv[2])).reserve(**dict(zip(SIZES, (2, 4, 4, 256, 256))))\n"
    )
    environment = os.environ | {
        "DASH_CACHE": str(cache),
        "DASH_STUB_LOG": "",
        "PYTHONWARNINGS": "error",
    }
    for round_ in range(4):
        if round_ % 2 == 0:
            shutil.rmtree(cache, ignore_errors=True)
        running = [
            subprocess.Popen([sys.executable, "-c", code, manifest, str(LIBRARY)], env=environment)
            for _ in range(8)
        ]
        while round_ >= 2 and any(process.poll() is None for process in running):
            for path in cache.glob("*.cubin"):
                with path.open("r+b") as file:
                    file.truncate(200)
        assert [process.wait() for process in running] == [0] * 8
        if round_ < 2:
            assert len(files(cache)) == 1 and first_call(cache, manifest) == ([CUBIN], [])


LIBRARY = Path(os.environ["DASH_LIBRARY"]).with_name("libcapi-stub-driver.so")
KERNEL = write(TMP / "kernel")
is_kept(KERNEL)
damage_is_noticed(KERNEL)
folders_that_do_not_serve(KERNEL)
processes(KERNEL)
the_users_own(KERNEL)
