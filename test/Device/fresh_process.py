#!/usr/bin/env python3
"""The first backward pass of a process, by each front end: with attention as the first that its
thread asks of the device, and as the last, with nothing assembled before, and with all of it kept.
Four processes a front end, whose gradients have the same bits.

One call is made in each: fresh_process.py FRONT-END first|last MANIFEST
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "python")]

DEVICE = "cuda"
SECONDS = 110  # of a process; check-device waits longer than that for two, one after the other
AT_ONCE = max(1, min(8, (os.cpu_count() or 2) // 2))  # front ends, with two processes each
MOST_ERROR = 2e-2  # of 16-bit gradients beside float64, as a part of their norm
WITHOUT = "there is no "  # what a process prints that cannot run here begins so
Before = Callable[[], None]
Given = tuple[Any, ...]  # gradients, and what they are beside, or None


# ---- In a process of its own: each returns gradients, and exact ones or None ---------------------


def tensors(count: int, *shape: int) -> list[Any]:
    """On the device, by the main thread. PyTorch's cache has free blocks behind them, so that
    nothing asks the driver for memory."""
    import torch

    generator = torch.Generator(device=DEVICE).manual_seed(1)
    found = [
        torch.randn(shape, device=DEVICE, generator=generator).bfloat16() for _ in range(count)
    ]
    free = [
        torch.empty(size, dtype=torch.uint8, device=DEVICE) for size in (1 << 27, *(1 << 19,) * 8)
    ]
    del free
    return found


def exact(q: Any, k: Any, v: Any, do: Any, sink: Any = None) -> list[Any]:
    """By PyTorch's autograd in float64, causal; [batch, heads, rows, head_dim]."""
    import torch

    leaves = [
        x.detach().double().requires_grad_() for x in (q, k, v, *(() if sink is None else (sink,)))
    ]
    scores = leaves[0] @ leaves[1].mT * q.shape[3] ** -0.5
    scores = scores.masked_fill(
        torch.ones(q.shape[2], k.shape[2], device=q.device).triu(1).bool(), -torch.inf
    )
    if sink is not None:
        scores = torch.cat(
            [scores, leaves[3][None, :, None, None].expand(*scores.shape[:3], 1)], -1
        )
    o = scores.softmax(-1)[..., : k.shape[2]] @ leaves[2]
    return list(torch.autograd.grad(o, leaves, do.double()))


def by_attention(
    before: Before, head_dim: int, is_compiled: bool = False, has_sink: bool = False
) -> Given:
    import torch

    from dash_attn import attention

    q, k, v, do = tensors(4, 2, 4, 128, head_dim)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    options = {"causal": True}
    if has_sink:
        leaves.append(torch.linspace(-1, 1, 4, device=DEVICE).requires_grad_())
        options["sink"] = leaves[3]
    o = (torch.compile(attention, fullgraph=True) if is_compiled else attention)(
        *leaves[:3], **options
    )
    before()
    return torch.autograd.grad(o, leaves, do), lambda: exact(q, k, v, do, *leaves[3:])


def packed(before: Before, has_sink: bool = False) -> Given:
    import torch

    from dash_attn import attention

    q, k, v, do = tensors(4, 300, 4, 64)
    leaves, bounds = [x.requires_grad_() for x in (q, k, v)], (0, 100, 300)
    options: dict[str, Any] = {
        "causal": True,
        "cu_seqlens_q": torch.tensor(bounds, dtype=torch.int32, device=DEVICE),
    }
    if has_sink:
        leaves.append(torch.linspace(-1, 1, 4, device=DEVICE).requires_grad_())
        options["sink"] = leaves[3]
    o = attention(*leaves[:3], **options)
    before()
    found = torch.autograd.grad(o, leaves, do)

    def beside() -> list[Any]:
        of_each = [
            exact(*(x[begin:end].transpose(0, 1)[None] for x in (q, k, v, do)), *leaves[3:])
            for begin, end in zip(bounds, bounds[1:])
        ]
        whole = [
            torch.cat([one[0].transpose(0, 1) for one in each]) for each in list(zip(*of_each))[:3]
        ]
        return [*whole, *(sum(each) for each in list(zip(*of_each))[3:])]

    return found, beside


