"""Kernels of an o that is not rounded, on the emulator of `lib`. A forward writes o twice: the f32
one is what the other rounds. A backward of the f32 one has the bits of a kernel that takes its
delta, added up as `attention` adds where the LSE has a gradient."""

# REQUIRES: python, host-supports-nvptx
# RUN: %python %s %t

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent / "lib"), str(ROOT / "test/Main"), str(ROOT / "python")]

from forward_case import Case, compiled, demand, exact  # noqa: E402
from lanes import widened  # noqa: E402
from launch import Kernel  # noqa: E402
from problem import Inputs, Problem, is_right, rounded  # noqa: E402

PIECE = 8  # elements of a row that a lane of `prepare` adds up
F32 = np.float32
OUTSIDE = np.full(1, 0xFFFFFFFF, np.uint32)  # what no kernel writes


def check_forward(case: Case, folder: Path, memory: str = "bhsd") -> None:
    given, options = case.inputs(), f"{case.options} slack=0"
    scale = case.head_dim**-0.5
    both = replace(case, is_unrounded=True, options=options)
    found = compiled(both, folder / "both").run(given, case.sizes(), scale, case.seed, memory)
    alone = compiled(replace(case, options=options), folder / "one").run(
        given, case.sizes(), scale, case.seed, memory
    )
    for name, tensor in alone.items():
        same = tensor.tobytes() == found[name].tobytes()
        demand(same, f"{case}: other bits of {name} beside an unrounded output")
    is_written = np.zeros(found["o"].shape[2], bool)
    for of_q, of_kv in case.rows():
        is_written[of_q] = True
        mine = found["unrounded"][:, :, of_q]
        same = np.array_equal(rounded(mine, case.element), found["o"][:, :, of_q])
        demand(same, f"{case}: o is not the rounded one, rows {of_q}")
        if of_kv.start < of_kv.stop:
            o, _ = exact(case, given, of_q, of_kv)
            error = np.abs(mine - o).max(initial=0) / np.abs(o).max(initial=1e-3)
            demand(bool(error < 5e-3), f"{case}: error {error:.1e} of an unrounded o")
    left = found["unrounded"].view(np.uint32)[:, :, ~is_written]
    demand(bool((left == OUTSIDE).all()), f"{case}: rows of no sequence are written")


