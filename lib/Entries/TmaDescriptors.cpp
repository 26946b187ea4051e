//===- TmaDescriptors.cpp - TMA descriptors, built on the device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels build their descriptors themselves. So a launcher needs no driver call for them, and
// a captured graph can be replayed on other addresses by changing plain pointers.
//
//===----------------------------------------------------------------------===//

#include "dash/Entries/TmaDescriptors.h"
#include "dash/Entries/Parameters.h"
#include "dash/Hopper/ElementType.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/Hopper/PtxAssembly.h"
#include "dash/Hopper/Swizzle.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Sets the fields of a descriptor in shared memory, with LLVM's intrinsics. Used by one thread.
class FieldWriter {
public:
  FieldWriter(PtxBuilder &b, Value descriptor) : b(b), descriptor(b.shared(descriptor)) {}

  void set(StringRef field, Value value) { call(field, value); }
  void set(StringRef field, int64_t value) { call(field, b.i32(value)); }
  void set(StringRef field, int64_t dim, Value value) { call(field, {b.i32(dim), value}); }

private:
  void call(StringRef field, ValueRange values) {
    SmallVector<Value> operands = {descriptor};
    llvm::append_range(operands, values);
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.nvvm.tensormap.replace." + field),
                                  operands);
  }

  PtxBuilder &b;
  Value descriptor;
};

} // namespace

static void writeFields(EntryBuilder &b, const Kernels &kernels, TensorMapAttr map,
                        Value descriptor) {
  FieldWriter field(b, descriptor);
  TensorRoleAttr tensor = map.getTensor();
  Value rows = b.parameter(rowsOf(tensor));
  // Columns that are not whole panels form one dimension: a panel's columns beyond them are zero,
  // and are not stored. For a list, the last dimension is rows again.
  // Items that begin ahead load tiles behind all rows, of a tensor without rows, too: a dimension
  // has one at least.
  int64_t columns = map.getLayout().getColumnsOfPanel();
  Value leastRows = kernels.isForward() ? b.max(rows, b.i32(1)) : rows;
  Value sizes[] = {b.i32(map.fillsPanels() ? columns : tensor.getColumns()), leastRows,
                   b.i32(map.fillsPanels() ? tensor.getColumns() / columns : 1),
                   b.parameter(headsOf(tensor)),
                   kernels.isList() ? b.add(rows, 1) : b.parameter("batch")};
  int64_t boxes[] = {columns, map.getRows(), map.getPanels(), 1, 1};
  auto bytes = [&](StringRef dim) {
    return b.mul(b.parameter((tensor.getName() + ".stride." + dim).str()), 2);
  };
  Value strides[] = {bytes("row"), b.i64(map.getBytes()), bytes("head"), bytes("batch")};
  Value address = b.address(b.parameter(tensor.getName()));
  if (kernels.isList()) {
    strides[0] = strides[3] = b.choose(b.equal(rows, 1), b.i64(16), strides[0]);
    address = b.sub(address, b.mul(b.toI64(rows), strides[0]));
  }
  if (int64_t fold = map.getFold(); fold > 1) { // heads of a row in front of rows
    Value ofRow = strides[0], ofHead = strides[2];
    std::tie(sizes[1], sizes[2], sizes[3]) =
        std::tuple(b.i32(fold), leastRows, b.quotient(sizes[3], fold));
    std::tie(boxes[1], boxes[2]) = std::tuple(fold, map.getRows());
    std::tie(strides[0], strides[1], strides[2]) = std::tuple(ofHead, ofRow, b.mul(ofHead, fold));
  }

  field.set("global.address", address);
  field.set("rank", 5 - 1);
  for (int64_t dim = 0; dim < 5; ++dim) {
    field.set("box.dim", dim, b.i32(boxes[dim]));
    field.set("global.dim", dim, sizes[dim]);
    field.set("element.stride", dim, b.i32(1));
  }
  for (int64_t dim = 0; dim < 4; ++dim) {
    // The stride of a dimension of size 1 is never used, but it is checked, and callers may pass
    // any value there.
    Value isOne = b.equal(sizes[dim + 1], 1);
    field.set("global.stride", dim, b.choose(isOne, b.i64(16), strides[dim]));
  }
  field.set("elemtype", tensorMapCode(cast<FloatType>(tensor.getElement())));
  field.set("interleave.layout", 0);
  field.set("swizzle.mode", tensorMapCode(map.getLayout()));
  field.set("fill.mode", 0);
}

void dash::buildDescriptor(EntryBuilder &b, const Kernels &kernels, TensorMapAttr map,
                           int64_t index, Value shared, Value lane) {
  hopper::storeWord(b, b.i32(0), b.add(shared, b.mul(lane, 4)));
  hopper::syncWarp(b);
  b.inOneLane(lane, [&] { writeFields(b, kernels, map, shared); });
  hopper::syncWarp(b);
  Value target = b.offset(b.parameter("workspace.descriptors"), index * descriptorBytes);
  ptx::tensormapCpFenceproxy(b, shared, target);
}

void dash::buildDescriptors(EntryBuilder &b, const Kernels &kernels, Value thread, Value shared) {
  Value warp = b.warpOf(b.uniform(thread)), lane = b.laneOf(thread);
  for (auto [i, map] : llvm::enumerate(kernels.program.getMaps()))
    b.ifThen(b.equal(warp, i), [&, i = i, map = map] {
      buildDescriptor(b, kernels, map, i, b.add(shared, i * descriptorBytes), lane);
    });
}