def enabled(before: Before) -> Given:
    import torch
    import torch.nn.functional as F

    import dash_attn

    q, k, v, do = tensors(4, 2, 4, 128, 64)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    with dash_attn.enable() as dropin:
        o = F.scaled_dot_product_attention(*leaves, is_causal=True)
        before()
        found = torch.autograd.grad(o, leaves, do)
        demanded(
            sum(dropin.served.values()) == 2,
            f"expected one served call, both ways, found {dropin.served}, left {dropin.left}",
        )
    return found, lambda: exact(q, k, v, do)


def of_transformers(before: Before) -> Given:
    """The function that models call."""
    import torch

    try:
        from dash_attn.transformers import attend, mask
    except ImportError as error:
        raise SystemExit(f"{WITHOUT}transformers: {error}") from None
    q, k, v, do = tensors(4, 2, 4, 128, 64)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    o, _ = attend(
        torch.nn.Identity(),
        *leaves,
        mask(batch_size=2, q_length=128, kv_length=128),
        scaling=64**-0.5,
        is_causal=True,
    )
    before()
    return torch.autograd.grad(o, leaves, do.transpose(1, 2).contiguous()), lambda: exact(
        q, k, v, do
    )


def by_kernel(before: Before, manifest: str, is_bound: bool = False) -> Given:
    """In a thread of Python's; `before` is called there."""
    from dash_attn import Kernel
    from dash_attn.reference import CAUSAL
    from dash_attn.measure.testing import OUTPUTS, Case, make_inputs

    kernel = Kernel.load(manifest)
    case = Case(
        kernel.manifest["program"]["head_dim"],
        CAUSAL,
        512,
        512,
        1,
        4,
        4,
        element=kernel.manifest["program"]["element"],
    )
    given, failures = make_inputs(case), []
    run = (
        kernel.bind(**given, scale=case.scale).run
        if is_bound
        else functools.partial(kernel.backward, **given, scale=case.scale)
    )

    def body() -> None:
        try:
            before()
            run()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return [given[name] for name in OUTPUTS], lambda: exact(
        *(given[name] for name in ("q", "k", "v", "do"))
    )


def alone(before: Before, manifest: str) -> Given:
    """Without PyTorch, by a thread that has a context while it makes its tensors only."""
    from sanitize import random_bits

    from dash_attn import Kernel, Tensor
    from dash_attn.kernel.tensors import BYTES, contiguous

    kernel, generator, given = Kernel.load(manifest), random.Random(1), {}
    sizes = {"batch": 1, "heads": 2, "kv_heads": 2, "q_rows": 200, "kv_rows": 200}
    with kernel.driver.on(0):
        for spec in kernel.manifest["tensors"]:
            shape = tuple(sizes[item] if item in sizes else int(item) for item in spec["shape"])
            count = shape[0] * contiguous(shape)[0]
            tensor = Tensor(
                kernel.driver.allocate(count * BYTES[spec["element"]], spec["name"]),
                shape,
                contiguous(shape),
                spec["element"],
            )
            kernel.driver.write(tensor.pointer, random_bits(count, tensor.dtype, generator))
            given[spec["name"]] = tensor
    before()
    kernel.backward(**given)
    with kernel.driver.on(0):
        kernel.driver.synchronize(0)
        written = [given[name] for name in ("dq", "dk", "dv")]
        return [
            kernel.driver.read(x.pointer, x.shape[0] * x.strides[0] * BYTES[x.dtype])
            for x in written
        ], None


def of_jax(before: Before) -> Given:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise SystemExit(f"{WITHOUT}JAX: {error}") from None
    import dash_attn.jax

    q, k, v, do = (
        jax.random.normal(key, (2, 4, 128, 64)).astype(jnp.bfloat16)
        for key in jax.random.split(jax.random.key(1), 4)
    )
    _, backward = jax.vjp(lambda *given: dash_attn.jax.attention(*given, causal=True), q, k, v)
    before()
    found = backward(do)
    demanded(
        all(bool(jnp.isfinite(x).all()) and bool((x != 0).any()) for x in found),
        "expected finite gradients that are not 0",
    )
    return [jax.device_get(x).tobytes() for x in found], None


