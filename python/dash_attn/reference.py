"""Attention and its gradients in float64, for PyTorch tensors and NumPy arrays alike: what
kernels are measured against.

Shapes: q, o, do [batch, heads, q_rows, head_dim]; k, v [batch, kv_heads, kv_rows, head_dim],
where o, do and v may have another head dim; lse [batch, heads, q_rows], natural logarithms.
heads is a multiple of kv_heads. Masks are aligned at the bottom right, as `Mask` says. A row
that sees nothing has o = 0 and contributes nothing; its LSE may be -inf, as torch.logsumexp has
it, or +inf, as FlashAttention has it.

softcap: scores are softcap * tanh(scale q k^T / softcap), before the mask. sink, [heads]: a
score of each row of a head that has a part in the sum of exponentials, and no value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = [
    "CAUSAL",
    "FULL",
    "Blocks",
    "Mask",
    "Union",
    "backward",
    "forward",
    "relative_error",
    "visible",
]

GRADIENTS = ("dq", "dk", "dv")


class Blocks(NamedTuple):
    """A bitmap over blocks of q rows and kv columns: bits[kv block][q block]."""

    q: int
    kv: int
    bits: tuple[tuple[bool, ...], ...]

    @staticmethod
    def of(seen: Any, q: int, kv: int) -> Blocks:
        """The bitmap of an array [q blocks, kv blocks], or of lists: nonzero where rows see
        columns. q, kv: rows of a block. An array on a device is copied to the host."""
        lines = seen.tolist() if hasattr(seen, "tolist") else seen
        return Blocks(q, kv, tuple(tuple(map(bool, line)) for line in zip(*lines, strict=True)))


class Union(NamedTuple):
    """The first columns, or those of a window of (left, right)."""

    columns: int
    left: int = -1
    right: int = -1


class Mask(NamedTuple):
    """Row i sees column j iff -left <= j - (i + kv_rows - q_rows) <= right, where -1 is no
    bound, its block is visible, and it is one of the first columns of a union or in its window."""

    left: int = -1
    right: int = -1
    blocks: Blocks | None = None
    union: Union | None = None

    @staticmethod
    def parse(text: str) -> Mask:
        """As manifests have it: full, causal, or window = [left, right]; then, or alone, a
        bitmap that is written out, and a union."""
        union = re.fullmatch(
            r"(?:(.*), )?union = #dash\.union<columns = (\d+), window = \[(-?\d+), (-?\d+)\]>", text
        )
        if union is not None:
            return Mask.parse(union[1] or "full")._replace(
                union=Union(*map(int, union.groups()[1:]))
            )
        bitmap = re.fullmatch(
            r"(?:(.*), )?blocks = #dash\.blocks<q = (\d+), kv = (\d+), bits = dense<(.*)> : .*>",
            text,
        )
        if bitmap is not None:
            return Mask.parse(bitmap[1] or "full")._replace(
                blocks=Blocks(
                    int(bitmap[2]), int(bitmap[3]), tuple(map(tuple, json.loads(bitmap[4])))
                )
            )
        if text in ("full", "causal"):
            return Mask(right=0 if text == "causal" else -1)
        window = re.fullmatch(r"window = \[(-?\d+), (-?\d+)\]", text)
        if window is None:
            raise ValueError(f"expected full, causal or window = [left, right], found {text!r}")
        return Mask(int(window[1]), int(window[2]))

    @staticmethod
    def named(name: str) -> Mask:
        """The mask of a `name`."""
        word, *rest = name.split("-")
        bounds = [-1 if bound == "all" else int(bound) for bound in rest]
        if word == "union":
            return Mask(*bounds[3:], union=Union(*bounds[:3]))
        return Mask(*bounds) if bounds else Mask.parse(word)

    @property
    def name(self) -> str:
        """As names of files have it: full, causal, window-512-0, window-200-all; of any bitmap
        blocks-causal; of a union its columns, its window and the band, union-256-all-0-all-all."""
        if self.blocks is not None:
            return f"blocks-{self._replace(blocks=None).name}"
        if self.union is not None:
            return "-".join(
                [
                    "union",
                    *(
                        "all" if bound < 0 else str(bound)
                        for bound in (*self.union, self.left, self.right)
                    ),
                ]
            )
        if self.left < 0 and self.right <= 0:
            return self.text
        return "-".join(
            ["window", *("all" if bound < 0 else str(bound) for bound in (self.left, self.right))]
        )

    @property
    def text(self) -> str:
        """As manifests have it."""
        if self.union is not None:
            columns, left, right = self.union
            return (
                f"{self._replace(union=None).text}, union = #dash.union<columns = {columns}, "
                f"window = [{left}, {right}]>"
            ).removeprefix("full, ")
        if self.blocks is not None:
            q, kv, bits = self.blocks
            return (
                f"{self._replace(blocks=None).text}, blocks = #dash.blocks<q = {q}, kv = {kv}, "
                f"bits = dense<{json.dumps(bits)}> : tensor<{len(bits)}x{len(bits[0])}xi1>>"
            ).removeprefix("full, ")
        if self.left < 0 and self.right <= 0:
            return "full" if self.right < 0 else "causal"
        return f"window = [{self.left}, {self.right}]"

    @property
    def is_band(self) -> bool:
        return self.blocks is None and self.union is None

    def sees(self, rows: Any, columns: Any, table: Any, q_rows: int, kv_rows: int) -> Any:
        """Whether rows [n, 1] see columns [1, m]; `table` is the bitmap as an array."""
        first, end = self.columns(rows, q_rows, kv_rows)
        seen = (first <= columns) & (columns < end)
        if self.union is not None:
            first, end = Mask(*self.union[1:]).columns(rows, q_rows, kv_rows)
            seen = seen & ((columns < self.union.columns) | (first <= columns) & (columns < end))
        return (
            seen
            if self.blocks is None
            else seen & table[columns // self.blocks.kv, rows // self.blocks.q]
        )

    def columns(self, rows: Any, q_rows: int, kv_rows: int) -> tuple[Any, Any]:
        """(the first column that a row sees, that behind its last), of an array of rows; those
        of no column are equal. Its band alone: a bitmap or a union is not asked."""
        place = rows + (kv_rows - q_rows)
        first = (place - self.left if self.left >= 0 else 0 * place).clip(0, kv_rows)
        end = (place + self.right + 1 if self.right >= 0 else 0 * place + kv_rows).clip(0, kv_rows)
        return first, end


FULL, CAUSAL = Mask(), Mask(right=0)


def forward(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float,
    mask: Mask,
    softcap: float | None = None,
    sink: Any = None,
) -> tuple[Any, Any]:
    """(o, lse) in float64; the LSE of rows that see nothing is -inf."""
    xp = _library(q)
    where = {"device": q.device} if hasattr(q, "data_ptr") else {}
    o, lse = (
        xp.zeros(shape, dtype=xp.float64, **where)
        for shape in ((*q.shape[:-1], v.shape[-1]), q.shape[:-1])
    )
    for batch, of_q, of_kv in _groups(q, k):
        scores = _scores(
            xp, _float64(q[batch, of_q]), _float64(k[batch, of_kv]), scale, mask, softcap
        )[0]
        highest = _largest(scores)
        if sink is not None:
            of_sink = _float64(sink[of_q])[:, None] + xp.zeros_like(highest)
            highest = xp.where(highest > of_sink, highest, of_sink)
        highest = xp.where(highest == -xp.inf, xp.zeros_like(highest), highest)
        p = xp.exp(scores - highest[..., None])
        total = p.sum(-1)
        if sink is not None:
            total = total + xp.exp(of_sink - highest)
        seen = total > 0
        total = xp.where(seen, total, xp.ones_like(total))
        o[batch, of_q] = (p / total[..., None]) @ _float64(v[batch, of_kv])
        lse[batch, of_q] = xp.where(seen, highest + xp.log(total), -xp.inf * xp.ones_like(total))
    return o, lse


def backward(
    q: Any,
    k: Any,
    v: Any,
    do: Any,
    o: Any,
    lse: Any,
    *,
    scale: float,
    mask: Mask,
    corrected: bool = True,
    rounded: Callable[[Any], Any] = lambda x: x,
    softcap: float | None = None,
    sink: Any = None,
    delta: Any = None,
) -> dict[str, Any]:
    """dq, dk and dv in float64, from the o and the LSE that are given; with a sink dsink,
    [batch, heads], too.

    P = exp(scale q k^T - lse); dv = P^T do; dS = P (do v^T - rowsum(o do)); dq = scale dS k; dk
    = scale dS^T q. A softcap brings its slope 1 - tanh^2 into dS. dsink = -sum over rows of
    exp(sink - lse) rowsum(o do). corrected: False leaves out rowsum(o do): how large gradients
    would be without it, when they nearly cancel; in dsink it leaves out its sign. delta: in
    place of rowsum(o do), as the LSE lies; then o is not looked at. rounded: applied to P and to
    dS where they become factors of products, as kernels round them to the inputs' type.
    """
    xp = _library(q)
    gradients = {
        "dq": xp.zeros_like(_float64(q)),
        "dk": xp.zeros_like(_float64(k)),
        "dv": xp.zeros_like(_float64(v)),
    }
    if sink is not None:
        gradients["dsink"] = xp.zeros_like(_float64(lse[..., 0]))
    for batch, of_q, of_kv in _groups(q, k):
        queries, keys, values = (
            _float64(x) for x in (q[batch, of_q], k[batch, of_kv], v[batch, of_kv])
        )
        upstream, logs = (_float64(x[batch, of_q]) for x in (do, lse))
        empty = ~xp.isfinite(logs)
        logs = xp.where(empty, xp.zeros_like(logs), logs)
        scores, slope = _scores(xp, queries, keys, scale, mask, softcap)
        p = xp.exp(scores - logs[..., None])
        p = xp.where(empty[..., None], xp.zeros_like(p), p)
        dp = upstream @ values.swapaxes(-1, -2)
        of_rows = (
            (_float64(o[batch, of_q]) * upstream).sum(-1)
            if delta is None
            else _float64(delta[batch, of_q])
        )
        if corrected:
            dp = dp - of_rows[..., None]
        ds = rounded(p * slope * dp)
        if sink is not None:
            weights = xp.exp(_float64(sink[of_q])[:, None] - logs)
            terms = xp.where(
                empty, xp.zeros_like(of_rows), weights * (of_rows if corrected else abs(of_rows))
            )
            gradients["dsink"][batch, of_q] = -terms.sum(-1)
        gradients["dq"][batch, of_q] = scale * (ds @ keys)
        gradients["dk"][batch, of_kv] = scale * (ds.swapaxes(-1, -2) @ queries).sum(0)
        gradients["dv"][batch, of_kv] = (rounded(p).swapaxes(-1, -2) @ upstream).sum(0)
    return gradients


def visible(q_rows: int, kv_rows: int, mask: Mask) -> int:
    """How many (row, column) pairs of one head see each other."""
    import numpy

    table = numpy.array(mask.blocks.bits if mask.blocks else ())
    return int(
        mask.sees(
            numpy.arange(q_rows)[:, None], numpy.arange(kv_rows)[None, :], table, q_rows, kv_rows
        ).sum()
    )


def relative_error(found: Any, expected: Any, uncorrected: Any) -> float:
    """||found - expected|| / max(||expected||, ||uncorrected|| / 1000), Frobenius norms.

    Where gradients cancel (one column: dq is exactly 0) the second keeps the quotient meaningful.
    """
    difference = _norm(_float64(found) - expected)
    size = max(_norm(expected), 1e-3 * _norm(uncorrected))
    return difference / size if size else (0.0 if difference == 0 else float("inf"))


def _groups(q: Any, k: Any) -> Iterator[tuple[int, slice, int]]:
    """(batch, query heads, kv head): the heads of a kv head together, so that scores need memory
    for them alone."""
    group = q.shape[1] // k.shape[1]
    for batch in range(q.shape[0]):
        for kv_head in range(k.shape[1]):
            yield batch, slice(kv_head * group, (kv_head + 1) * group), kv_head


def _scores(
    xp: Any, queries: Any, keys: Any, scale: float, mask: Mask, softcap: float | None
) -> tuple[Any, Any]:
    """([heads, q_rows, kv_rows], -inf where a row does not see a column; the softcap's slope, 1
    without one)."""
    scores, slope = scale * (queries @ keys.swapaxes(-1, -2)), 1.0
    if softcap is not None:
        tanh = xp.tanh(scores / softcap)
        scores, slope = softcap * tanh, 1 - tanh * tanh
    if mask != Mask():
        q_rows, kv_rows = scores.shape[-2:]
        where = {"device": scores.device} if hasattr(queries, "data_ptr") else {}
        row, column = xp.arange(q_rows, **where)[:, None], xp.arange(kv_rows, **where)[None, :]
        table = xp.asarray(mask.blocks.bits if mask.blocks else (), **where)
        scores = xp.where(
            mask.sees(row, column, table, q_rows, kv_rows), scores, -xp.inf * xp.ones_like(scores)
        )
    return scores, slope


def _library(x: Any) -> Any:
    if hasattr(x, "data_ptr"):
        import torch

        return torch
    import numpy

    return numpy


def _float64(x: Any) -> Any:
    return x.double() if hasattr(x, "data_ptr") else x.astype("float64")


def _largest(x: Any) -> Any:
    return x.amax(-1) if hasattr(x, "data_ptr") else x.max(-1)


def _norm(x: Any) -> float:
    return float((_float64(x) ** 2).sum()) ** 0.5
