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

/// Indices in the slot that an item begins with: its tile is that which it owns, its head that
/// which it writes.
enum class ItemIndex : unsigned { NumSteps, Sequence, Head, Tile };
/// Indices in the slot that a step begins with. `Lead` says where the mask's edge runs. `Tile` is
/// the walked tile, where steps walk kv tiles: their end may cut it.
enum class StepIndex : unsigned { Lead, Tile };

/// The number of a header's indices in items that own q tiles, or kv tiles.
inline unsigned countIndices(SlotHeader header, bool ownsQ) {
  switch (header) {
  case SlotHeader::None:
    return 0;
  case SlotHeader::Item:
    return unsigned(ItemIndex::Tile) + 1;
  case SlotHeader::Step:
    return unsigned(ownsQ ? StepIndex::Tile : StepIndex::Lead) + 1;
  }
  llvm_unreachable("all headers are above");
}

} // namespace mlir::dash

#endif // DASH_IR_SLOTHEADER_H
