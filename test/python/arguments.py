# RUN: %python %s %t
# REQUIRES: python
"""What a kernel demands of its tensors: every refusal and its message; nothing is launched or allocated before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fake_driver import FakeDriver  # noqa: E402
from fixtures import refused, tensors, write  # noqa: E402
from refusals import REFUSED, with_  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.checks import are_disjoint  # noqa: E402

TMP = Path(sys.argv[1])


def refusals() -> None:
    driver = FakeDriver()
    kernel = Kernel.load(write(TMP / "kernel"), driver)
    for given, message in REFUSED:
        found = refused(lambda given=given: kernel.backward(**given), ArgumentError)
        assert found == message, found
    found = refused(lambda: kernel.backward(**tensors(), layout="sbhd"), ArgumentError)
    assert found == "layout: expected one of bhsd, bshd, found 'sbhd'", found
    found = refused(lambda: kernel.backward(**tensors(q=3)), ArgumentError)
    assert found == ("expected a tensor of PyTorch or CuPy, one with __cuda_array_interface__, or dash_attn.Tensor, "
                     "found int"), found
    found = refused(lambda: kernel.backward(**tensors(), stream="main"), ArgumentError)
    assert found == "stream: expected a number or a stream of PyTorch or CuPy, found str", found
    found = refused(lambda: kernel.reserve(batch=1), ArgumentError)
    assert found == "reserve: expected the sizes batch, heads, kv_heads, q_rows, kv_rows, found batch", found
    assert driver.calls == [] and driver.launches == [], driver.calls

    # A second call of known shapes has its addresses checked as well.
    kernel.backward(**tensors())
    driver.launches.clear()
    found = refused(lambda: kernel.backward(**with_("dq", pointer=tensors()["o"].pointer)), ArgumentError)
    assert found == "dq: this output shares memory with o" and not driver.launches, found


def other_refusals() -> None:
    def without_scale(raw: dict[str, Any]) -> None:
        for entry in raw["entries"]:
            entry["parameters"] = [item for item in entry["parameters"] if item["name"] != "scale"]

    kernel = Kernel.load(write(TMP / "unscaled", without_scale), FakeDriver())
    kernel.backward(**tensors())
    kernel.backward(**tensors(), scale=1)
    found = refused(lambda: kernel.backward(**tensors(), scale=0.5), ArgumentError)
    assert found == "scale: 'attention_bwd' was compiled without a scale, found 0.5", found

    kernel = Kernel.load(write(TMP / "table", table=bytes(64)), FakeDriver())
    found = refused(lambda: kernel.backward(**tensors()), ArgumentError)
    assert found == ("'attention_bwd' serves q_rows = 4096, found 256; its order is a table for stated sizes, made for others "
                     "by: dash-opt --dash-to-ptx=..."), found


class OfInterface:
    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = {"version": 3, "data": (1 << 40, False), "strides": None} | interface


def other_libraries() -> None:
    driver = FakeDriver()
    kernel = Kernel.load(write(TMP / "libraries"), driver)
    shape = (2, 4, 256, 128)
    kernel.backward(**tensors(q=OfInterface(shape=shape, typestr="<u2")))
    kernel.backward(**tensors(q=OfInterface(shape=shape, typestr="<u2", strides=(262144, 65536, 256, 2))))
    assert len(driver.launches) == 7
    found = refused(lambda: kernel.backward(**tensors(q=OfInterface(shape=shape, typestr="<f8"))), ArgumentError)
    assert found == "q: expected elements of bf16, f16 or f32, found <f8", found
    odd = OfInterface(shape=shape, typestr="<u2", strides=(262144, 65536, 255, 2))
    found = refused(lambda: kernel.backward(**tensors(q=odd)), ArgumentError)
    assert found == "q: expected strides of whole elements, found (262144, 65536, 255, 2) bytes", found


def interleaved() -> None:
    """Slices of a packed tensor are disjoint though their ranges of addresses overlap; brute force agrees or knows more."""
    def view(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return Tensor(1 << 20 | 2 * offset, shape, strides)

    def touched(tensor: Tensor) -> set[int]:
        addresses = {tensor.pointer}
        for size, stride in zip(tensor.shape, tensor.strides):
            addresses = {address + 2 * i * stride for address in addresses for i in range(size)}
        return addresses

    heads, rows, dim = 3, 4, 8
    packed = (rows * 3 * heads * dim, dim, 3 * heads * dim, 1)  # [batch, rows, 3, heads, dim] as [batch, heads, rows, dim]
    parts = [view(i * heads * dim, (2, heads, rows, dim), packed) for i in range(3)]
    assert all(are_disjoint(a, b) for a in parts for b in parts if a is not b)
    assert not are_disjoint(parts[0], replace(parts[1], pointer=parts[1].pointer - 16))
    grouped = view(heads * dim, (2, 1, rows, dim), (rows * 5 * dim, dim, 5 * dim, 1))
    assert are_disjoint(view(0, (2, heads, rows, dim), (rows * 5 * dim, dim, 5 * dim, 1)), grouped)
    per_head = [view(i * dim, (2, heads, rows, dim), (heads * rows * 3 * dim, rows * 3 * dim, 3 * dim, 1)) for i in range(3)]
    assert all(are_disjoint(a, b) for a in per_head for b in per_head if a is not b)
    claimed = 0
    for offset in range(0, 40):
        for step in (8, 16, 24, 40):
            a, b = view(0, (3, 8), (step, 1)), view(offset, (2, 8), (24, 1))
            disjoint = are_disjoint(a, b)
            claimed += disjoint
            assert not disjoint or not touched(a) & touched(b), (offset, step)
    assert claimed == 34, claimed


refusals()
other_refusals()
other_libraries()
interleaved()
