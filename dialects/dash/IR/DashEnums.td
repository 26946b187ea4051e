//===- DashEnums.td - words that dash chooses from --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An enumeration is an attribute (`#dash.level<run>`); ops print its bare word (`level(run)`).
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHENUMS_TD
#define DASH_IR_DASHENUMS_TD

include "dash/IR/DashDialect.td"
include "mlir/IR/EnumAttr.td"

/// The bits do not depend on when the problem runs and beside what, on the same kind of machine.
def LevelRun : I32EnumAttrCase<"Run", 0, "run">;
/// Nor on the other sequences of the batch and on a sequence's place among them.
def LevelBatch : I32EnumAttrCase<"Batch", 1, "batch">;
/// Nor on the number of multiprocessors or of resident workers.
def LevelMachine : I32EnumAttrCase<"Machine", 2, "machine">;
/// Nor on how many devices share the work.
def LevelWorld : I32EnumAttrCase<"World", 3, "world">;

def DeterminismLevel : I32EnumAttr<"DeterminismLevel",
    "what the bits of a sequence's gradients do not depend on",
    [LevelRun, LevelBatch, LevelMachine, LevelWorld]> {
  let cppNamespace = "::mlir::dash";
  let genSpecializedAttr = 0;
}

def DeterminismLevelAttr : EnumAttr<DashDialect, DeterminismLevel, "level"> {
  let summary = "What the bits of a sequence's gradients do not depend on";
  let description = [{
    Each level includes those above it.

    | level | the bits of a sequence's gradients do not depend on |
    |---|---|
    | `run` | when and beside what it runs, on the same kind of machine |
    | `batch` | the other sequences in the batch, and its place there |
    | `machine` | the number of multiprocessors or of resident workers |
    | `world` | how many devices share the work |

    From `batch` on, chains, visit orders and parts are made for each sequence by itself; from
    `machine` on, for a stated number of workers (the `width` of a `dash.schedule`).

    **Example**: `#dash.level<run>`; on an op `level(run)`.

    **Errors**: `expected a determinism level (run, batch, machine or world), got 'always'`.
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif // DASH_IR_DASHENUMS_TD
