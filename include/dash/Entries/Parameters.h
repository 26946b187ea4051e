//===- Parameters.h - parameters of an entry ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_PARAMETERS_H
#define DASH_ENTRIES_PARAMETERS_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// The sizes of a side, or of a tensor's.
inline StringRef headsOf(TensorSide side) { return side == TensorSide::KV ? "kv_heads" : "heads"; }
inline StringRef headsOf(TensorRoleAttr tensor) { return headsOf(tensor.getSide()); }
inline StringRef rowsOf(TensorRoleAttr tensor) {
  return tensor.isKeyValue() ? "kv_rows" : "q_rows";
}
inline StringRef tilesOf(TensorRoleAttr tensor) {
  return tensor.isKeyValue() ? "kv_tiles" : "q_tiles";
}

/// The stride of a tensor of tasks, from tile to tile: launchers name it as the first of others.
constexpr llvm::StringLiteral strideOfTasks = "batch";

/// The parameters of an entry, in the order in which they are added.
class ParameterList {
public:
  /// A pointer and strides in elements: batch, head, and row unless the tensor has one number for
  /// each row.
  ParameterList &tensor(TensorRoleAttr tensor);
  ParameterList &pointer(StringRef name);                      ///< without strides
  ParameterList &stride(TensorRoleAttr tensor, StringRef dim); ///< such as "batch"
  ParameterList &sizes(ArrayRef<StringRef> names);             ///< i32
  ParameterList &workspace(StringRef region);
  ParameterList &number(StringRef name); ///< f32
  /// What locates a list's tiles: the sizes and regions that entries over q tiles take as
  /// parameters.
  ParameterList &list();

  operator ArrayRef<EntryBuilder::Parameter>() const { return parameters; }

private:
  SmallVector<EntryBuilder::Parameter> parameters;
};

/// The factor that an op states: a number, or a parameter.
Value scaleFactor(EntryBuilder &b, Value stated);

} // namespace mlir::dash

#endif // DASH_ENTRIES_PARAMETERS_H
