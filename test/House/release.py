"""The release script says all that is against a release, and how to mend it; a tree with everything
in it may become one."""

# RUN: rm -rf %t && mkdir %t
# RUN: %python %s %dash_src %t
# REQUIRES: python

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

SOURCE, ROOT = map(Path, sys.argv[1:])
GIT = ["git", "-C", str(ROOT), "-c", "user.name=none", "-c", "user.email=none@example.org"]
DIST = ROOT / "build-wheel/dist"
WHEEL = "dash_attn-1.2.3-py3-none-manylinux_2_34_x86_64.whl"
WHY = "kernels add in another order"
CHANGELOG = (
    "# Changes\n\n## 1.2.3, 2026-12-01\n\n**Bits:** `abcdef0` changed them.\n\n## 1.2.2,"
    " 2026-11-01\n"
)
sys.path.insert(0, str(SOURCE / "tools/scripts"))

from release import MOST_BYTES, Release  # noqa: E402


def write(name: str, text: str) -> None:
    path = ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def commit() -> None:
    subprocess.run([*GIT, "add", "-A"], check=True)
    subprocess.run([*GIT, "commit", "-qm", "one"], check=True)


def wheel(
    version: str = "1.2.3",
    names: tuple[str, ...] = (
        "dash_attn/__init__.py",
        "dash_attn/libdash.so",
        "dash_attn/py.typed",
    ),
) -> None:
    DIST.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(DIST / WHEEL, "w") as made:
        for name in names:
            made.writestr(name, "")
        made.writestr(
            "dash_attn-1.2.3.dist-info/METADATA", f"Name: dash-attn\nVersion: {version}\n\n"
        )


def record(failed: int = 0, kernels: tuple[str, ...] = ("one",)) -> None:
    groups = {"golden d64-full": {"passed": 3, **({"failed": failed} if failed else {})}}
    write(
        "test/Device/records/h200-2026-11-30.json",
        json.dumps(
            {"date": "2026-11-30T00:00:00", "groups": groups, "kernels": dict.fromkeys(kernels, {})}
        ),
    )


def refusals(version: str = "1.2.3", *checks: str) -> list[str]:
    found = Release(ROOT, version)
    for check in checks or ("version", "changelog", "golden"):
        getattr(found, f"check_{check}")()
    found.check_packages(DIST)
    return found.refusals


def expect(reason: str, *arguments: str) -> None:
    found = refusals(*arguments)
    assert len(found) == 1 and reason in found[0], (reason, found)


subprocess.run([*GIT, "init", "-q"], check=True)
write(".gitignore", "build-wheel\n")
write("CMakeLists.txt", "project(dash VERSION 1.2.3 LANGUAGES C)\n")
write("CHANGELOG.md", CHANGELOG)
write(
    "test/Device/golden.json",
    json.dumps({"history": [{"commit": "abcdef0123", "why": WHY}], "hashes": {"one": {}}}),
)
record()
wheel()
(DIST / "dash_attn-1.2.3.tar.gz").write_bytes(b"one")
commit()
assert refusals() == [], refusals()

# The version, its tag, and what is not committed.
found = refusals("1.2.4", "version")
assert (
    "CMakeLists.txt: expected project(dash VERSION 1.2.4), found 1.2.3; change it there alone"
    in found[0]
), found
assert (
    "expected dash_attn-1.2.4.tar.gz, found dash_attn-1.2.3-py3-none-manylinux_2_34_x86_64.whl,"
    " dash_attn-1.2.3.tar.gz; run tools/make-wheel" in found[1]
), found
write("CHANGELOG.md", CHANGELOG + "\n")
expect("git: expected everything committed, found 1 changes")
commit()
subprocess.run([*GIT, "tag", "v1.2.3"], check=True)
expect("git: expected no tag v1.2.3 yet, found one; take the next version")
subprocess.run([*GIT, "tag", "-d", "v1.2.3"], check=True, stdout=subprocess.DEVNULL)

# The changelog.
for text, reason in (
    (
        CHANGELOG.replace("1.2.3", "1.2.1"),
        "expected '## 1.2.3, YYYY-MM-DD' as its first version, found 1.2.1; say what changed",
    ),
    ("# Changes\n", "as its first version, found no version"),
    (CHANGELOG.replace("2026-12-01", "soon"), "expected a date behind '## 1.2.3, ', found 'soon'"),
    (
        CHANGELOG.replace("**Bits:**", "Bits"),
        "expected a paragraph that begins with **Bits:** for 1.2.3, found none",
    ),
    (
        CHANGELOG.replace("abcdef0", "abcdef1"),
        f"expected the change of golden hashes of commit abcdef0, found none; its reason is: {WHY}",
    ),
):
    write("CHANGELOG.md", text)
    expect(reason, "1.2.3", "changelog")
write(
    "CHANGELOG.md", CHANGELOG.replace("abcdef0", "them") + "\n`abcdef0`: an older release has it.\n"
)
assert refusals("1.2.3", "changelog") == []

# Golden hashes.
record(failed=2)
expect("h200-2026-11-30.json: expected no failure in 'golden d64-full', found 2", "1.2.3", "golden")
record(kernels=("other",))
expect(
    "h200-2026-11-30.json: expected every kernel of golden.json, found none of one",
    "1.2.3",
    "golden",
)
(ROOT / "test/Device/records/h200-2026-11-30.json").unlink()
expect(
    "test/Device/records: expected a record of check-device with its kernels, found none",
    "1.2.3",
    "golden",
)
record()

# Kernels that did not run: without a bundle, and with one that is none.
for bundle, reason in (
    (None, "--bundle: expected a bundle of tools/make-device-bundle, found none"),
    (ROOT / "test", "expected the kernels of h200-2026-11-30.json, found: "),
):
    one = Release(ROOT, "1.2.3")
    one.check_golden()
    one.check_kernels(bundle, ROOT / "none.so")
    assert len(one.refusals) == 1 and reason in one.refusals[0], one.refusals

# Packages.
wheel(names=("dash_attn/__init__.py", "dash_attn/libdash.so"))
expect("expected dash_attn/py.typed in it, found none", "1.2.3", "golden")
wheel(version="1.2.2")
expect("expected Version: 1.2.3 in its METADATA, found another", "1.2.3", "golden")
(DIST / WHEEL).write_bytes(b"no zip")
expect("expected a wheel of 1.2.3, found: File is not a zip file", "1.2.3", "golden")
wheel()
with (DIST / "dash_attn-1.2.3.tar.gz").open("r+b") as sdist:
    sdist.truncate(MOST_BYTES)  # a hole: it takes no room
expect(
    "expected less than 100000000 bytes, which is PyPI's limit, found 100000000", "1.2.3", "golden"
)

# As a command: its status, and the commands that make the release.
(DIST / "dash_attn-1.2.3.tar.gz").write_bytes(b"one")
write("CHANGELOG.md", CHANGELOG)
commit()
script = [sys.executable, str(SOURCE / "tools/scripts/release.py"), "1.2.3", "--root", str(ROOT)]
done = subprocess.run(script, capture_output=True, text=True, check=False)
assert (done.returncode, done.stderr) == (
    1,
    "1 reasons against 1.2.3\n",
) and done.stdout.startswith("error: --bundle: expected"), done
