//===- TmaDescriptors.h - maps of tensors, made on the device --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_TMADESCRIPTORS_H
#define DASH_ENTRIES_TMADESCRIPTORS_H

#include "dash/Entries/ProgramFacts.h"
#include <array>

namespace mlir::dash {

/// How many descriptors a program has, and the bytes of one, which are its alignment too.
constexpr int64_t numDescriptors = 6, descriptorBytes = 128;

/// A map of a bf16 tensor [batch, heads, rows, head dim] as five dimensions, {64, rows, head dim / 64,
/// heads, batch}: a box of several 64-column panels lies in shared memory panel after panel, each with
/// a swizzle of 128 bytes. What is past the end of the rows reads as zeros and is not written.
///
/// Of a list, sequences end within the tensor, and what is past their end must be cut there. So rows are counted twice:
/// by the dimension `rows`, which ends where a sequence does, and by the last one, {row}, which says where that is. Row r of a
/// sequence of n rows that ends in front of row e of the tensor is at rows - n + r and e; the map begins `rows` rows in
/// front of the tensor. One map serves all sequences.
struct TensorMap {
  StringRef tensor;
  StringRef rows, heads; ///< names of its sizes
  int64_t boxRows, boxPanels;
};

/// The maps in their order in the workspace region `descriptors`.
std::array<TensorMap, numDescriptors> tensorMaps(const ProgramFacts &facts);

/// Adds the parameters that `buildDescriptor` asks for, except sizes and the workspace.
void addMappedTensors(ParameterList &parameters, const ProgramFacts &facts);

/// One warp writes descriptor number `index` into the workspace; `shared` is a place of its own in shared
/// memory.
void buildDescriptor(EntryBuilder &b, const ProgramFacts &facts, const TensorMap &map,
                     int64_t index, Value shared, Value lane);

} // namespace mlir::dash

#endif // DASH_ENTRIES_TMADESCRIPTORS_H
