//===- Passes.td - as loops on a CPU -------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Cpu`: leaves the flow after Schedule, to programs that one thread runs.
//===----------------------------------------------------------------------------===//

#ifndef DASH_CPU_PASSES_TD
#define DASH_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLoops : Pass<"dash-lower-to-loops", "::mlir::ModuleOp"> {
  let summary = "Lower scheduled programs to loops for one thread";
  let description = [{
    Replaces every op of dash by loops of the dialects scf, arith, math, memref and vector. This is
    the executable meaning of a scheduled program, and the reference for the bits that its order
    fixes. `dash-run` runs the result.

    Needs: `dash-tile`, `dash-apply-schedule`; the order is proven again. Leaves: no dash op; other
    ops unchanged, except that a `linalg.fill` beside a `dash.items` becomes loops too. Does not:
    convert to LLVM; see `dash-run`.

    **Order.** One thread cannot wait for a turn, so the order is lowered through a *workspace*.
    Items run whole, in issue order (so every list keeps its order), and their tasks run in visit
    order. Each contribution to a chain is stored in a separate slot. After the last item, each
    chain is summed in the order of its turns. Orders become `memref.global` tables. The workspace
    holds all contributions: 4 * tasks * (rows of a q tile) * (head dim) bytes for dQ; with parts
    also those of dK and dV.

    **Sizes.** The program serves the problem that its schedule states. Sizes that the types leave
    open are checked at its start (`cf.assert`).

    **Arithmetic.** Every result is one definite number:

    - products of tiles: in f32, term after term in the order of the inner index. Each product and
      each sum is rounded to nearest even, without fused multiply-add. The sum starts from
      `accumulate`, or from +0 without it;
    - P: `f32(exp(f64(f32(scale * s)) - f64(lse)))`, with the exponential and the difference in f64;
      0 where hidden; `round(p)` is the factor of dV;
    - a softcap: `t = f32(1 - 2 / (1 + exp(2 * f64(f32(scale * s)) / f64(cap))))` in f64, then P of
      t with the cap as its scale; dS has `f32(p * f32(1 - f32(t * t)))` for p;
    - dsink: terms `f32(f32(exp(f64(sink) - f64(lse))) * delta)`, 0 if lse is infinite, added as
      `dash.sink_gradient` states;
    - dS: `round(p * (dp - delta))`, with the unrounded p and all operations in f32; delta: products
      summed left to right in f32 from +0;
    - chains: the first contribution is stored as it is; each add rounds to nearest even, and
      replaces subnormal inputs and results by zeros of the same sign;
    - `round` is to bf16 or f16, to nearest even; outputs are scaled in f32, then rounded once.

    The function's arguments that hold the problem's tensors tell `dash-run` their roles and sizes:
    `dash.tensor`, from `dash-tile`, and `dash.shape`, the sizes that the order was made for. The
    function itself has `dash.problem`, and `dash.softcap` if scores are capped.

    (* example filepath=test/Cpu/lower-to-loops.mlir *)
  }];
  let options = [
    Option<"contributions", "contributions", "bool", /*default=*/"false",
           "Let the caller provide the workspaces, as arguments `contributions-dq` and, with "
           "parts, `contributions-dk` and `contributions-dv`. Off because it changes the "
           "function's type">,
  ];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "Number of scheduled problems lowered">,
    Statistic<"numSlots", "num-slots", "Number of slots of their workspaces">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // DASH_CPU_PASSES_TD