def on_autograds_thread() -> None:
    import torch

    x = torch.ones(64, 64, device=DEVICE, requires_grad=True)
    (x @ x).sum().backward()


def on_this_thread() -> None:
    import torch

    torch.ones(64, device=DEVICE).sum().item()


def on_the_device() -> None:
    from dash_attn.kernel.driver import cuda_driver

    with cuda_driver().on(0):
        cuda_driver().synchronize(0)


def in_jax() -> None:
    import jax.numpy as jnp

    (jnp.ones((64, 64)) @ jnp.ones((64, 64))).block_until_ready()


# Each with what runs before it where it is the last; those that take a manifest have True.
FRONT_ENDS: dict[str, tuple[Callable[..., Given], Before, bool]] = {
    "attention-d64": (functools.partial(by_attention, head_dim=64), on_autograds_thread, False),
    "attention-d128": (functools.partial(by_attention, head_dim=128), on_autograds_thread, False),
    "attention-sink": (
        functools.partial(by_attention, head_dim=64, has_sink=True),
        on_autograds_thread,
        False,
    ),
    "attention-compiled": (
        functools.partial(by_attention, head_dim=64, is_compiled=True),
        on_autograds_thread,
        False,
    ),
    "packed": (packed, on_autograds_thread, False),
    "packed-sink": (functools.partial(packed, has_sink=True), on_autograds_thread, False),
    "enable": (enabled, on_autograds_thread, False),
    "transformers": (of_transformers, on_autograds_thread, False),
    "kernel": (by_kernel, on_this_thread, True),
    "kernel-bound": (functools.partial(by_kernel, is_bound=True), on_this_thread, True),
    "alone": (alone, on_the_device, True),
    "jax": (of_jax, in_jax, False),
}
OF_C = "c-example"


def demanded(claim: bool, message: str) -> None:
    if not claim:
        raise AssertionError(message)


def hash_of(found: Iterable[Any]) -> str:
    """A hash of tensors of PyTorch, or of bytes."""
    digest = hashlib.sha256()
    for one in found:
        if not isinstance(one, bytes):
            import torch

            one = one.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes()
        digest.update(one)
    return digest.hexdigest()


def call_once(name: str, order: str, manifest: str) -> dict[str, Any]:
    call, before, takes_manifest = FRONT_ENDS[name]
    found, beside = call(before if order == "last" else lambda: None, *[manifest] * takes_manifest)
    said: dict[str, Any] = {"hash": hash_of(found)}
    if beside is not None:
        said["errors"] = [
            float((one.double() - other).norm() / other.norm())
            for one, other in zip(found, beside(), strict=True)
        ]
        demanded(
            max(said["errors"]) <= MOST_ERROR,
            f"expected gradients within {MOST_ERROR} of float64, found {said['errors']}",
        )
    return said


# ---- What starts them ----------------------------------------------------------------------------


def tests(kernels: list[Any], quick: bool) -> list[Any]:
    from group import Test

    kernel = next(
        (
            kernel
            for kernel in kernels
            if not kernel.fixed_sizes and not kernel.debug and kernel.element == "bf16"
        ),
        None,
    )
    if kernel is None:
        return []
    starter = Starter(str(kernel.path))
    return [
        Test(f"fresh_process {name}", kernel.name, lambda name=name: starter.outcome(name))
        for name in (*FRONT_ENDS, OF_C)
    ]


class Starter:
    """With the first test all front ends begin, so many at once: processes wait for each other's
    imports otherwise."""

    def __init__(self, manifest: str) -> None:
        self.manifest, self.begun = manifest, dict[str, Future[dict[str, Any]]]()

    def outcome(self, name: str) -> dict[str, Any]:
        if not self.begun:
            pool = ThreadPoolExecutor(AT_ONCE)
            self.begun = {one: pool.submit(four, one, self.manifest) for one in FRONT_ENDS} | {
                OF_C: pool.submit(c_example, self.manifest)
            }
        return self.begun[name].result()


