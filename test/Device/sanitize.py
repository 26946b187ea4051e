#!/usr/bin/env python3
"""sanitize.py MANIFEST ROWS: a small backward or forward without PyTorch, for compute-sanitizer to
look at."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dash_attn import Kernel, Tensor  # noqa: E402
from dash_attn.kernel.orders import SIZES  # noqa: E402
from dash_attn.kernel.problem import Wanted  # noqa: E402
from dash_attn.kernel.tasks import NUMBERS, tiles_of  # noqa: E402
from dash_attn.kernel.tensors import BYTES, contiguous  # noqa: E402


def random_bits(count: int, dtype: str, generator: random.Random) -> bytes:
    """Numbers between -1 and 1, or logarithms of sums near 5."""
    if dtype == "f32":
        return struct.pack(f"<{count}f", *(5 + generator.random() for _ in range(count)))
    if dtype == "f16":
        return struct.pack(f"<{count}e", *(generator.uniform(-1, 1) for _ in range(count)))
    return b"".join(struct.pack("<f", generator.uniform(-1, 1))[2:] for _ in range(count))


def launch(kernel: Kernel, rows: int) -> None:
    """One pass of any kernel, over random tensors."""
    generator, driver = random.Random(0), kernel.driver
    # A list's sequences, whose lengths it is told: empty ones too, and rows that none has.
    bounds = [3, 3, rows // 3, rows // 3, rows - 2]
    sizes = {
        name: size.get(
            "value", {"batch": 1, "heads": 2, "kv_heads": 1, "bounds": len(bounds)}.get(name, rows)
        )
        for name, size in kernel.manifest["sizes"].items()
    }
    sizes["sequences"] = len(bounds) - 1
    tensors = {}
    with driver.on(0):
        for spec in kernel.manifest["tensors"]:
            name, element = spec["name"], spec["element"]
            if name == "ds":
                columns = tensors["q"].shape[3], tensors["v"].shape[3]
                wanted = Wanted(*columns, element, (-1, -1))
                shape = tiles_of(wanted, *(sizes[size] for size in SIZES)), NUMBERS
            else:
                shape = tuple(sizes[item] if item in sizes else int(item) for item in spec["shape"])
            count = shape[0] * contiguous(shape)[0]
            pointer = driver.allocate(count * BYTES[element], name)
            tensors[name] = Tensor(pointer, shape, contiguous(shape), element)
            if spec["access"] == "read":
                driver.write(
                    pointer,
                    (
                        struct.pack(f"<{count}i", *bounds)
                        if element == "i32"
                        else random_bits(count, element, generator)
                    ),
                )
        if kernel.is_forward:
            kernel.forward(**tensors)
        else:
            kernel.backward(**dict.fromkeys(("o", "dq", "dk", "dv")) | tensors)
        driver.synchronize(0)


def main() -> None:
    launch(Kernel.load(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    main()
