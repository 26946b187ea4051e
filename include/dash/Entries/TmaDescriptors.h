//===- TmaDescriptors.h - TMA descriptors, built on the device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_TMADESCRIPTORS_H
#define DASH_ENTRIES_TMADESCRIPTORS_H

#include "dash/Entries/EntryBuilder.h"
#include "dash/Entries/Kernels.h"

namespace mlir::dash {

/// The bytes of a descriptor, which is also its alignment.
constexpr int64_t descriptorBytes = 128;
/// The bytes of all descriptors of a program.
inline int64_t descriptorsBytes(const Kernels &kernels) {
  return kernels.program.getMaps().size() * descriptorBytes;
}

/// One warp writes descriptor number `index` into the workspace; `shared` is scratch in shared
/// memory.
///
/// It describes a tensor [batch, heads, rows, columns] as five dimensions, {64, rows, columns / 64,
/// heads, batch}. A box of several 64-column panels lies in shared memory panel after panel, each
/// with a 128-byte swizzle; narrower panels follow the map's bytes. Rows past the end read as zeros
/// and are not written. With folded heads the dimensions are {columns, heads of a box, rows, groups
/// of heads, batch}, so the heads of a row lie side by side in shared memory.
///
/// In a list, sequences end within the tensor, and boxes must be cut there. So two dimensions count
/// rows. The dimension `rows` ends where a sequence does, and the last one, {row}, states where
/// that is. Take row r of a sequence of n rows that ends before row e of the tensor: its
/// coordinates are rows - n + r and e. The map begins `rows` rows before the tensor. One map serves
/// all sequences.
void buildDescriptor(EntryBuilder &b, const Kernels &kernels, TensorMapAttr map, int64_t index,
                     Value shared, Value lane);
/// Writes all of a program's descriptors: a warp of the block each. `thread` is the thread's
/// number, and `shared` has room for them.
void buildDescriptors(EntryBuilder &b, const Kernels &kernels, Value thread, Value shared);

} // namespace mlir::dash

#endif // DASH_ENTRIES_TMADESCRIPTORS_H
