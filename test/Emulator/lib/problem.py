"""Random inputs for a kernel, of batches and of lists, and what its gradients are measured against:
float64, and the roundings to 16 bits that every kernel on tensor cores does. The measure is that of
`test/Device/accuracy.py`, but a closer one: exponentials and sums here are more exact than a
GPU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from lanes import bf16, u16, widened

from dash_attn import reference
from dash_attn.reference import Mask

BESIDE_ROUNDING, NOISE = 1.05, 1e-4
GAP = 5  # rows in front of a list and behind it that no sequence has


def rounded(x: np.ndarray, element: str) -> np.ndarray:
    x = x.astype(np.float32)
    return x.astype(np.float16).view(u16) if element == "f16" else bf16(x).astype(u16)


@dataclass(frozen=True)
class Problem:
    """lengths: (q rows, kv rows) of each sequence: one of a batch, all of a list."""

    lengths: tuple[tuple[int, int], ...]
    batch: int = 1
    heads: int = 2
    kv_heads: int = 1

    @staticmethod
    def parse(text: str) -> Problem:
        """As `sizes=` has it: q:200,kv:70+130,heads:2."""
        sizes = dict(part.split(":") for part in text.split(","))
        q, kv = ([int(length) for length in sizes[name].split("+")] for name in ("q", "kv"))
        heads = int(sizes.get("heads", 2))
        return Problem(
            tuple(zip(q, kv)), int(sizes.get("batch", 1)), heads, int(sizes.get("kv-heads", heads))
        )


class Inputs:
    """Tensors as words, and their gradients. Rows that no sequence has are NaN, and so are those of
    sequences that have rows on one side only."""

    def __init__(self, manifest: dict[str, Any], problem: Problem, seed: int):
        program, self.problem = manifest["program"], problem
        self.element, head_dim, self.random = (
            program["element"],
            program["head_dim"],
            np.random.default_rng(seed),
        )
        self.names = [tensor["name"] for tensor in manifest["tensors"]]
        self.outputs = [
            tensor["name"] for tensor in manifest["tensors"] if tensor["access"] == "write"
        ]
        self.gap = GAP if "cu_seqlens_q" in self.names else 0
        rows = [sum(pair[side] for pair in problem.lengths) + 2 * self.gap for side in (0, 1)]
        self.sizes = {
            "batch": problem.batch,
            "heads": problem.heads,
            "kv_heads": problem.kv_heads,
            "q_rows": rows[0],
            "kv_rows": rows[1],
        }
        if self.gap:
            self.sizes["bounds"] = len(problem.lengths) + 1
        self.scale = head_dim**-0.5
        self.options: dict[str, Any] = {
            "scale": self.scale,
            "mask": Mask.parse(program["mask"]),
            "softcap": program.get("softcap"),
        }
        self.tensors: dict[str, np.ndarray] = {}
        head_dim_v = program.get("head_dim_v", head_dim)
        for name, heads, side, columns in (
            ("q", problem.heads, 0, head_dim),
            ("k", problem.kv_heads, 1, head_dim),
            ("v", problem.kv_heads, 1, head_dim_v),
            ("do", problem.heads, 0, head_dim_v),
        ):
            values = self.random.standard_normal((problem.batch, heads, rows[side], columns))
            # So large that a cap is felt.
            self.tensors[name] = rounded(
                values * (program["softcap"] / 2 if name == "q" and "softcap" in program else 1),
                self.element,
            )
        if "sink" in self.names:
            self.tensors["sink"] = self.options["sink"] = self.random.standard_normal(
                problem.heads
            ).astype(np.float32)
        self.pass_forward()
        for side, name in enumerate(("cu_seqlens_q", "cu_seqlens_kv")) if self.gap else ():
            bounds = np.cumsum([self.gap, *(pair[side] for pair in problem.lengths)])
            self.tensors[name] = bounds.astype(np.int32)

    def ranges(self) -> list[tuple[slice, slice]]:
        """The rows of each sequence."""
        q = kv = self.gap
        found = []
        for q_rows, kv_rows in self.problem.lengths:
            found.append((slice(q, q + q_rows), slice(kv, kv + kv_rows)))
            q, kv = q + q_rows, kv + kv_rows
        return found

    def values(self, name: str, rows: slice) -> np.ndarray:
        return widened(self.tensors[name][:, :, rows], self.element).astype(np.float64)

    def pass_forward(self) -> None:
        """o, LSE and delta; the LSE of rows that see nothing is one infinity or the other."""
        q, k, do = self.tensors["q"], self.tensors["k"], self.tensors["do"]
        o, lse, delta = (
            np.full(do.shape, np.nan),
            np.full(q.shape[:3], np.nan),
            np.full(q.shape[:3], np.nan),
        )
        for of_q, of_kv in self.ranges():
            if of_kv.start == of_kv.stop:
                o[:, :, of_q], lse[:, :, of_q] = 0, -np.inf
            elif of_q.start < of_q.stop:
                o[:, :, of_q], lse[:, :, of_q] = reference.forward(
                    self.values("q", of_q),
                    self.values("k", of_kv),
                    self.values("v", of_kv),
                    **self.options,
                )
        self.tensors["o"] = rounded(o, self.element)
        upstream = widened(self.tensors["do"], self.element).astype(np.float64)
        delta = (widened(self.tensors["o"], self.element) * upstream).sum(-1)
        lse = np.where(np.isinf(lse), self.random.choice([-np.inf, np.inf], lse.shape), lse)
        self.tensors["lse"], self.tensors["delta"] = (
            lse.astype(np.float32),
            delta.astype(np.float32),
        )
        kept = np.zeros(q.shape[2], bool), np.zeros(k.shape[2], bool)
        used = np.zeros(q.shape[2], bool), np.zeros(k.shape[2], bool)
        for of_q, of_kv in self.ranges():
            kept[0][of_q] = kept[1][of_kv] = True
            used[0][of_q] = of_kv.start < of_kv.stop
            used[1][of_kv] = of_q.start < of_q.stop
        of_do = kept if "sink" in self.names else used  # a sink's gradient adds over all rows
        for name, of in (
            ("q", used[0]),
            ("k", used[1]),
            ("v", used[1]),
            ("do", of_do[0]),
            ("o", kept[0]),
        ):
            self.tensors[name][:, :, ~of] = 0xFFFF

    def gradients(self, of_q: slice, of_kv: slice, **options: Any) -> dict[str, np.ndarray]:
        given = [
            self.values(name, rows)
            for name, rows in (("q", of_q), ("k", of_kv), ("v", of_kv), ("do", of_q), ("o", of_q))
        ]
        return reference.backward(
            *given, self.tensors["lse"][:, :, of_q].astype(np.float64), **self.options, **options
        )

    def errors(self, found: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
        """(ours, that of rounding) of each gradient, the largest of all sequences. What belongs to
        none must be as it was, what has no partner zero: else the error is infinite."""
        worst = dict.fromkeys(self.outputs, (0.0, 0.0))
        written = {
            name: np.zeros(found[name].shape[2], bool)
            for name in ("dq", "dk", "dv")
            if name in found
        }
        is_list = self.gap > 0 or len(self.problem.lengths) > 1
        for index, (of_q, of_kv) in enumerate(self.ranges()):
            # In a list a row of dsink is a sequence's.
            of_sink = slice(index, index + 1) if is_list else slice(None)
            rows = {"dq": of_q, "dk": of_kv, "dv": of_kv}
            rows = {name: part for name, part in rows.items() if name in found}
            for name, part in rows.items():
                written[name][part] = True
            if of_q.start == of_q.stop or of_kv.start == of_kv.stop:
                parts = [found[name][:, :, part] for name, part in rows.items()] + [
                    found[name][of_sink] for name in found if name == "dsink"
                ]
                if any(part.any() for part in parts):
                    return dict.fromkeys(self.outputs, (np.inf, 0.0))
                continue
            exact, uncorrected = (
                self.gradients(of_q, of_kv),
                self.gradients(of_q, of_kv, corrected=False),
            )
            rounding = self.gradients(
                of_q,
                of_kv,
                rounded=lambda x: widened(rounded(x, self.element), self.element).astype(
                    np.float64
                ),
            )
            for name in self.outputs:
                ours = (
                    found[name][of_sink]
                    if name == "dsink"
                    else widened(found[name][:, :, rows[name]], self.element)
                )
                theirs = (
                    rounding[name]
                    if name == "dsink"
                    else widened(rounded(rounding[name], self.element), self.element)
                )
                pair = [error_of(x, exact[name], uncorrected[name]) for x in (ours, theirs)]
                worst[name] = tuple(map(max, worst[name], pair))
        if any((found[name][:, :, ~rows] != 0xFFFF).any() for name, rows in written.items()):
            return dict.fromkeys(self.outputs, (np.inf, 0.0))
        return worst


def error_of(found: np.ndarray, exact: np.ndarray, uncorrected: np.ndarray) -> float:
    return (
        reference.relative_error(found.astype(np.float64), exact, uncorrected)
        if np.isfinite(found).all()
        else np.inf
    )


def is_right(errors: dict[str, tuple[float, float]]) -> bool:
    return all(ours <= max(BESIDE_ROUNDING * theirs, NOISE) for ours, theirs in errors.values())
