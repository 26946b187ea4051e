"""Problems of forwards for the emulator, of batches and of lists, and runs of their kernels. A row
of a head has the same inputs in every problem of a seed, whatever else there is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lanes import widened
from launch import Kernel
from problem import GAP, rounded

from dash_attn import reference
from dash_attn.reference import Mask

# What rounding P and O to bf16 leaves, of the largest O; and f32, of the largest LSE.
MOST_ERROR, MOST_LSE_ERROR = 6e-3, 2e-6
MOST_ROWS = 512
NAN = 0xFFFF  # of 16 bits, in rows that no sequence has
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """lengths: (q rows, kv rows) of each sequence, for a list; q and kv are those of a batch."""

    mask: str = "causal"
    q: int = 150
    kv: int = 150
    batch: int = 1
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    head_dim_v: int = 64
    element: str = "bf16"
    softcap: float | None = None
    has_sink: bool = False
    cut: int | None = None
    fold: int | None = None
    options: str = "table=true"
    workers: int = 3
    seed: int = 0
    lengths: tuple[tuple[int, int], ...] = ()
    is_stated: bool = False  # lengths, in the program and in a table
    is_unrounded: bool = False

    @property
    def gap(self) -> int:
        """Rows in front of a list and behind it."""
        return 0 if self.is_stated or not self.lengths else GAP

    def rows(self) -> list[tuple[slice, slice]]:
        """The rows of each sequence of a list, or of a batch."""
        q = kv = self.gap
        found = []
        for q_rows, kv_rows in self.lengths or ((self.q, self.kv),):
            found.append((slice(q, q + q_rows), slice(kv, kv + kv_rows)))
            q, kv = q + q_rows, kv + kv_rows
        return found

    def sizes(self) -> dict[str, int]:
        q, kv = (part.stop + self.gap for part in self.rows()[-1])
        bounds = {"bounds": len(self.lengths) + 1} if self.gap else {}
        return {
            "batch": self.batch,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "q_rows": q,
            "kv_rows": kv,
            **bounds,
        }

    def stated(self) -> str:
        """What the order is made for; nothing for lengths that come with a launch."""
        if self.gap:
            return ""
        q, kv = (
            "+".join(str(pair[side]) for pair in self.lengths or ((self.q, self.kv),))
            for side in (0, 1)
        )
        return f"sizes=q:{q},kv:{kv},batch:{self.batch},heads:{self.heads},kv-heads:{self.kv_heads}"

    def text(self) -> str:
        pairs = ", ".join(str(list(pair)) for pair in self.lengths) if self.is_stated else "?"
        clauses = f" sequences(<{pairs}>)" if self.lengths else ""
        clauses += " sink(%sink : memref<?xf32>)" if self.has_sink else ""
        clauses += f" softcap({self.softcap})" if self.softcap else ""
        sink = ", %sink: memref<?xf32>" if self.has_sink else ""
        if self.is_unrounded:
            clauses += " unrounded(%unrounded : !u)"
            sink += ", %unrounded: !u"
        clauses += f" cut({self.cut})" if self.cut else ""
        clauses += f" fold({self.fold})" if self.fold else ""
        return f"""
