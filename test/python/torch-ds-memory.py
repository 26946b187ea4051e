# RUN: env DASH_CACHE=off %torch_python %s
# REQUIRES: torch, plain-libdash
"""Memory of dS in PyTorch, beside a driver that does nothing: it is taken out of PyTorch's cache
for one run and given back, heads go in slices where it is too small for all, and where there is
none, dS is computed twice, which the log says once."""

from __future__ import annotations

import logging
import os
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import fixtures  # noqa: E402, F401  (finds dash_attn)
import torch  # noqa: E402
from stub_driver import STUB  # noqa: E402

from dash_attn.kernel import runtime, tasks  # noqa: E402
from dash_attn.kernel.driver import Driver  # noqa: E402
from dash_attn.kernel.tensors import Tensor  # noqa: E402
from dash_attn.torch import kernels, operator, problem, refusal  # noqa: E402

BF16, ROWS, HEADS, HEAD_DIM = torch.bfloat16, 256, 4, 256
BYTES = 8192 * (HEADS * 4 * 6 + 1)  # 4 kv tiles, and rows of 6 q tiles
OF_ONE = 8192 * (4 * 6 + 1)


def as_tensor(value: torch.Tensor, *_: Any) -> Tensor:
    elements = {torch.float32: "f32", torch.bfloat16: "bf16"}
    return Tensor(value.data_ptr(), tuple(value.shape), value.stride(), elements[value.dtype])


DRIVER = Driver(STUB)
CURRENT = DRIVER.on(0)
CURRENT.__enter__()
runtime.as_tensor, runtime.cuda_driver, problem.DEVICE = as_tensor, lambda: DRIVER, "cpu"
refusal.refusal_of_device = lambda index: None
torch._C._cuda_getCurrentRawStream = lambda index: 0
TAKEN: dict[int, torch.Tensor] = {}
SIZES: list[int] = []  # of all that was taken
LEFT = [1 << 40]  # more than that, and there is no memory


