//===- DashAccessInterfaces.td - what ops do to slots and sums --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op says once what it does to what roles share. Whoever proves, models or converts asks it, and knows no op by its class.
// The words are those of dash/IR/SlotAccess.h.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHACCESSINTERFACES_TD
#define DASH_IR_DASHACCESSINTERFACES_TD

include "mlir/IR/OpBase.td"

def SlotAccessInterface : OpInterface<"SlotAccessInterface"> {
  let description = [{
    An op that names, reads or writes what lies in slots of channels: which element of which slot, by threads, the copy engine or the
    tensor core, all of it or the rows of the role's own warpgroup. A slot that a result leaves through is borrowed.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"Accesses, in the order in which they are made.",
                    "::llvm::SmallVector<::mlir::dash::SlotAccess>", "getSlotAccesses">,
  ];
}

def SyncInterface : OpInterface<"SyncInterface"> {
  let description = [{
    An op that waits for others or lets them go on: waits for slots and arrivals there, fences, barriers of a warpgroup, products and
    groups of copies that are begun and waited for, the tensor core taken and given.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"What it waits for and lets go on, in order: waits are in front of its accesses, all else is behind them.",
                    "::llvm::SmallVector<::mlir::dash::Sync>", "getSyncs">,
  ];
}

def SumAccessInterface : OpInterface<"SumAccessInterface"> {
  let description = [{
    An op of the ordered add: which tile of which sum, and at which turn it takes, adds, or gives the turn on.
  }];
  let cppNamespace = "::mlir::dash";
  let methods = [
    InterfaceMethod<"What it does to sums, in order.",
                    "::llvm::SmallVector<::mlir::dash::SumAccess>", "getSumAccesses">,
  ];
}

def SlotAccessOp : DeclareOpInterfaceMethods<SlotAccessInterface>;
def SyncOp : DeclareOpInterfaceMethods<SyncInterface>;
def SumAccessOp : DeclareOpInterfaceMethods<SumAccessInterface>;

// What an op says, where an expression says it: `let extraClassDefinition = SlotAccesses<...>.said # Syncs<...>.said`.

/// `$slot` is the slot of an op that has one, once waits are ops; `$use`, in front of that, the slot of the use that it numbers.
class Expression<string text> {
  string of = !subst("$use", "SlotRef::ofUse(getChannel(), getUse())",
              !subst("$slot", "SlotRef::at(getChannel(), getSlot())", text));
}
class SlotAccesses<string all> {
  string said = "::llvm::SmallVector<SlotAccess> $cppClass::getSlotAccesses() { return {" # Expression<all>.of # "}; }\n";
}
class Syncs<string all> {
  string said = "::llvm::SmallVector<Sync> $cppClass::getSyncs() { return {" # Expression<all>.of # "}; }\n";
}
class SumAccesses<string all> {
  string said = "::llvm::SmallVector<SumAccess> $cppClass::getSumAccesses() { return {" # all # "}; }\n";
}

#endif // DASH_IR_DASHACCESSINTERFACES_TD
