#!/usr/bin/env python3
"""Prints what a manifest says of its kernels: list_entries.py MANIFEST.json..."""

import json
import sys


def lines_of(manifest):
    program = manifest["program"]
    tiles = program["tiles"]
    yield (
        f"{manifest['name']}, {program['mask']}, {program['element']}, head dim"
        f" {program['head_dim']}, {program['kind']}, tiles {tiles['q']} x {tiles['kv']},"
        f" {program['workers']} workers, at least {program['min_workers']} resident"
    )
    yield f"  {'entry':<24} {'launched':<13} {'grid':<22} {'threads':>7} {'shared':>7}  parameters"
    for entry in manifest["entries"]:
        grid = " x ".join(size for size in entry["grid"] if size != "1") or "1"
        threads = entry["block"][0] * entry["block"][1] * entry["block"][2]
        more = ", cooperative" if entry["cooperative"] else ""
        yield (
            f"  {entry['name']:<24} {entry['when']:<13} {grid:<22} {threads:>7}"
            f" {entry['shared_bytes']:>7}  {len(entry['parameters'])}{more}"
        )
    yield f"  {'workspace':<24} {'at first':<13} bytes"
    for region in manifest["workspace"]:
        yield f"  {region['name']:<24} {region['initial']:<13} {region['bytes']}"


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: list_entries.py MANIFEST.json...")
    for path in sys.argv[1:]:
        try:
            with open(path, encoding="utf-8") as file:
                lines = list(lines_of(json.load(file)))
        except (OSError, ValueError, KeyError) as error:
            sys.exit(f"error: expected a manifest of dash-emit-ptx in {path}, found: {error!r}")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
