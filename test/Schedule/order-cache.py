# RUN: %python %s --dash-plan dash-plan --tmp %t
# REQUIRES: python
"""Orders that are kept on disk: found again, told apart, and planned anew where the folder or a
file in it is of no use."""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

parser = argparse.ArgumentParser()
for name in ("--dash-plan", "--tmp"):
    parser.add_argument(name, required=True)
args = parser.parse_args()
TMP = Path(args.tmp)
shutil.rmtree(TMP, ignore_errors=True)
TMP.mkdir(parents=True)
CACHE = TMP / "cache"
REQUEST = ("--sizes=q:1000,heads:4", "--workers=7")
problems = []


def expect(what, holds, found=""):
    if not holds:
        problems.append(f"{what}; found {found!r}")


def plan(*options, limit=None, output=True, **environment):
    """Facts, words and messages of a plan."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if key not in ("DASH_CACHE", "XDG_CACHE_HOME")
    }
    environment = {key: str(value) for key, value in (environment or {"DASH_CACHE": CACHE}).items()}

    def bound():  # a file system that is full at some size
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = TMP / f"{os.getpid()}.words"
    done = subprocess.run(
        [args.dash_plan, *(options or REQUEST), "--cache", *([f"-o={words}"] if output else [])],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bound if limit is not None else None,
    )
    expect(f"{options} {environment} ends with 0", done.returncode == 0, done.stderr)
    facts = {
        key: value
        for key, value in json.loads(done.stdout).items()
        if key not in ("work", "milliseconds", "least", "most")
    }
    return facts, words.read_bytes() if output else None, done.stderr


def files(folder=CACHE):
    return sorted((folder / "orders").glob("*"))


def state(path):
    return path.stat().st_ino, path.stat().st_mtime_ns


def check_kept():
    facts, words, errors = plan()
    expect("no warning", errors == "", errors)
    expect("one file", len(files()) == 1, files())
    before = state(files()[0])
    expect("the same from the disk", plan() == (facts, words, ""))
    expect("what was found is not written again", state(files()[0]) == before)
    return facts, words


def check_keys():
    others = [
        ("--sizes=q:1001,heads:4", "--workers=7"),
        ("--sizes=q:1000,heads:2", "--workers=7"),
        (REQUEST[0], "--workers=8"),
        (*REQUEST, "--level=batch"),
        (*REQUEST, "--level=machine", "--for-workers=3"),
        (*REQUEST, "--kind=shift"),
        (*REQUEST, "--mask=full"),
        (*REQUEST, "--mask=window:100,0"),
        (*REQUEST, "--head-dim=64"),
        ("--sizes=q:1000,heads:4,batch:2", "--workers=7"),
        ("--sizes=q:1000,heads:4,kv-heads:2", "--workers=7"),
    ]
    for count, options in enumerate(others, 2):
        found = plan(*options)
        expect(f"a file of its own for {options}", len(files()) == count, files())
        expect(f"the same again for {options}", plan(*options) == found)


def check_damage(facts, words):
    """Whatever a file holds, the order is the request's, and the file is right afterwards."""
    shutil.rmtree(CACHE)
    plan()
    path, good = files()[0], files()[0].read_bytes()
    plan("--sizes=q:2000,heads:4", "--workers=7")
    other = next(file for file in files() if file != path).read_bytes()
    body = good.index(b"words\n") + len(b"words\n")
    damaged = {
        "empty": b"",
        "cut": good[:-4],
        "longer": good + b"\0\0\0\0",
        "another's": other,
        "no text": b"\xff" * 100,
        "a byte of the words": good[: body + 41] + bytes([good[body + 41] ^ 1]) + good[body + 42 :],
        "the last byte": good[:-1] + bytes([good[-1] ^ 1]),
        "the hash": b"blake3 0" + good[8:],
        "the key's size": good.replace(b"\nkey 3", b"\nkey 2"),
        "version": good.replace(b"dash order 2", b"dash order 3"),
        "another build": good.replace(b"made by ", b"made by 9"),
    }
    for what, content in damaged.items():
        path.write_bytes(content)
        expect(f"the order in spite of a file with {what} wrong", plan() == (facts, words, ""))
        expect(f"a file with {what} wrong is replaced", path.read_bytes() == good)
    expect(
        "files for the user alone",
        path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700,
    )
    for what, make in (
        ("a pipe", os.mkfifo),
        ("a device", lambda at: at.symlink_to("/dev/zero")),
        ("a link to a right file", lambda at: linked(at, good)),
        ("a file of a terabyte", lambda at: sparse(at, 10**12)),
    ):
        path.unlink()
        make(path)
        expect(f"the order in spite of {what}", plan() == (facts, words, ""))
        expect(
            f"{what} is replaced",
            path.is_file() and not path.is_symlink() and path.read_bytes() == good,
        )
    shutil.rmtree(path.parent)
    path.mkdir(parents=True)
    found = plan()
    expect("the order in spite of a folder in place of its file", found[:2] == (facts, words))
    expect(
        "one warning of it", found[2].count("warning: orders are not kept on disk: ") == 1, found[2]
    )


