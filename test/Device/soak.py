"""The same bits for as long as one likes: problems, kernels, loads and ways to launch drawn from a
seed, each run for some seconds; and random problems whose sums are replayed in chain order.

    check-device BUNDLE --groups soak --soak 160 --seed 7 --record r.json
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from accuracy import load
from cases import case
from chains import sums_follow_chains
from group import Test, demand

from dash_attn.measure.bundle import BundledKernel
from dash_attn.measure.testing import OUTPUTS, make_inputs, poison_workspace, wrong_words

SLICE = 2.0  # seconds of a test
AT_ONCE = 50  # repeats between two looks at what they found, and in a graph
LONG = 8192
SHORT_ROWS, ROWS, LONG_ROWS = (
    (1, 64, 65, 128, 300),
    (1, 64, 65, 128, 300, 1000, 2048, 4097),
    (LONG, 8200, 16384),
)
REPLAYED_ROWS = (1, 64, 65, 128, 129, 200, 300, 513, 700)
MEMORY = ("bhsd", "bshd", "packed", "padded")
# Beside a run; the last is another problem of the same kernel, checked as well.
LOADS = ("alone", "products", "copies", "problem")

Shape = tuple[int, int, int, int, int, str]


def tests(kernels: list[BundledKernel], seconds: float, seed: int) -> list[Test]:
    """By number: each is decided by the seed and its own number. One in four replays chains."""
    plain = {
        (kernel.kind, kernel.element): kernel
        for kernel in kernels
        if not kernel.debug and kernel.is_deterministic
    }
    known = [kernel for kernel in kernels if (kernel.kind, kernel.element) in plain]
    by_build = {
        build: [kernel for kernel in known if kernel.debug == build]
        for build in ("", "delays", "contributions")
    }
    found = []
    for number in range(max(1, round(seconds / SLICE)) if known else 0):
        rng = random.Random(f"{seed} {kernels[0].group} {number}")
        if number % 4 == 3 and by_build["contributions"]:
            kernel = rng.choice(by_build["contributions"])
            name, test = f"replay {number} {kernel.name}", partial(replay, kernel)
        else:
            kernel = rng.choice(
                by_build["delays" if by_build["delays"] and rng.random() < 0.3 else ""]
            )
            load_name, is_graph, shape = rng.choice(LOADS), rng.random() < 0.5, draw_shape(rng)
            name = f"soak {number} {kernel.name} {load_name}{' graph' * is_graph} " + "x".join(
                map(str, shape)
            )
            test = partial(soak, kernel, load_name=load_name, is_graph=is_graph, shape=shape)
        found.append(
            Test(name, kernel.name, partial(test, plain[kernel.kind, kernel.element], rng))
        )
    return found


def draw_shape(rng: random.Random) -> Shape:
    """Half of them short, so that there are many repeats, and a quarter long."""
    rows_of = rng.choice((SHORT_ROWS, SHORT_ROWS, ROWS, LONG_ROWS))
    rows = rng.choice(rows_of)
    kv_rows = rows if rng.random() < 0.6 else rng.choice(rows_of)
    if rows_of is not ROWS:
        heads, batch = rng.choice((1, 2)), 1
    else:
        heads, batch = rng.choice((1, 2, 5)), rng.choice((1, 2, 3))
    return rows, kv_rows, batch, heads * rng.choice((1, 1, 2, 4)), heads, rng.choice(MEMORY)


class Repeated:
    """A problem whose gradients have to have the bits of the plain kernel's first run alone,
    whatever they are beside. All memory behind its outputs is poisoned before each run, and
    compared after it; what differs is gathered on the device."""

    def __init__(
        self, bundled: BundledKernel, plain: BundledKernel, shape: Shape, seed: int
    ) -> None:
        self.problem = case(bundled, shape, seed)
        self.tensors = make_inputs(self.problem)
        self.memory = gather(self.tensors)
        self.memory.fill_(-1)
        load(plain).backward(**self.tensors, scale=self.problem.scale, stream=0)
        torch.cuda.synchronize()
        demand(
            all(self.tensors[name].isfinite().all() for name in OUTPUTS),
            f"{plain.name} left elements unwritten",
        )
        self.expected, self.differing = self.memory.clone(), torch.zeros_like(self.memory)
        self.scratch = torch.empty_like(self.memory)
        self.kernel, self.stream, self.repeats = load(bundled), torch.cuda.Stream(), 0
        handle = self.stream.cuda_stream
        poison_workspace(
            self.kernel, self.problem, stream=handle, byte=(0xFF, 0x7F, 0x00)[seed % 3]
        )
        self.launch = self.kernel.bind(**self.tensors, scale=self.problem.scale, stream=handle)
        self.graph: torch.cuda.CUDAGraph | None = None
        torch.cuda.synchronize()

    def enqueue(self) -> None:
        """That of the current stream, which is its own."""
        self.memory.fill_(-1)
        self.launch.run()
        torch.bitwise_xor(self.memory, self.expected, out=self.scratch)
        torch.bitwise_or(self.differing, self.scratch, out=self.differing)

    def capture(self) -> None:
        """A graph of repeats. Its runs make counters and order anew each time; those that are
        launched find them as they were left."""
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):
            for _ in range(AT_ONCE):
                self.enqueue()

    def run(self) -> None:
        with torch.cuda.stream(self.stream):
            if self.graph:
                self.graph.replay()
            else:
                for _ in range(AT_ONCE):
                    self.enqueue()
        self.repeats += AT_ONCE

    def check(self) -> None:
        self.stream.synchronize()
        words = int(self.differing.count_nonzero())
        demand(
            not words,
            f"{words} words of gradients differ in {self.repeats} repeats",
            repeats=self.repeats,
        )


def gather(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
    """Moves the outputs, with the memory around them, into one block of words; returns that."""
    places, words = {}, 0
    for name in OUTPUTS:
        storage = tensors[name].untyped_storage()
        if storage.data_ptr() not in places:
            places[storage.data_ptr()] = words
            words += -(-storage.nbytes() // 256) * 32
    memory = torch.empty(words, dtype=torch.int64, device=tensors["dq"].device)
    for name in OUTPUTS:
        old = tensors[name]
        of_type = memory.view(old.dtype)
        place = places[old.untyped_storage().data_ptr()] * 8 // old.element_size()
        tensors[name] = of_type.as_strided(old.shape, old.stride(), place + old.storage_offset())
    return memory


def soak(
    bundled: BundledKernel,
    plain: BundledKernel,
    rng: random.Random,
    load_name: str,
    is_graph: bool,
    shape: Shape,
) -> dict[str, Any]:
    end = time.monotonic() + SLICE
    runs = [
        Repeated(bundled, plain, shape, seed) for seed in range(2 if load_name == "problem" else 1)
    ]
    if is_graph:
        for one in runs:
            one.run()  # makes room before the capture
            one.capture()
    work = other_work(load_name, rng)
    while True:
        work()
        for one in runs:
            one.run()
        for one in runs:
            one.check()
        if time.monotonic() > end:
            break
    torch.cuda.synchronize()
    for one in runs:
        left = wrong_words(one.kernel, one.stream.cuda_stream)
        demand(not left, f"a counter is not at its end afterwards: {left}")
    repeats = sum(one.repeats for one in runs)
    return {"repeats": repeats, "long_repeats": repeats if min(shape[:2]) >= LONG else 0}


def other_work(name: str, rng: random.Random) -> Callable[[], None]:
    """Work on another stream, as much of it as there may be: it takes multiprocessors or bandwidth
    away and changes all timing."""
    if name not in ("products", "copies"):
        return lambda: None
    stream, size, done = torch.cuda.Stream(), rng.choice((1024, 2048, 4096)), torch.cuda.Event()
    a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    b = torch.empty_like(a)
    torch.cuda.synchronize()

    def step() -> None:
        if done.query():
            with torch.cuda.stream(stream):
                for _ in range(AT_ONCE * (4096 // size)):
                    torch.matmul(a, a, out=b) if name == "products" else b.copy_(a)
                done.record()

    return step


def replay(bundled: BundledKernel, plain: BundledKernel, rng: random.Random) -> dict[str, Any]:
    """Random problems, each with its contributions kept and added once more in the order of its
    chains."""
    end, replayed, tiles, longest = time.monotonic() + SLICE, 0, 0, 0
    while time.monotonic() < end or not replayed:
        rows = (
            rng.choice(REPLAYED_ROWS) if rng.random() < 0.5 else rng.randint(1, REPLAYED_ROWS[-1])
        )
        kv_rows = rows if rng.random() < 0.3 else rng.randint(1, REPLAYED_ROWS[-1])
        kv_heads = rng.choice((1, 2, 3))
        shape = (
            rows,
            kv_rows,
            rng.choice((1, 1, 2, 3)),
            kv_heads * rng.choice((1, 1, 2, 4)),
            kv_heads,
            rng.choice(MEMORY),
        )
        try:
            found = sums_follow_chains(bundled, plain, shape, seed=rng.randrange(1 << 30))
        except AssertionError as error:
            error.args = (f"{shape}: {error}",)
            raise
        replayed, tiles, longest = (
            replayed + 1,
            tiles + found["tiles"],
            max(longest, found["longest_chain"]),
        )
    return {"replayed": replayed, "tiles": tiles, "longest_chain": longest}
