#!/usr/bin/env python3
"""compare_gradients.py REPORT.json DIR: bf16 gradients that dash-run wrote to DIR, beside float64.
Fails where they disagree.

For one sequence, causal or full, with q, k, v, do, o, lse and scale in DIR; the tests have the
general comparison.
"""

import json
import sys
from pathlib import Path

import numpy as np

# Norm of the error over the norm: P and dS are rounded to bf16 once, the gradient once more, by at
# most 2^-9 each.
LIMIT = 2.0**-7


def main():
    report, folder = (Path(argument) for argument in sys.argv[1:])
    schedule = json.loads(report.read_text(encoding="utf-8"))["schedules"][0]

    def load(name):
        array = np.load(folder / f"{name}.npy")
        if array.dtype == np.uint16:
            array = (array.astype(np.uint32) << 16).view(np.float32)
        return array[0].astype(np.float64) if array.ndim else float(array)

    q, k, v, do, o, lse, scale = (load(name) for name in ("q", "k", "v", "do", "o", "lse", "scale"))
    group = schedule["heads"] // schedule["kvHeads"]
    k, v = (np.repeat(array, group, axis=0) for array in (k, v))
    scores = scale * q @ k.transpose(0, 2, 1)
    if schedule["mask"]["causal"]:
        scores[
            :,
            ~np.tri(
                scores.shape[1], scores.shape[2], scores.shape[2] - scores.shape[1], dtype=bool
            ),
        ] = -np.inf
    p = np.exp(scores - lse[:, :, None])
    ds = p * (do @ v.transpose(0, 2, 1) - (o * do).sum(-1, keepdims=True))

    def by_kv_head(array):
        return array.reshape(-1, group, *array.shape[1:]).sum(1)

    expected = {
        "dq": scale * ds @ k,
        "dk": by_kv_head(scale * ds.transpose(0, 2, 1) @ q),
        "dv": by_kv_head(p.transpose(0, 2, 1) @ do),
    }
    agree = True
    for name, right in expected.items():
        error = np.linalg.norm(load(name) - right) / np.linalg.norm(right)
        agree &= bool(error <= LIMIT)
        print(
            f"  {name}  relative error {error:.5f}, {'within' if error <= LIMIT else 'EXCEEDS'}"
            f" bf16's {LIMIT:.5f}"
        )
    print("  the gradients match float64" if agree else "  the gradients do NOT match float64")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
