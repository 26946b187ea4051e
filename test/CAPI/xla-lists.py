# RUN: mkdir -p %t
# RUN: ln -sf %dash_build/lib/libcapi-stub-driver.so %t/libcuda.so.1
# RUN: env LD_LIBRARY_PATH=%t PYTHONPATH=%dash_src/test/python/lib %python %s
# REQUIRES: python, host-supports-nvptx, plain-libdash
"""libdash's handler for XLA with packed sequences, called by hand. Both offsets are operands.
What is launched is that of Kernel.backward and Kernel.forward which clear rows outside of all
sequences."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

from fixtures import SIZES
from stub_driver import Launch, StubDriver
from xla_frame import EXECUTE, INITIALIZE, INSTANTIATE, Host

from dash_attn import Kernel, Tensor
from dash_attn.kernel.library import Handle, library
from dash_attn.kernel.plan import Plan
from dash_attn.kernel.problem import CAUSAL, Wanted, program_of
from dash_attn.kernel.tensors import contiguous
from dash_attn.kernel.workspace import ALIGNMENT, aligned

HANDLER = library().dashXlaAttentionBackward
HANDLER.restype = ctypes.c_void_p
MEMORY, INVALID = 1 << 50, 3
HEADS, KV_HEADS, Q_ROWS, KV_ROWS, BOUNDS = 4, 2, 1000, 1100, 8
OFFSETS = ("cu_seqlens_q", "cu_seqlens_kv")
SHAPES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("q", "do", "o", "dq"), (Q_ROWS, HEADS, 64)),
    **dict.fromkeys(("k", "v", "dk", "dv"), (KV_ROWS, KV_HEADS, 64)),
    "lse": (HEADS, Q_ROWS),
    "sink": (HEADS,),
    "dsink": (BOUNDS - 1, HEADS),
    **dict.fromkeys(OFFSETS, (BOUNDS,)),
}
TYPES = dict.fromkeys(("lse", "sink", "dsink"), "f32") | dict.fromkeys(OFFSETS, "i32")
TENSORS = {
    name: Tensor((i + 1) << 40, shape, contiguous(shape), TYPES.get(name, "bf16"))
    for i, (name, shape) in enumerate(SHAPES.items())
}
driver = StubDriver()


class Case:
    """A program, and what XLA would hand over for it."""

    def __init__(self, is_forward: bool, has_sink: bool) -> None:
        wanted = Wanted(64, 64, "bf16", CAUSAL, is_list=True, has_sink=has_sink)
        if is_forward:
            wanted = wanted._replace(is_forward=True, level="row")
        program, options, _ = program_of(wanted)
        self.kernel = Kernel.compile(program, options, driver=driver)
        planned = Kernel.compile(program, options)._make_kernel(Handle())
        sizes = (1, HEADS, KV_HEADS, Q_ROWS, KV_ROWS, BOUNDS)
        plan = Plan(planned, 0, dict(zip((*SIZES, "bounds"), sizes)), {}, False)
        size = aligned(plan.workspace_bytes) + aligned(plan.order_bytes) + 2 * ALIGNMENT
        self.names = [one["name"] for one in self.kernel.manifest["tensors"]]
        read, written = (
            [
                one["name"]
                for one in self.kernel.manifest["tensors"]
                if is_read == (one["access"] == "read")
            ]
            for is_read in (True, False)
        )
        buffers = {name: (one.dtype, one.shape, one.pointer) for name, one in TENSORS.items()}
        self.operands = [buffers[name] for name in read]
        self.results = [*(buffers[name] for name in written), ("u8", (size,), MEMORY + 128)]
        self.attributes = {
            "program": program,
            "options": options,
            "layout": "thd",
            "scale": 0.25,
            "certificate": self.kernel.certificate,
        }

    def call(self, stage: int, operands: list[Any] | None = None) -> Any:
        given = self.operands if operands is None else operands
        return Host(stream=7).call(HANDLER, stage, given, self.results, self.attributes)

    def values(self, launch: Launch) -> dict[str, Any]:
        """Its parameters, but for those in memory that is the call's own."""
        (entry,) = (one for one in self.kernel.manifest["entries"] if one["name"] == launch.name)
        return {
            name: value
            for name, value in launch.values(entry).items()
            if not name.startswith("workspace.")
        }


def same_as_kernel(case: Case, is_forward: bool) -> None:
    driver.calls()
    for stage in (INSTANTIATE, INITIALIZE, EXECUTE):
        assert case.call(stage) is None
    ours = driver.launches()
    launch = case.kernel.forward if is_forward else case.kernel.backward
    given = {name: TENSORS[name] for name in case.names}
    launch(**given, scale=0.25, layout="thd", clears_rows=True)
    theirs = driver.launches()[-len(ours) :]
    entries = case.kernel.manifest["entries"]
    assert [one.name for one in ours] == [entry["name"] for entry in entries]
    assert ours[0].name.endswith("_sequences") and ours[-1].name.endswith("_clear")
    for one, other in zip(ours, theirs, strict=True):
        assert (one.name, one.grid) == (other.name, other.grid)
        assert case.values(one) == case.values(other)


def refusals(case: Case) -> None:
    operands, results = case.operands, len(case.results)
    count = len(operands)
    for wrong, said in (
        (
            operands[:-1],
            f"expected {count} operands and {results} results, found {count - 1} and {results}",
        ),
        (
            [*operands[:-1], ("i32", (9,), 20 << 40)],
            "cu_seqlens_kv: expected bounds = 8, found 9 in shape (9,) of [bounds]",
        ),
        (
            [*operands[:-1], ("f32", (8,), 20 << 40)],
            "cu_seqlens_kv: expected elements of i32, found f32",
        ),
    ):
        found = case.call(EXECUTE, wrong)
        assert found == (INVALID, f"dash: {said}"), found
    assert not driver.launches()


for is_forward, has_sink in itertools.product((False, True), (False, True)):
    one = Case(is_forward, has_sink)
    same_as_kernel(one, is_forward)
    refusals(one)
