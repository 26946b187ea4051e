# RUN: rm -rf %t && mkdir -p %t && %torch_python %s %t
# REQUIRES: torch, plain-libdash
"""A sampler looks at one step in n and at no other; ranges have the order's name and certificate;
without either nothing looks on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "lib"))

import torch  # noqa: E402
from fixtures import refused, tensors, write  # noqa: E402
from stub_driver import StubDriver  # noqa: E402

from dash_attn import ArgumentError, DriverError, Kernel  # noqa: E402
from dash_attn.kernel import watching  # noqa: E402
from dash_attn.torch import kernels, sampling  # noqa: E402
from dash_attn.torch.sampling import Sampler, ranges  # noqa: E402

TMP = Path(sys.argv[1])
LABEL = "dash shift sha256:" + "0" * 64
MEMORY = torch.empty(1 << 26, dtype=torch.uint8)
NOW = [0.0]
RECORDED: list[int | None] = []


class Event:
    """The time of a device on which each event is a microsecond behind the one before."""

    def __init__(self, stream: int | None) -> None:
        NOW[0] += 0.001
        self.at = NOW[0]
        RECORDED.append(stream)

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Event) -> float:
        return other.at - self.at


def made() -> list[Kernel]:
    """Those of the package, and those of PyTorch's operators."""
    kernels.allocate, kernels.free = (
        lambda *_: -(-MEMORY.data_ptr() // 256) * 256,
        lambda pointer: None,
    )
    return [
        kind.load(write(TMP / kind.__name__), StubDriver())
        for kind in (Kernel, kernels.TorchKernel)
    ]


def samples(kernel: Kernel) -> None:
    sampler = Sampler(every=3, device=0)
    for step in range(7):
        count = len(RECORDED)
        with sampler.step():
            assert bool(watching.observers) == (step % 3 == 0)
            for _ in range(2 if step else 1):
                kernel.backward(**tensors(), stream=5)
        # Two events for the step, two for each launch; of others none.
        assert len(RECORDED) - count == (0 if step % 3 else 6 if step else 4), (step, RECORDED)
        assert not watching.observers
    assert RECORDED[-6:] == [None, 5, 5, 5, 5, None], RECORDED
    found = sampler.samples()
    assert [one.step for one in found] == [0, 3, 6] and [one.whole for one in found] == [
        3,
        5,
        5,
    ], found
    assert [one.launches for one in found] == [
        [(LABEL, 1.0)],
        *[[(LABEL, 1.0), (LABEL, 1.0)]] * 2,
    ] and found[0].end is None, found
    heat = sampler.heat()
    assert (heat.rows, heat.cells, heat.about) == (
        ("0 shift", "1 shift"),
        ((1.0, 1.0, 1.0), (None, 1.0, 1.0)),
        "launch",
    ), heat
    assert sampler.ranks().cells == ((3.0, 5.0, 5.0),) and "a row is a launch" in heat.as_svg()

    # A step that fails leaves no sampler looking on, and no sample; nor does a launch that fails.
    failing = Sampler(every=1, device=0)

    def fail() -> None:
        with failing.step():
            StubDriver.set(fail="cuLaunchKernelEx:719")
            kernel.backward(**tensors(), stream=5)

    refused(fail, DriverError)
    StubDriver.set(fail=None)
    assert not watching.observers and not failing.samples()

    def twice() -> None:
        with failing.step(), failing.step():
            pass

    assert (
        refused(twice, ArgumentError)
        == "step: expected steps one behind the other, found one inside of another"
    )
    seldom = Sampler(every=1000, device=0)
    with seldom.step():
        pass

    def twice_unseen() -> None:
        with seldom.step(), seldom.step():
            pass

    assert "found one inside of another" in refused(twice_unseen, ArgumentError)
    with failing.step():
        pass
    assert len(failing.samples()) == 1
    sampling.MOST_SAMPLES = 2
    for _ in range(4):
        with failing.step():
            pass
    sampling.MOST_SAMPLES = 4096
    assert [one.step for one in failing.samples()] == [5, 6], failing.samples()


def named(kernel: Kernel) -> None:
    said: list[Any] = []
    with (
        mock.patch.object(torch.cuda.nvtx, "range_push", said.append),
        mock.patch.object(torch.cuda.nvtx, "range_pop", lambda: said.append(None)),
    ):
        kernel.backward(**tensors())
        assert not said
        with ranges():
            kernel.backward(**tensors())
            assert said == [LABEL, None], said
            StubDriver.set(fail="cuLaunchKernelEx:719")
            refused(lambda: kernel.backward(**tensors()), DriverError)
            StubDriver.set(fail=None)
            assert said == [LABEL, None] * 2, said
        kernel.backward(**tensors())
        assert said == [LABEL, None] * 2 and not watching.observers


def refusals() -> None:
    for every in (0, -1, 2.5, True):
        assert (
            refused(lambda every=every: Sampler(every=every), ArgumentError)
            == f"every: expected a whole number of steps above 0, found {every!r}"
        )
    with mock.patch("importlib.util.find_spec", return_value=None):
        assert refused(lambda: Sampler(clocks=True), ArgumentError).startswith(
            "clocks: expected the package nvidia-ml-py"
        )


with (
    mock.patch.object(sampling, "record_event", lambda device, stream=None: Event(stream)),
    mock.patch.object(torch.cuda, "is_current_stream_capturing", return_value=False),
):
    for kernel in made():
        samples(kernel)
        named(kernel)
    refusals()
