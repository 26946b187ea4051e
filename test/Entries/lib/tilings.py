"""Tilings for tests of entries, which do not mind whether a main kernel has room for one."""

from __future__ import annotations

import re


def with_tiling(program: str, q: int, kv: int, columns: int) -> str:
    """An example whose op has a tiling: `--dash-tile` follows it, and takes no rows."""

    def split(rows: int) -> str:
        return "2 x 1" if rows == 128 else "1 x 2"

    splits = ", ".join(
        f"{product} = {split(rows)}"
        for product, rows in (("dk", kv), ("dp", kv), ("dq", q), ("dv", kv), ("s", kv))
    )
    tiling = (
        f"#dash.tiling<tiles = <q = {q}, kv = {kv}>, columns = {columns}, structure = alternating,"
        f" splits = {{{splits}}}, hold = [], slots = {{do = 2, dq = 2, ds = 2, k = 1, q = 2, v ="
        " 1}>"
    )
    tiled, count = re.subn(r"scale\(%scale\).*$", rf"\g<0> tiling({tiling})", program, flags=re.M)
    if count != 1:
        raise ValueError(f"expected one 'scale(%scale)' at the end of an op, found {count}")
    return tiled


def without_rows(options: list[str]) -> list[str]:
    """Passes of a request, whose rows the op's tiling says."""
    return ["--dash-tile" if option.startswith("--dash-tile=") else option for option in options]
