"""Attention and its gradients in float64, for PyTorch tensors and NumPy arrays alike: what kernels are measured against.

Shapes: q, o, do [batch, heads, q_rows, head_dim]; k, v [batch, kv_heads, kv_rows, head_dim]; lse [batch, heads, q_rows], natural
logarithms. heads is a multiple of kv_heads. Causal is aligned at the bottom right: row i sees column j iff
j <= i + (kv_rows - q_rows). A row that sees nothing has o = 0 and contributes nothing; its LSE may be -inf, as torch.logsumexp
has it, or +inf, as FlashAttention has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

GRADIENTS = ("dq", "dk", "dv")


def forward(q: Any, k: Any, v: Any, *, scale: float, causal: bool) -> tuple[Any, Any]:
    """(o, lse) in float64; the LSE of rows that see nothing is -inf."""
    xp = _library(q)
    o, lse = xp.zeros_like(_float64(q)), xp.zeros_like(_float64(q[..., 0]))
    for batch, of_q, of_kv in _groups(q, k):
        scores = _scores(xp, _float64(q[batch, of_q]), _float64(k[batch, of_kv]), scale, causal)
        highest = _largest(scores)
        highest = xp.where(highest == -xp.inf, xp.zeros_like(highest), highest)
        p = xp.exp(scores - highest[..., None])
        total = p.sum(-1)
        seen = total > 0
        total = xp.where(seen, total, xp.ones_like(total))
        o[batch, of_q] = (p / total[..., None]) @ _float64(v[batch, of_kv])
        lse[batch, of_q] = xp.where(seen, highest + xp.log(total), -xp.inf * xp.ones_like(total))
    return o, lse


def backward(q: Any, k: Any, v: Any, do: Any, o: Any, lse: Any, *, scale: float, causal: bool,
             corrected: bool = True, rounded: Callable[[Any], Any] = lambda x: x) -> dict[str, Any]:
    """dq, dk and dv in float64, from the o and the LSE that are given.

    P = exp(scale q k^T - lse); dv = P^T do; dS = P (do v^T - rowsum(o do)); dq = scale dS k; dk = scale dS^T q.
    corrected: False leaves out rowsum(o do): how large gradients would be without it, when they nearly cancel.
    rounded: applied to P and to dS where they become factors of products, as kernels round them to the inputs' type.
    """
    xp = _library(q)
    gradients = {"dq": xp.zeros_like(_float64(q)), "dk": xp.zeros_like(_float64(k)), "dv": xp.zeros_like(_float64(v))}
    for batch, of_q, of_kv in _groups(q, k):
        queries, keys, values = (_float64(x) for x in (q[batch, of_q], k[batch, of_kv], v[batch, of_kv]))
        upstream, output, logs = (_float64(x[batch, of_q]) for x in (do, o, lse))
        empty = ~xp.isfinite(logs)
        logs = xp.where(empty, xp.zeros_like(logs), logs)
        p = xp.exp(_scores(xp, queries, keys, scale, causal) - logs[..., None])
        p = xp.where(empty[..., None], xp.zeros_like(p), p)
        dp = upstream @ values.swapaxes(-1, -2)
        if corrected:
            dp = dp - (output * upstream).sum(-1)[..., None]
        ds = rounded(p * dp)
        gradients["dq"][batch, of_q] = scale * (ds @ keys)
        gradients["dk"][batch, of_kv] = scale * (ds.swapaxes(-1, -2) @ queries).sum(0)
        gradients["dv"][batch, of_kv] = (rounded(p).swapaxes(-1, -2) @ upstream).sum(0)
    return gradients


def visible(q_rows: int, kv_rows: int, causal: bool) -> int:
    """How many (row, column) pairs of one head see each other."""
    if not causal:
        return q_rows * kv_rows
    return sum(min(max(i + kv_rows - q_rows + 1, 0), kv_rows) for i in range(q_rows))


def relative_error(found: Any, expected: Any, uncorrected: Any) -> float:
    """||found - expected|| / max(||expected||, ||uncorrected|| / 1000), Frobenius norms.

    Where gradients cancel (one column: dq is exactly 0) the second keeps the quotient meaningful.
    """
    difference = _norm(_float64(found) - expected)
    size = max(_norm(expected), 1e-3 * _norm(uncorrected))
    return difference / size if size else (0.0 if difference == 0 else float("inf"))


def _groups(q: Any, k: Any) -> Iterator[tuple[int, slice, int]]:
    """(batch, query heads, kv head): the heads of a kv head together, so that scores need memory for them alone."""
    group = q.shape[1] // k.shape[1]
    for batch in range(q.shape[0]):
        for kv_head in range(k.shape[1]):
            yield batch, slice(kv_head * group, (kv_head + 1) * group), kv_head


def _scores(xp: Any, queries: Any, keys: Any, scale: float, causal: bool) -> Any:
    """[heads, q_rows, kv_rows], -inf where a row does not see a column."""
    scores = scale * (queries @ keys.swapaxes(-1, -2))
    if causal:
        q_rows, kv_rows = scores.shape[-2:]
        where = {"device": scores.device} if hasattr(queries, "data_ptr") else {}
        row, column = xp.arange(q_rows, **where)[:, None], xp.arange(kv_rows, **where)[None, :]
        scores = xp.where(column <= row + (kv_rows - q_rows), scores, -xp.inf * xp.ones_like(scores))
    return scores


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