def four(name: str, manifest: str) -> dict[str, Any]:
    """First and last at once, on a cache each that is empty, and then once more on what they
    left."""
    from group import Failed, Skip, demand

    begun, found = time.monotonic(), {}
    with tempfile.TemporaryDirectory(prefix="dash-fresh-") as folder:
        for temperature in ("cold", "warm"):
            processes = {
                order: start(name, order, manifest, Path(folder, order))
                for order in ("first", "last")
            }
            for order, process in processes.items():
                try:
                    out, errors = process.communicate(timeout=SECONDS)
                except subprocess.TimeoutExpired:
                    for one in processes.values():
                        one.kill()
                    raise Failed(
                        f"{temperature}, attention {order}: no gradients after {SECONDS} s"
                    ) from None
                last = (errors.strip().splitlines() or [""])[-1]
                if process.returncode and last.startswith(WITHOUT):
                    raise Skip(last)
                demand(
                    process.returncode == 0,
                    f"{temperature}, attention {order}: {errors.strip()[-1500:]}",
                )
                found[f"{temperature} {order}"] = json.loads(out.splitlines()[-1])
    demand(
        len({one["hash"] for one in found.values()}) == 1,
        "gradients differ in their bits",
        outcomes=found,
    )
    return {"outcomes": found, "seconds": round(time.monotonic() - begun)}


def start(name: str, order: str, manifest: str, cache: Path) -> subprocess.Popen[str]:
    cache.mkdir(exist_ok=True, mode=0o700)
    environment = os.environ | {
        "DASH_CACHE": str(cache / "code"),
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
        "CUDA_CACHE_DISABLE": "1",
    }
    return subprocess.Popen(
        [sys.executable, str(Path(__file__)), name, order, manifest],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def c_example(manifest: str) -> dict[str, Any]:
    """The example of libdash's page, twice. Its first plan is made by a thread without a
    context."""
    from group import Skip, demand

    from dash_attn.kernel.library import library

    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    sources = [
        (root / part, root / "include")
        for root, part in (
            (HERE.parent, "examples/launch.c"),
            (HERE.parents[1], "dialects/dash/examples/launch.c"),
        )
    ]
    example, include = next((pair for pair in sources if pair[0].exists()), (None, None))
    if compiler is None or example is None:
        raise Skip(f"{WITHOUT}{'C compiler' if compiler is None else 'launch.c'}")
    shared = Path(library()._name).resolve()
    with tempfile.TemporaryDirectory(prefix="dash-fresh-") as folder:
        # By the name that the program will ask for; a bundle has it under another.
        as_asked_for = Path(folder, "libdash.so.0")
        as_asked_for.symlink_to(shared)
        built = subprocess.run(
            [
                compiler,
                "-std=c11",
                str(example),
                f"-I{include}",
                str(as_asked_for),
                f"-Wl,-rpath,{folder}",
                "-ldl",
                "-o",
                f"{folder}/launch",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        demand(built.returncode == 0, f"cannot compile launch.c: {built.stderr[-1000:]}")
        found = [
            subprocess.run(
                [f"{folder}/launch", manifest.removesuffix(".json")],
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
                env=os.environ | {"DASH_CACHE": f"{folder}/code"},
            )
            for _ in ("cold", "warm")
        ]
    for one in found:
        demand(
            one.returncode == 0 and one.stdout.count("\n") == 3,
            f"launch.c ended with {one.returncode}: {one.stderr[-1000:]}",
        )
    demand(
        found[0].stdout == found[1].stdout,
        "gradients differ in their bits",
        outcomes=[one.stdout for one in found],
    )
    return {"outcomes": found[0].stdout.splitlines()}


if __name__ == "__main__":
    print(json.dumps(call_once(*sys.argv[1:4])))