def linked(path, content):
    target = TMP / "target.order"
    target.write_bytes(content)
    path.symlink_to(target)


def sparse(path, size):
    with path.open("wb") as file:
        file.truncate(size)


def check_owner(facts, words):
    """What another user has written is not read, and nothing is written where another user may take
    it away."""
    other = 65534
    folder = TMP / "owned"
    if os.geteuid() == 0:
        plan(DASH_CACHE=folder)
        (path,) = files(folder)
        good = path.read_bytes()
        path.write_bytes(b"of another user")
        os.chown(path, other, -1)
        expect("the order without another's file", plan(DASH_CACHE=folder) == (facts, words, ""))
        expect("another's file is replaced", path.read_bytes() == good and path.stat().st_uid == 0)
        os.chown(path.parent, other, -1)
    else:
        other, folder = 0, TMP / "root"
        folder.mkdir()
        (folder / "orders").symlink_to("/usr")
    before = sorted((folder / "orders").iterdir())
    found = plan(DASH_CACHE=folder)
    why = f"it belongs to user {other}, expected user {os.geteuid()}, which runs this process"
    expect("the order without another's folder", found[:2] == (facts, words))
    expect(
        "one warning that says whose it is",
        found[2] == f"dash-plan: warning: orders are not kept on disk: '{folder}/orders': {why}\n",
        found[2],
    )
    expect("nothing is written there", sorted((folder / "orders").iterdir()) == before)


def check_trim():
    """What was kept longest goes, and what writers that were killed have left; not what is being
    written, nor what is not ours."""
    folder = TMP / "trimmed" / "orders"
    folder.mkdir(parents=True)
    now = time.time()
    for name, size, age in (
        ("old.order", 1 << 29, 300),
        ("older.order", 1 << 29, 400),
        ("killed.part", 10, 4000),
        ("written.part", 10, 10),
        ("note.txt", 10, 10**6),
    ):
        sparse(folder / name, size)
        os.utime(folder / name, (now - age,) * 2)
    left = {"old.order", "written.part", "note.txt"}
    for rows in range(1, 400):  # one key in 16 begins with a 0
        plan(f"--sizes=q:{rows}", "--workers=1", output=False, DASH_CACHE=folder.parent)
        if any(path.name.startswith("0") and path.suffix == ".order" for path in folder.iterdir()):
            break
        expect(
            "files stay until then",
            {"older.order", "killed.part"} <= {path.name for path in folder.iterdir()},
        )
    found = {path.name for path in folder.iterdir()}
    expect(
        "the oldest order and the part of a killed writer go",
        left <= found and not found & {"older.order", "killed.part"},
        found,
    )
    expect("new orders stay", len(found - left) == rows, (found, rows))


def check_unwritable(facts, words):
    blocked = TMP / "file"
    blocked.write_text("")
    for where in (blocked, "/proc/none"):
        found = plan(*REQUEST, "--repeats=3", DASH_CACHE=where)
        expect(f"the order without the folder {where}", found[:2] == (facts, words))
        expect(
            f"one warning of {where}",
            found[2].count("warning: orders are not kept on disk: ") == 1,
            found[2],
        )
    if os.geteuid() != 0:  # root may write everything
        closed = TMP / "closed"
        closed.mkdir(mode=0o555)
        expect(
            "a warning of a folder that may only be read",
            "Permission denied" in plan(DASH_CACHE=closed)[2],
        )


def check_full(facts):
    full = TMP / "full"
    found = plan(limit=1000, output=False, DASH_CACHE=full)
    expect("the order in spite of a full disk", found[0] == facts)
    expect(
        "one warning of a full disk",
        found[2].count("warning: orders are not kept on disk: ") == 1,
        found[2],
    )
    expect("no file of a full disk", files(full) == [], files(full))


def check_processes(facts, words):
    shared = TMP / "shared"
    sizes = [f"--sizes=q:{rows},heads:4" for rows in (1000, 1064)] * 6
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda size: plan(size, "--workers=7", output=False, DASH_CACHE=shared), sizes)
        )
    expect(
        "the same from all processes",
        all(one[0] == facts and one[2] == "" for one in found[::2]),
        found,
    )
    expect(
        "two files and nothing else",
        len(files(shared)) == 2 and all(file.suffix == ".order" for file in files(shared)),
        files(shared),
    )
    expect("the same from what they left", plan(DASH_CACHE=shared)[:2] == (facts, words))


def check_folders():
    xdg, home = TMP / "xdg", TMP / "home"
    plan(XDG_CACHE_HOME=xdg, HOME=home)
    expect("XDG's folder", len(files(xdg / "dash")) == 1)
    plan(HOME=home)
    expect("the folder at home", len(files(home / ".cache/dash")) == 1)
    plan(DASH_CACHE="off", HOME=TMP / "no-folder")
    expect("no folder where none is to be", not (TMP / "no-folder").exists())


def main():
    facts, words = check_kept()
    check_keys()
    check_damage(facts, words)
    check_owner(facts, words)
    check_trim()
    check_unwritable(facts, words)
    check_full(facts)
    check_processes(facts, words)
    check_folders()
    print("\n".join(problems) or "kept, found and replaced as it should be")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