def allocate(size: int, *_: Any) -> int:
    if size > LEFT[0]:
        raise torch.OutOfMemoryError("no memory")
    memory = torch.empty(size + 256, dtype=torch.uint8)
    pointer = -(-memory.data_ptr() // 256) * 256
    TAKEN[pointer] = memory
    SIZES.append(size)
    return pointer


kernels.allocate, kernels.free = allocate, TAKEN.__delitem__

LAUNCHED: list[tuple[tuple[int, ...], int]] = []  # addresses, and of how many kv heads
RUN = kernels.TorchLaunch.run_with


def run_with(launch: Any, addresses: Any, scale: float | None) -> None:
    LAUNCHED.append((tuple(addresses), launch._tensors[1].shape[1]))
    RUN(launch, addresses, scale)


kernels.TorchLaunch.run_with = run_with
q, k, v, do, o = (torch.randn(1, HEADS, ROWS, HEAD_DIM).to(BF16) for _ in range(5))
lse = torch.zeros(1, HEADS, ROWS)
LINES: list[str] = []
HANDLER = logging.Handler()
HANDLER.emit = lambda record: LINES.append(record.getMessage())  # type: ignore[method-assign]
logging.getLogger("dash_attn").addHandler(HANDLER)


def launched(most: int | None = None, left: int = 1 << 40) -> list[tuple[tuple[int, ...], int]]:
    """A backward whose programs are prepared anew."""
    kernels.launches.clear()
    return again(most, left)


def again(most: int | None = None, left: int = 1 << 40) -> list[tuple[tuple[int, ...], int]]:
    LAUNCHED.clear(), SIZES.clear()
    LEFT[0] = left
    given = {} if most is None else {tasks.VARIABLE: str(most)}
    with mock.patch.dict(os.environ, given):
        operator.launch(do, q, k, v, o, lse, -1, -1, 0.0625)
    assert not TAKEN, "what is taken is given back"
    return list(LAUNCHED)


def passed() -> None:
    """Both programs have the same dS, behind their own tensors."""
    of_kv, of_q = launched()
    assert len(of_kv[0]) == 9 and len(of_q[0]) == 8 and of_kv[0][-1] == of_q[0][-1]
    assert BYTES in SIZES, (BYTES, SIZES)
    assert again()[0][0][:6] == of_kv[0][:6] and BYTES in SIZES, "in each run anew"


def twice() -> None:
    of_kv, of_q = launched(0)
    assert len(of_kv[0]) == 8 and len(of_q[0]) == 7 and BYTES not in SIZES


def slices() -> None:
    """Heads one behind the other, each with the addresses of its own rows."""
    with mock.patch.object(tasks, "FEWEST_ITEMS", 4):
        for most, counts in ((2 * OF_ONE, (2, 2)), (OF_ONE, (1, 1, 1, 1))):
            found = launched(most)
            assert [heads for _, heads in found] == [one for one in counts for _ in range(2)]
            assert max(size for size in SIZES) <= most
            step = counts[0] * ROWS * HEAD_DIM * 2
            for i, (addresses, _) in enumerate(found[::2]):
                for address, whole in zip(addresses, (q, k, v, do, o)):
                    assert address == whole.data_ptr() + i * step
    assert [heads for _, heads in launched(OF_ONE)] == [HEADS, HEADS], "too small to be faster"
    assert BYTES not in SIZES and OF_ONE not in SIZES


def short_of_memory() -> None:
    """When programs are prepared, and later; afterwards, there may be some again."""
    assert not LINES
    full, stream = torch.OutOfMemoryError("no memory"), SimpleNamespace(cuda_stream=0)
    for begin in (kernels.launches.clear, launched):
        begin()
        kept = dict(kernels.launches)
        with (
            mock.patch.object(torch, "UntypedStorage", side_effect=full) as asked,
            mock.patch.object(torch.cuda, "current_stream", return_value=stream),
        ):
            LEFT[0] = BYTES - 1
            found = operator.launch(do, q, k, v, o, lse, -1, -1, 0.0625)
        assert asked.call_count == (begin == kernels.launches.clear), "asked once in a call"
        assert [one.shape for one in found] == [q.shape] * 3
        assert kernels.launches == kept, "what computes dS twice is not kept"
        assert len(again()[0][0]) == 9
    (line,) = LINES
    assert line == (
        "no memory for dS: it is computed twice, which takes longer and gives the same bits;"
        " DASH_DS_BYTES=BYTES says how much it may take"
    ), line


def short_behind_ds() -> None:
    """There is memory for dS, and then none for a program: it is given back, and dS computed
    twice."""
    launched()
    sizes: list[int] = []

    def beside_ds(size: int, *rest: Any) -> int:
        sizes.append(size)
        if size != BYTES and any(len(one) >= BYTES for one in TAKEN.values()):
            raise torch.OutOfMemoryError("no memory beside dS")
        return allocate(size, *rest)

    stream = SimpleNamespace(cuda_stream=0)
    LEFT[0] = 1 << 40
    with (
        mock.patch.object(kernels, "allocate", beside_ds),
        mock.patch.object(torch.cuda, "current_stream", return_value=stream),
    ):
        operator.launch(do, q, k, v, o, lse, -1, -1, 0.0625)
    assert not TAKEN and sizes.count(BYTES) == 1 and len(sizes) > 2, sizes


def nothing_kept() -> None:
    """What is ready for the next call holds none of this call's tensors."""
    kernels.launches.clear()
    mine = [x.clone() for x in (do, q, k, v, o, lse)]
    seen = [weakref.ref(x) for x in mine]
    operator.launch(*mine, -1, -1, 0.0625)
    assert kernels.launches
    del mine
    assert [one() for one in seen] == [None] * 6


for test in (passed, twice, slices, short_of_memory, short_behind_ds, nothing_kept):
    test()
