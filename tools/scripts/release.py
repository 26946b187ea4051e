#!/usr/bin/env python3
"""release.py VERSION - checks that this tree and what was built of it may become a release.

  tools/make-wheel --pythons
  tools/make-device-bundle
  tools/scripts/release.py 0.2.0 --bundle build/device-bundle

It changes nothing. It refuses:

- a VERSION that CMakeLists.txt does not have, the one place that has it;
- a tag that exists, and changes that are not committed;
- a CHANGELOG without a dated section of it, or without its line on bits;
- a CHANGELOG that leaves out a change of golden hashes;
- golden hashes of kernels that no full record of device tests has, or that failed there;
- kernels of the bundle that are not those that ran, by PTX and certificates;
- an sdist or a wheel in build-wheel/dist that is missing, too large, of another version, or that
  lacks libdash or types.

Where nothing is refused it prints the commands that make the release.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import house

MOST_BYTES = 100_000_000  # PyPI's limit for a file
TAG = "py3-none-manylinux_2_34_x86_64"
INSIDE = ("dash_attn/__init__.py", "dash_attn/libdash.so", "dash_attn/py.typed")
PROJECT = re.compile(r"^project\(dash VERSION ([\d.]+)", re.M)
HEADING = re.compile(r"^## (\d+\.\d+\.\d+)(?:[ ,]+(.*))?$", re.M)
DATE = re.compile(r"\d{4}-\d\d-\d\d")
RECORDS, GOLDEN = Path("test/Device/records"), Path("test/Device/golden.json")


class Release:
    """The tree at `root`, of which `version` is to be made; says what refuses it."""

    def __init__(self, root: Path, version: str) -> None:
        self.root, self.version = root, version
        self.refusals: list[str] = []

    def refuse(self, where: object, reason: str) -> None:
        self.refusals.append(f"{where}: {reason}")

    def git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *words], capture_output=True, text=True, check=False
        ).stdout.strip()

    def check_version(self) -> None:
        found = PROJECT.search(house.read(self.root / "CMakeLists.txt"))
        if found is None or found[1] != self.version:
            self.refuse(
                "CMakeLists.txt",
                f"expected project(dash VERSION {self.version}), found"
                f" {found[1] if found else 'none'}; change it there alone",
            )
        if self.git("tag", "--list", f"v{self.version}"):
            self.refuse(
                "git", f"expected no tag v{self.version} yet, found one; take the next version"
            )
        if changes := self.git("status", "--porcelain"):
            self.refuse(
                "git",
                f"expected everything committed, found {len(changes.splitlines())} changes; commit"
                " them or put them away",
            )

    def check_changelog(self) -> None:
        """The newest section is that of the version, with a date and a line on bits.

        It names all changes of golden hashes that older sections do not.
        """
        text = house.read(self.root / "CHANGELOG.md")
        headings = list(HEADING.finditer(text))
        if not headings or headings[0][1] != self.version:
            found = headings[0][1] if headings else "no version"
            self.refuse(
                "CHANGELOG.md",
                f"expected '## {self.version}, YYYY-MM-DD' as its first version, found {found}; say"
                " what changed",
            )
            return
        if not DATE.fullmatch(headings[0][2] or ""):
            self.refuse(
                "CHANGELOG.md",
                f"expected a date behind '## {self.version}, ', found '{headings[0][2] or ''}';"
                " write the day of the release",
            )
        end = headings[1].start() if len(headings) > 1 else len(text)
        section, older = text[headings[0].start() : end], text[end:]
        if "**Bits:**" not in section:
            self.refuse(
                "CHANGELOG.md",
                f"expected a paragraph that begins with **Bits:** for {self.version}, found none;"
                " say what changed bits, or that they are the same",
            )
        for change in json.loads(house.read(self.root / GOLDEN))["history"]:
            short = change["commit"][:7]
            if short not in section and short not in older:
                self.refuse(
                    "CHANGELOG.md",
                    f"expected the change of golden hashes of commit {short}, found none; its"
                    f" reason is: {change['why']}",
                )

    def check_golden(self) -> None:
        records = {
            path.name: json.loads(house.read(path))
            for path in sorted((self.root / RECORDS).glob("*.json"))
        }
        full = {
            name: record
            for name, record in records.items()
            if isinstance(record, dict) and {"kernels", "groups"} <= record.keys()
        }
        if not full:
            self.refuse(
                RECORDS,
                "expected a record of check-device with its kernels, found none; run the device"
                " tests (test/README.md)",
            )
            return
        name = self.record = max(full, key=lambda one: full[one]["date"])
        record = full[name]
        of_golden = {
            group: line for group, line in record["groups"].items() if group.split()[0] == "golden"
        }
        if not of_golden:
            self.refuse(
                RECORDS / name,
                "expected the group golden, found none; run check-device with all groups",
            )
        for group, line in of_golden.items():
            if line.get("failed"):
                self.refuse(
                    RECORDS / name,
                    f"expected no failure in '{group}', found {line['failed']}; bits changed: mend"
                    " it, or run record_golden.py with a reason",
                )
        missing = sorted(
            json.loads(house.read(self.root / GOLDEN))["hashes"].keys() - record["kernels"].keys()
        )
        if missing:
            self.refuse(
                RECORDS / name,
                "expected every kernel of golden.json, found none of"
                f" {', '.join(missing[:5])}{', ...' * (len(missing) > 5)}",
            )

    def check_kernels(self, bundle: Path | None, library: Path) -> None:
        if bundle is None or not bundle.exists():
            self.refuse(
                bundle or "--bundle",
                "expected a bundle of tools/make-device-bundle, found none; make one of this tree",
            )
        elif hasattr(self, "record"):
            command = [
                sys.executable,
                str(house.ROOT / "tools/scripts/compare_kernels.py"),
                str(bundle),
                str(self.root / RECORDS / self.record),
                f"--library={library}",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                said = (done.stdout + done.stderr).strip().splitlines()
                self.refuse(
                    bundle,
                    f"expected the kernels of {self.record}, found:"
                    f" {said[-1] if said else 'no answer'}; run the device tests on this tree",
                )

    def check_packages(self, dist: Path) -> None:
        for name in (f"dash_attn-{self.version}.tar.gz", f"dash_attn-{self.version}-{TAG}.whl"):
            path = dist / name
            if not path.is_file():
                found = ", ".join(sorted(one.name for one in dist.glob("*"))) or "nothing"
                self.refuse(dist, f"expected {name}, found {found}; run tools/make-wheel --pythons")
                continue
            if path.stat().st_size >= MOST_BYTES:
                self.refuse(
                    path,
                    f"expected less than {MOST_BYTES} bytes, which is PyPI's limit, found"
                    f" {path.stat().st_size}",
                )
            if name.endswith(".whl"):
                self.check_wheel(path)

    def check_wheel(self, path: Path) -> None:
        try:
            with zipfile.ZipFile(path) as wheel:
                names = set(wheel.namelist())
                about = wheel.read(f"dash_attn-{self.version}.dist-info/METADATA").decode("utf-8")
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            self.refuse(path, f"expected a wheel of {self.version}, found: {error}")
            return
        for missing in sorted(set(INSIDE) - names):
            self.refuse(path, f"expected {missing} in it, found none")
        if f"\nVersion: {self.version}\n" not in about:
            self.refuse(path, f"expected Version: {self.version} in its METADATA, found another")


def main() -> None:
    arguments = house.parse_arguments(
        __doc__.splitlines()[0],
        version={"positional": True},
        bundle={"type": Path, "default": None},
        dist={"type": Path, "default": None},
        library={"type": Path, "default": house.ROOT / "build/lib/libdash.so"},
    )
    release = Release(arguments.root, arguments.version)
    release.check_version()
    release.check_changelog()
    release.check_golden()
    release.check_kernels(arguments.bundle, arguments.library)
    release.check_packages(arguments.dist or arguments.root / "build-wheel/dist")
    for refusal in release.refusals:
        print(f"error: {refusal}")
    if release.refusals:
        sys.exit(f"{len(release.refusals)} reasons against {arguments.version}")
    print(
        f"nothing is against {arguments.version}; now:\n  git tag -a v{arguments.version} -m 'dash"
        f" {arguments.version}'\n  git push origin v{arguments.version}\n  twine upload"
        " build-wheel/dist/*"
    )


if __name__ == "__main__":
    main()