!q = memref<?x?x?x{self.head_dim}x{self.element}, strided<[?, ?, ?, 1], offset: ?>>
!v = memref<?x?x?x{self.head_dim_v}x{self.element}, strided<[?, ?, ?, 1], offset: ?>>
!u = memref<?x?x?x{self.head_dim_v}xf32, strided<[?, ?, ?, 1], offset: ?>>
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_fwd(%q: !q, %k: !q, %v: !v, %o: !v, %lse: !r, %scale: f32{sink}) {{
  dash.attention_fwd ins(%q, %k, %v : !q, !q, !v) outs(%o, %lse : !v, !r)
      mask(<{self.mask}>) level(row) scale(%scale){clauses}
  return
}}
"""

    def inputs(self) -> Arrays:
        """A list's are those of a batch's entries. NaN is between them, and in those that have rows
        on one side only."""
        made: Arrays = {}
        sizes = self.sizes()
        for number, (name, heads, side, columns) in enumerate(
            (
                ("q", self.heads, 0, self.head_dim),
                ("k", self.kv_heads, 1, self.head_dim),
                ("v", self.kv_heads, 1, self.head_dim_v),
            )
        ):
            rows = sizes["kv_rows" if side else "q_rows"]
            made[name] = np.full((self.batch, heads, rows, columns), NAN, np.uint16)
            parts = self.rows() if self.lengths else self.rows() * self.batch
            for entry, pair in enumerate(parts):
                part, other = pair[side], pair[1 - side]
                if other.start == other.stop:
                    continue
                for head in range(heads):
                    of = np.random.default_rng([self.seed, number, entry, head])
                    values = of.standard_normal((MOST_ROWS, columns))[: part.stop - part.start]
                    if name == "q" and self.softcap:
                        values = values * (self.softcap / 2)
                    to = made[name][0 if self.lengths else entry, head, part]
                    to[...] = rounded(values, self.element)
        if self.has_sink:
            made["sink"] = np.random.default_rng(self.seed).standard_normal(self.heads)
            made["sink"] = made["sink"].astype(np.float32)
        for side, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv")) if self.gap else ():
            ends = [pair[side].stop for pair in self.rows()]
            made[name] = np.array([self.gap, *ends], np.int32)
        return made


def compiled(case: Case, folder: Path) -> Kernel:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fwd.mlir").write_text(case.text(), encoding="utf-8")
    options = f"workers={case.workers} {case.stated()} {case.options} output={folder}/fwd"
    subprocess.run(
        ["dash-opt", folder / "fwd.mlir", f"--dash-to-ptx={options}", "-o", "/dev/null"],
        check=True,
    )
    return Kernel(folder / "fwd.json")


def run(
    case: Case,
    folder: Path,
    inputs: Arrays | None = None,
    scale: float | None = None,
    memory: str = "bhsd",
) -> Arrays:
    given = case.inputs() if inputs is None else inputs
    scale = case.head_dim**-0.5 if scale is None else scale
    return compiled(case, folder).run(given, case.sizes(), scale, case.seed, memory)


def demand(is_so: bool, what: str) -> None:
    if not is_so:
        sys.exit(f"wrong: {what}")


def exact(case: Case, given: Arrays, of_q: slice, of_kv: slice) -> tuple[np.ndarray, np.ndarray]:
    """O and the LSE of some rows, in float64."""
    options: dict[str, Any] = {
        "scale": case.head_dim**-0.5,
        "mask": Mask.parse(case.mask),
        "softcap": case.softcap,
        "sink": given.get("sink"),
    }
    q, k, v = (
        widened(given[name][:, :, rows], case.element).astype(np.float64)
        for name, rows in (("q", of_q), ("k", of_kv), ("v", of_kv))
    )
    return reference.forward(q, k, v, **options)


def check_errors(case: Case, found: Arrays, given: Arrays) -> None:
    """Whether each sequence is near float64."""
    for of_q, of_kv in case.rows():
        if of_q.start == of_q.stop or of_kv.start == of_kv.stop:
            continue
        o, lse = exact(case, given, of_q, of_kv)
        error = np.abs(widened(found["o"][:, :, of_q], case.element) - o).max() / np.abs(o).max()
        mine = found["lse"][:, :, of_q]
        isnt = mine != lse  # infinities are the same
        lse_error = np.abs(mine[isnt] - lse[isnt]).max(initial=0)
        largest = max(1, np.abs(lse[np.isfinite(lse)]).max())
        demand(
            bool(error < MOST_ERROR and lse_error < MOST_LSE_ERROR * largest),
            f"{case}, rows {of_q}: error of o {error:.1e}, of the LSE {lse_error:.1e}",
        )


def are_equal(one: Arrays, other: Arrays, rows: slice = slice(None)) -> bool:
    """Whether `one` is what `other` has in these rows."""
    pairs = (
        (one["o"], other["o"][:, :, rows]),
        (one["lse"].view(np.uint32), other["lse"][:, :, rows].view(np.uint32)),
    )
    return all(np.array_equal(mine, theirs) for mine, theirs in pairs)
