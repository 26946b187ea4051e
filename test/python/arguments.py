# RUN: %python %s %t
# REQUIRES: python, plain-libdash
"""What a kernel demands of its tensors: every refusal and its message; nothing is launched or
allocated before."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "lib"))

from fixtures import refused, tensors, write  # noqa: E402
from refusals import REFUSED, with_  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, Kernel, Tensor  # noqa: E402
from dash_attn.kernel.tensors import contiguous  # noqa: E402

TMP = Path(sys.argv[1])


def refusals() -> None:
    driver = StubDriver()
    kernel = Kernel.load(write(TMP / "kernel"), driver)
    for given, message in REFUSED:
        found = refused(lambda given=given: kernel.backward(**given), ArgumentError)
        assert found == message, found
    found = refused(lambda: kernel.backward(**tensors(), layout="sbhd"), ArgumentError)
    assert found == "layout: expected one of bhsd, bshd, thd, found 'sbhd'", found
    found = refused(lambda: kernel.backward(**tensors(q=3)), ArgumentError)
    assert (
        found == "expected a tensor of PyTorch or CuPy, one with __cuda_array_interface__, or"
        " dash_attn.Tensor, found int"
    ), found
    found = refused(lambda: kernel.backward(**tensors(), stream="main"), ArgumentError)
    assert found == "stream: expected a number or a stream of PyTorch or CuPy, found str", found
    found = refused(lambda: kernel.reserve(batch=1), ArgumentError)
    assert found == "expected a value for the size 'heads' of 'attention_bwd', found none", found
    assert driver.names() == []

    # A second call of known shapes has its addresses checked as well.
    kernel.backward(**tensors())
    driver.names()
    found = refused(
        lambda: kernel.backward(**with_("dq", pointer=tensors()["o"].pointer)), ArgumentError
    )
    assert found == "dq: this output shares memory with o" and not driver.names(), found


def other_refusals() -> None:
    def without_scale(raw: dict[str, Any]) -> None:
        for entry in raw["entries"]:
            entry["parameters"] = [item for item in entry["parameters"] if item["name"] != "scale"]

    kernel = Kernel.load(write(TMP / "unscaled", without_scale), StubDriver())
    kernel.backward(**tensors())
    kernel.backward(**tensors(), scale=1)
    found = refused(lambda: kernel.backward(**tensors(), scale=0.5), ArgumentError)
    assert found == "scale: 'attention_bwd' was compiled without a scale, found 0.500000", found

    kernel = Kernel.load(write(TMP / "table", table=bytes(64)), StubDriver())
    found = refused(lambda: kernel.backward(**tensors()), ArgumentError)
    assert (
        found
        == "'attention_bwd' serves q_rows = 4096, found 256; its order is a table for stated sizes,"
        " made for others by: dash-opt --dash-to-ptx=..."
    ), found


class OfInterface:
    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "data": (1 << 40, False),
            "strides": None,
        } | interface


def other_libraries() -> None:
    driver = StubDriver()
    kernel = Kernel.load(write(TMP / "libraries"), driver)
    shape = (2, 4, 256, 128)
    kernel.backward(**tensors(q=OfInterface(shape=shape, typestr="<u2")))
    kernel.backward(
        **tensors(q=OfInterface(shape=shape, typestr="<u2", strides=(262144, 65536, 256, 2)))
    )
    assert len(driver.launches()) == 7
    found = refused(
        lambda: kernel.backward(**tensors(q=OfInterface(shape=shape, typestr="<f8"))), ArgumentError
    )
    assert found == "q: expected elements of bf16, f16, f32 or i32, found <f8", found
    odd = OfInterface(shape=shape, typestr="<u2", strides=(262144, 65536, 255, 2))
    found = refused(lambda: kernel.backward(**tensors(q=odd)), ArgumentError)
    assert found == "q: expected strides of whole elements, found (262144, 65536, 255, 2) bytes", (
        found
    )


def interleaved() -> None:
    """Slices of a packed tensor are disjoint though their ranges of addresses overlap; what is let
    through shares no byte."""
    kernel = Kernel.load(write(TMP / "interleaved"), StubDriver())
    sizes = {"batch": 2, "heads": 3, "kv_heads": 3, "q_rows": 4, "kv_rows": 4}
    shape, start = (2, 3, 4, 128), 1 << 20

    def is_disjoint(dq: Tensor, o: Tensor) -> bool:
        try:
            kernel.bind(**tensors(**sizes, dq=dq, o=o))
        except ArgumentError as error:
            assert str(error) == "dq: this output shares memory with o", error
            return False
        return True

    def touched(tensor: Tensor) -> set[int]:
        """Addresses of pieces of 16 bytes."""
        addresses = set(range(tensor.pointer, tensor.pointer + 256, 16))
        for size, stride in zip(tensor.shape[:3], tensor.strides):
            addresses = {address + 2 * i * stride for address in addresses for i in range(size)}
        return addresses

    def view(offset: int, strides: tuple[int, int, int]) -> Tensor:
        return Tensor(start + 2 * offset, shape, (*strides, 1))

    # [batch, rows, 3, heads, dim], [batch, rows, heads, 3, dim] and [batch, heads, 3, rows, dim],
    # as [batch, heads, rows, dim].
    for strides, step in (
        ((4 * 9 * 128, 128, 9 * 128), 3 * 128),
        ((4 * 9 * 128, 3 * 128, 9 * 128), 128),
        ((36 * 128, 12 * 128, 128), 4 * 128),
    ):
        parts = [view(i * step, strides) for i in range(3)]
        assert all(is_disjoint(a, b) for a in parts for b in parts if a is not b), strides
        assert not is_disjoint(parts[0], replace(parts[1], pointer=parts[1].pointer - 16)), strides
    claimed = tried = 0
    plain = Tensor(start, shape, contiguous(shape))
    for a in (plain, view(0, (4 * 9 * 128, 128, 9 * 128)), view(0, (36 * 128, 12 * 128, 128))):
        for row, head in ((128, 512), (136, 544), (384, 128), (1152, 128), (128, 1536), (392, 128)):
            for offset in range(0, 5000, 312):
                b = view(offset, (row * 4 + head * 3, head, row))
                disjoint = is_disjoint(a, b)
                claimed, tried = claimed + disjoint, tried + 1
                assert not disjoint or not touched(a) & touched(b), (a, b)
    assert (claimed, tried) == (42, 306), (claimed, tried)


refusals()
other_refusals()
other_libraries()
interleaved()
