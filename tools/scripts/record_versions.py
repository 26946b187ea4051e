#!/usr/bin/env python3
"""record_versions.py - the versions that dash was tested with, in python/versions.md.

  tools/scripts/record_versions.py             writes the page
  tools/scripts/record_versions.py --check     refuses a page that says something else

On a GPU it is what test/Device/records say of their machines. Without one it is what
tools/scripts/setup.sh installs for the tests. In the page, the text between <!-- versions --> and
<!-- end versions --> is written.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import house
from measured import RECORDS, replace

PAGE = Path("python/versions.md")
SETUP = Path("tools/scripts/setup.sh")
# A line of the table: its name, and the field of a record, or of its machine, that has it.
OF_RECORDS = {
    "GPU": "gpu",
    "driver": "driver",
    "CUDA of PyTorch": "cuda",
    "cuDNN": "cudnn",
    "PyTorch": "torch",
    "JAX": "jax",
    "transformers": "transformers",
    "Python": "python",
}
PACKAGES = re.compile(r"\b(torch|transformers|jax|jaxlib|kernels|numpy)==([\w.]+)")
LLVM = re.compile(r"^readonly DASH_LLVM=(\d+)$", re.M)


def said(record: dict) -> dict[str, str]:
    """What a record says of versions, by the names of OF_RECORDS."""
    machine = record.get("machine")
    fields = {**record, **machine} if isinstance(machine, dict) else record
    found = {}
    for name, field in OF_RECORDS.items():
        if value := fields.get(field):
            found[name] = spelled(field, value)
    return found


def spelled(field: str, value: object) -> str:
    if field == "cudnn":
        return f"{int(value) // 10000}.{int(value) // 100 % 100}"
    text = str(value).split(",")[0] if field == "driver" else str(value)  # without the power limit
    return re.sub(r"^\d+ x ", "", text) if field == "gpu" else text


def on_gpus(root: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """For each name its versions, each with the date and name of its newest record."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for path in sorted((root / RECORDS).glob("*.json")):
        record = json.loads(house.read(path))
        if isinstance(record, dict) and isinstance(record.get("date"), str):
            for name, version in said(record).items():
                of_name = found.setdefault(name, {})
                of_name[version] = max(
                    of_name.get(version, ("", "")), (record["date"][:10], path.name)
                )
    return found


def without_gpus(root: Path) -> dict[str, str]:
    """The packages of the tests; setup.sh names each once, or for JAX once more."""
    text = house.read(root / SETUP)
    found: dict[str, list[str]] = {}
    for name, version in PACKAGES.findall(text):
        found.setdefault(name, []).append(version)
    names = {
        "torch": "PyTorch",
        "transformers": "transformers",
        "jax": "JAX",
        "jaxlib": "jaxlib",
        "kernels": "kernels (of the hub)",
        "numpy": "NumPy",
    }
    versions = {names[name]: ", ".join(of_name) for name, of_name in found.items()}
    return versions | {"LLVM and MLIR": LLVM.search(text)[1]}


def table(root: Path) -> str:
    lines = ["| on a GPU | version | newest record |", "|---|---|---|"]
    for name, versions in on_gpus(root).items():
        for version, (date, record) in sorted(
            versions.items(), key=lambda one: one[1], reverse=True
        ):
            lines.append(f"| {name} | {version} | [{date}](../{RECORDS / record}) |")
    lines += ["", "| without a GPU, in every change | version |", "|---|---|"]
    lines += [f"| {name} | {version} |" for name, version in without_gpus(root).items()]
    return "\n" + "\n".join(lines) + "\n\n"


def main() -> None:
    arguments = house.parse_arguments(__doc__, check={"action": "store_true"})
    page = arguments.root / PAGE
    text = replace(house.read(page), "versions", table(arguments.root))
    findings = house.Findings("versions")
    if not arguments.check:
        page.write_text(text, encoding="utf-8")
    elif text != house.read(page):
        findings.add(
            PAGE,
            1,
            "expected what the records and setup.sh say, found something else; run:"
            " tools/scripts/record_versions.py",
        )
    findings.finish()


if __name__ == "__main__":
    main()
