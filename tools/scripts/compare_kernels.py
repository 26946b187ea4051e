#!/usr/bin/env python3
"""compare_kernels.py BUNDLE RECORD: which kernels of a bundle are, byte for byte of their PTX,
those that ran on a GPU, in the same orders.

BUNDLE is a folder or an archive of tools/make-device-bundle, RECORD a file that Device/check-device
wrote there. So a change that means to leave kernels as they are is shown to do so without a GPU,
and what the record says is true of them. The status is 1 if a kernel is another one, or if one side
lacks it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import house

sys.path.insert(0, str(house.ROOT / "python"))
from dash_attn import LibraryError, ManifestError  # noqa: E402
from dash_attn.measure.bundle import Bundle  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument(
        "--library", type=Path, default=house.ROOT / "build/lib/libdash.so", help="reads manifests"
    )
    arguments = parser.parse_args()
    os.environ["DASH_LIBRARY"] = str(arguments.library)
    try:
        bundle = Bundle.open(arguments.bundle)
    except (LibraryError, ManifestError) as error:
        sys.exit(f"error: {error}")
    try:
        record = json.loads(arguments.record.read_text(encoding="utf-8"))
        ran = {
            name: (kernel["ptx"], kernel["certificate"])
            for name, kernel in record["kernels"].items()
        }
        commits = ", ".join(record.get("commits", [record.get("commit")]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        sys.exit(
            "error: expected a record of check-device that names the PTX which ran, in"
            f" {arguments.record}, found: {error!r}"
        )
    made = bundle.ptx
    orders = {kernel.name: kernel.manifest["certificate"] for kernel in bundle.all}
    differing = 0
    for name in sorted(made.keys() | ran.keys()):
        what = (
            "not in the record"
            if name not in ran
            else (
                "not in the bundle"
                if name not in made
                else (
                    "other PTX"
                    if made[name] != ran[name][0]
                    else "another order"
                    if ran[name][1] not in (None, orders[name])
                    else ""
                )
            )
        )
        if what:
            differing += 1
            print(f"{name}: {what}")
    print(
        f"of {len(ran)} kernels that ran, of commit {commits}, and {len(made)} in the bundle"
        f" {differing} differ"
    )
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
