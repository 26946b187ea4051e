//===- TmaDescriptors.h - maps of tensors, made on the device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_TMADESCRIPTORS_H
#define DASH_ENTRIES_TMADESCRIPTORS_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// The bytes of a descriptor, which are its alignment too.
constexpr int64_t descriptorBytes = 128;
/// Those of all that a program has.
inline int64_t descriptorsBytes(const Kernels &kernels) {
  return kernels.program.getMaps().size() * descriptorBytes;
}

/// One warp writes descriptor number `index` into the workspace; `shared` is a place of its own in shared
/// memory.
///
/// It describes a tensor [batch, heads, rows, columns] as five dimensions, {64, rows, columns / 64,
/// heads, batch}: a box of several 64-column panels lies in shared memory panel after panel, each with
/// a swizzle of 128 bytes; of narrower panels, as the map's bytes say. What is past the end of the rows reads as zeros and is not written.
///
/// Of a list, sequences end within the tensor, and what is past their end must be cut there. So rows are counted twice:
/// by the dimension `rows`, which ends where a sequence does, and by the last one, {row}, which says where that is. Row r of a
/// sequence of n rows that ends in front of row e of the tensor is at rows - n + r and e; the map begins `rows` rows in
/// front of the tensor. One map serves all sequences.
void buildDescriptor(EntryBuilder &b, const Kernels &kernels, TensorMapAttr map, int64_t index,
                     Value shared, Value lane);

} // namespace mlir::dash

#endif // DASH_ENTRIES_TMADESCRIPTORS_H
