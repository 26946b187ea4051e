//===- SlotHeader.h - what a slot says beside its tiles ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A consumer does not read the order. A slot's indices, its header, tell it what to do with the
// tiles. Every reader and writer of a header names an index by these enums.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_IR_SLOTHEADER_H
#define DASH_IR_SLOTHEADER_H

#include "llvm/Support/ErrorHandling.h"

namespace mlir::dash {

enum class SlotHeader {
  None,
  Item, ///< ItemIndex
  Step, ///< StepIndex
};

/// Indices in the slot that an item begins with.
enum class ItemIndex : unsigned { NumSteps, Sequence, KvHead, KvTile };
/// Indices in the slot that a step begins with. `Lead` says where the mask's edge runs.
enum class StepIndex : unsigned { Lead };

inline unsigned countIndices(SlotHeader header) {
  switch (header) {
  case SlotHeader::None:
    return 0;
  case SlotHeader::Item:
    return unsigned(ItemIndex::KvTile) + 1;
  case SlotHeader::Step:
    return unsigned(StepIndex::Lead) + 1;
  }
  llvm_unreachable("all headers are above");
}

} // namespace mlir::dash

#endif // DASH_IR_SLOTHEADER_H