@dataclass(frozen=True)
class Backward:
    sizes: str
    mask: str = "causal"
    element: str = "bf16"
    head_dim: int = 64
    head_dim_v: int = 64
    is_list: bool = False
    gradients: str = "%dq, %dk, %dv : !q, !q, !v"
    options: str = "kind=shift"

    def kernel(self, folder: Path, name: str, given: str, of_given: str) -> Kernel:
        folder.mkdir(parents=True, exist_ok=True)
        open_strides = "strided<[?, ?, ?, 1], offset: ?>>"
        wide = f"!v = memref<?x?x?x{self.head_dim_v}x"
        names = [one.strip("%,") for one in self.gradients.split(" : ")[0].split() if "%" in one]
        types = self.gradients.split(" : ")[1].split(", ")
        outs = ", ".join(f"%{one}: {type_of}" for one, type_of in zip(names, types))
        sequences = " sequences(<?>)" if self.is_list else ""
        text = f"""
!q = memref<?x?x?x{self.head_dim}x{self.element}, {open_strides}
{wide}{self.element}, {open_strides}
{wide.replace("!v", "!u")}f32, {open_strides}
!r = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @attention_bwd(%q: !q, %k: !q, %v: !v, %do: !v, %{given}: {of_given}, %lse: !r,
                         {outs}, %scale: f32) {{
  dash.attention_bwd
      ins(%q, %k, %v, %do, %lse, {given} = %{given} : !q, !q, !v, !v, !r, {of_given})
      outs({self.gradients}) mask(<{self.mask}>) level(run) scale(%scale){sequences}
  return
}}
"""
        (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
        options = f"workers=3 {self.options} output={folder}/{name}"
        program = folder / f"{name}.mlir"
        subprocess.run(
            ["dash-opt", program, f"--dash-to-ptx={options}", "-o", "/dev/null"], check=True
        )
        return Kernel(folder / f"{name}.json")


def delta_of(o: np.ndarray, do: np.ndarray) -> np.ndarray:
    """As torch/delta.py: each product is rounded; then pieces of a row in pairs."""
    products = (o * do).reshape(*o.shape[:3], -1, PIECE)
    sums = products[..., 0]
    for one in range(1, PIECE):
        sums = sums + products[..., one]
    while sums.shape[-1] > 1:
        if sums.shape[-1] % 2:
            sums = np.concatenate((sums, np.zeros_like(sums[..., :1])), -1)
        sums = sums[..., ::2] + sums[..., 1::2]
    return sums[..., 0]


def check_backward(case: Backward, folder: Path, memory: str = "bhsd") -> None:
    kernel = case.kernel(folder, "o", "o", "!u")
    entry = next(one for one in kernel.manifest["tensors"] if one["name"] == "o")
    demand(entry["element"] == "f32", f"{case}: the manifest says {entry}")
    inputs = Inputs(kernel.manifest, Problem.parse(case.sizes), seed=3)
    half = inputs.tensors["o"]
    whole = widened(half, case.element).astype(F32)
    least = F32(1e-3 if case.element == "bf16" else 1e-4)  # of what its rounding leaves
    whole *= 1 + np.random.default_rng(5).uniform(-1, 1, whole.shape).astype(F32) * least
    do = widened(inputs.tensors["do"], case.element).astype(F32)
    given = inputs.tensors | {"o": whole}
    found = kernel.run(given, inputs.sizes, inputs.scale, 0, memory)
    demand(is_right(inputs.errors(found)), f"{case}: {inputs.errors(found)}")
    with np.errstate(invalid="ignore"):
        delta = delta_of(whole, do)
    of_delta = case.kernel(folder, "delta", "delta", "!r")
    expected = of_delta.run(given | {"delta": delta}, inputs.sizes, inputs.scale, 1, memory)
    of_half = case.kernel(folder, "half", "o", "!v")
    others = of_half.run(inputs.tensors, inputs.sizes, inputs.scale, 0, memory)
    for name, one in found.items():
        demand(one.tobytes() == expected[name].tobytes(), f"{case}: {name} differs from delta's")
    differs = any(one.tobytes() != others[name].tobytes() for name, one in found.items())
    demand(differs, f"{case}: a rounded o has the same bits: nothing is compared")


def main() -> None:
    folder = Path(sys.argv[1])
    odd = ((70, 70), (0, 30), (33, 0), (200, 70), (0, 0), (1, 65))
    for number, (case, memory) in enumerate(
        (
            (Case(), "padded"),
            (Case(mask="window = [1, 0]", has_sink=True, heads=4, kv_heads=2), "bshd"),
            (Case(element="f16", heads=1, q=70, kv=64, head_dim=40, head_dim_v=72), "padded"),
            (Case(heads=1, q=30, kv=100, head_dim=256, head_dim_v=256), "bhsd"),
            (Case(softcap=20.0, batch=2, heads=1, options="q-tile=64"), "bshd"),
            (Case(lengths=odd, options="", head_dim_v=40), "bshd"),
            (Case(lengths=odd, options="kind=ascending", head_dim=128, head_dim_v=128), "padded"),
            # heads that share a q tile: rows and heads of a thread's two rows
            (Case(q=20, kv=100, heads=4, fold=4, batch=2), "padded"),
            (Case(q=9, kv=100, heads=32, fold=16, options="q-tile=64"), "bshd"),
            (Case(lengths=odd, options="", heads=4, fold=2, head_dim_v=40), "padded"),
        )
    ):
        check_forward(case, folder / f"forward-{number}", memory)
    batch = "q:130,kv:200,batch:1,heads:2,kv-heads:1"
    parts = "dk = %dk, dv = %dv : !q, !v", "dq = %dq : !q"
    for number, (case, memory) in enumerate(
        (
            (Backward(batch), "padded"),
            (Backward(batch, element="f16", head_dim_v=40), "bshd"),
            (Backward(batch, head_dim=128, head_dim_v=128, mask="full"), "bhsd"),
            (Backward("q:70+0+65,kv:40+50+130,heads:2,kv-heads:1", is_list=True), "bshd"),
            (Backward(batch, gradients=parts[0], options="kind=longest-first"), "bhsd"),
            (Backward(batch, gradients=parts[1], options="kind=longest-first"), "padded"),
        )
    ):
        check_backward(case, folder / f"backward-{number}", memory)


main()
