//===- DashAccessInterfaces.td - effects of ops on slots and sums -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op states once what it does to the things that roles share. Proofs, models and conversions
// query these interfaces and know no op by its class. dash/IR/SlotAccess.h defines the terms.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHACCESSINTERFACES_TD
#define DASH_IR_DASHACCESSINTERFACES_TD

include "mlir/IR/OpBase.td"

def SlotAccessInterface : OpInterface<"SlotAccessInterface"> {
  let description = [{
    An op that names, reads or writes the contents of channel slots. It states which element of
    which slot, whether threads, the copy engine or the tensor core access it, and whether they
    access all of it or the rows of the role's own warpgroup. A slot that a result leaves through is
    borrowed, or holds a loaded tile that the result takes the place of.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"The accesses, in order.",
                    "::llvm::SmallVector<::mlir::dash::SlotAccess>", "getSlotAccesses">,
  ];
}

def SyncInterface : OpInterface<"SyncInterface"> {
  let description = [{
    An op that waits, or lets others continue: waits for slots and arrivals at them, fences,
    barriers of a warpgroup, starts of and waits for products and groups of copies, takes and gives
    of the tensor core.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"Its waits and signals, in order: waits precede its accesses, everything else "
                    "follows them.",
                    "::llvm::SmallVector<::mlir::dash::Sync>", "getSyncs">,
  ];
}

def SumAccessInterface : OpInterface<"SumAccessInterface"> {
  let description = [{
    An op of the ordered add. It states the tile of the sum, and the turn at which it takes, adds,
    or passes on the turn.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"Its effects on sums, in order.",
                    "::llvm::SmallVector<::mlir::dash::SumAccess>", "getSumAccesses">,
  ];
}

def SlotAccessOp : DeclareOpInterfaceMethods<SlotAccessInterface>;
def SyncOp : DeclareOpInterfaceMethods<SyncInterface>;
def SumAccessOp : DeclareOpInterfaceMethods<SumAccessInterface>;

// Statements for ops whose accesses are plain expressions: `let extraClassDefinition =
// SlotAccesses<...>.said # Syncs<...>.said`.

/// `$slot` is the slot of an op, once waits are ops; `$use` is, before that, the slot of the use
// that the op numbers.
class Expression<string text> {
  string of = !subst("$use", "SlotRef::ofUse(getChannel(), getUse())",
              !subst("$slot", "SlotRef::at(getChannel(), getSlot())", text));
}
class SlotAccesses<string all> {
  string said = "::llvm::SmallVector<SlotAccess> $cppClass::getSlotAccesses() { return {"
      # Expression<all>.of # "}; }\n";
}
class Syncs<string all> {
  string said = "::llvm::SmallVector<Sync> $cppClass::getSyncs() { return {" # Expression<all>.of
      # "}; }\n";
}
class SumAccesses<string all> {
  string said = "::llvm::SmallVector<SumAccess> $cppClass::getSumAccesses() { return {" # all
      # "}; }\n";
}

#endif // DASH_IR_DASHACCESSINTERFACES_TD
