//===- Checks.h - checks that verifiers share -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule has one message, and the message has one place: here, if more than one op has the rule.
//===------------------------------------------------------------------------===//

#ifndef DASH_LIB_IR_CHECKS_H
#define DASH_LIB_IR_CHECKS_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// Dimensions of whole tensors, by position.
enum Dim : unsigned { Batch, Heads, Rows, HeadDim };

/// An operand that is a whole tensor, by its name in the .td file.
struct NamedMemRef {
  StringRef name;
  MemRefType type;
};

/// The memrefs have one size in this dimension, where static, and it is at least 1.
LogicalResult verifySameSize(Operation *op, Dim dim, ArrayRef<NamedMemRef> memrefs);

/// The memref has the element type of the other.
LogicalResult verifySameElements(Operation *op, NamedMemRef memref, NamedMemRef other);

/// An operand of an op on whole tensors, and its role.
TensorOfOp makeTensor(StringRef name, Value value, TensorSide side, TensorAccess access,
                      TensorKind kind);

/// A whole tensor's rank, its strides, and that columns are contiguous.
LogicalResult verifyForm(Operation *op, NamedMemRef memref, unsigned rank);

/// `matrices` are of rank 4 and of one half type; `numbers`, each with its rank, are of f32.
LogicalResult verifyForms(Operation *op, ArrayRef<NamedMemRef> matrices,
                          ArrayRef<std::pair<NamedMemRef, unsigned>> numbers);

/// Head dims are static, and ones that kernels could have.
LogicalResult verifyHeadDims(AttentionOpInterface op);

/// `perHead` has a number for each head of `other`, if sizes are static.
LogicalResult verifyHeadsOf(Operation *op, NamedMemRef perHead, NamedMemRef other);

/// Each value from `numInputs` on is an output, and so is no value before it.
LogicalResult verifyOutputs(Operation *op, ArrayRef<std::pair<StringRef, Value>> values,
                            unsigned numInputs);

/// With sequences, the rows of all of them lie in a batch of 1.
LogicalResult verifyBatchOfList(Operation *op, SequencesAttr sequences,
                                ArrayRef<MemRefType> memrefs);

/// The sizes of q, k and v fit each other and the sequences, if there are any.
LogicalResult verifyProblem(Operation *op, MemRefType q, MemRefType k, MemRefType v,
                            SequencesAttr sequences);

/// The mask's rules have their data, and fit the rows of q and k where those are known.
LogicalResult verifyMask(Operation *op, MaskAttr mask, MemRefType q, MemRefType k,
                         SequencesAttr sequences);

/// The softcap that an attribute states, if there is one, is a finite number above 0.
LogicalResult verifyCap(Operation *op, StringRef name, FloatAttr cap);

/// A tile of this type can be read from, or written to, the memref. A tile that `mayBeWider` has
/// zeros in the columns that the memref does not have.
LogicalResult verifyTileOf(Operation *op, RankedTensorType tile, MemRefType memref,
                           bool mayBeWider);

/// One number for each row of the q tile.
LogicalResult verifyRows(Operation *op, StringRef name, RankedTensorType rows);

/// At level `row`: no value of the items mixes rows of q, and a tile that a row does not see leaves
/// what the row carries as it was.
LogicalResult verifyRowLevel(ItemsOp items);

/// A tile is one of a task, or several of tasks beside each other: rows of a kv tile by rows of a q
/// tile (dash/IR/TaskTiles.h).
LogicalResult verifyTileOfTask(Operation *op, RankedTensorType tile, MemRefType memref);

/// What loads such a tile says where it lies and what the mask hides of it, and nothing else does.
LogicalResult verifyBesideTask(Operation *op, MemRefType memref, ValueRange other, Attribute mask);

/// A slot whose element has type `element` can hold the tile. A tile without a layout lies as the
/// slot has it. An operand or a row is stored in the order of its elements; an accumulator as
/// threads hold it, so the slot must say how.
bool fitsSlot(Type tile, Type element);

/// The `dash.items` around an op that has the trait InsideItems.
ItemsOp getItems(Operation *op);

/// A static shape as people write it, `128x64`.
std::string formatShape(ArrayRef<int64_t> shape);

} // namespace mlir::dash

#endif // DASH_LIB_IR_CHECKS_H
