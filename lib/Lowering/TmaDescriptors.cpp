//===- TmaDescriptors.cpp - maps of tensors, made on the device -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launcher then needs no driver call to describe tensors, and a captured graph may be replayed on
// other addresses by changing plain pointers.
//
//===----------------------------------------------------------------------===//

#include "TmaDescriptors.h"
#include "HopperOps.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<TensorMap> dash::tensorMaps(const ProgramFacts &facts) {
  int64_t panels = facts.headDim / 64;
  return {{"q", "q_rows", "heads", facts.qTile, panels},
          {"k", "kv_rows", "kv_heads", facts.kvTile, panels},
          {"v", "kv_rows", "kv_heads", facts.kvTile, panels},
          {"do", "q_rows", "heads", facts.qTile, panels},
          // Gradients leave by 64 rows and columns: what one warpgroup holds of a panel.
          {"dk", "kv_rows", "kv_heads", 64, 1},
          {"dv", "kv_rows", "kv_heads", 64, 1}};
}

void dash::addMappedTensors(ParameterList &parameters, const ProgramFacts &facts) {
  for (const TensorMap &map : tensorMaps(facts))
    parameters.tensor(map.tensor);
}

namespace {

/// Sets the fields of a descriptor in shared memory. One thread.
class FieldWriter {
public:
  FieldWriter(PtxBuilder &b, Value descriptor) : b(b), descriptor(descriptor) {}

  /// A field whose value the instruction itself holds.
  void constant(const Twine &field, int64_t value) {
    b.ptx("tensormap.replace.tile." + field + ".shared::cta.b1024.b32 [$0], " + Twine(value) + ";",
          "r", descriptor);
  }
  void word(const Twine &field, Value value) {
    b.ptx("tensormap.replace.tile." + field + ".shared::cta.b1024.b32 [$0], $1;", "r,r",
          {descriptor, value});
  }
  void word(const Twine &field, int64_t position, Value value) {
    b.ptx("tensormap.replace.tile." + field + ".shared::cta.b1024.b32 [$0], " + Twine(position) +
              ", $1;",
          "r,r", {descriptor, value});
  }
  void longWord(const Twine &field, Value value) {
    b.ptx("tensormap.replace.tile." + field + ".shared::cta.b1024.b64 [$0], $1;", "r,l",
          {descriptor, value});
  }
  void longWord(const Twine &field, int64_t position, Value value) {
    b.ptx("tensormap.replace.tile." + field + ".shared::cta.b1024.b64 [$0], " + Twine(position) +
              ", $1;",
          "r,l", {descriptor, value});
  }

private:
  PtxBuilder &b;
  Value descriptor;
};

} // namespace

static void writeFields(EntryBuilder &b, const ProgramFacts &facts, const TensorMap &map,
                        Value descriptor) {
  FieldWriter field(b, descriptor);
  Value sizes[] = {b.i32(64), b.parameter(map.rows), b.i32(facts.headDim / 64),
                   b.parameter(map.heads), b.parameter("batch")};
  int64_t boxes[] = {64, map.boxRows, map.boxPanels, 1, 1};
  auto bytes = [&](StringRef dim) {
    return b.mul(b.parameter((map.tensor + ".stride." + dim).str()), 2);
  };
  Value strides[] = {bytes("row"), b.i64(128), bytes("head"), bytes("batch")};

  field.longWord("global_address", b.address(b.parameter(map.tensor)));
  field.constant("rank", 5 - 1);
  for (int64_t dim = 0; dim < 5; ++dim) {
    field.word("box_dim", dim, b.i32(boxes[dim]));
    field.word("global_dim", dim, sizes[dim]);
    field.word("element_stride", dim, b.i32(1));
  }
  for (int64_t dim = 0; dim < 4; ++dim) {
    // The stride of a dimension of size 1 is never used, but it is checked: it may be anything where
    // the tensor comes from.
    Value isOne = b.equal(sizes[dim + 1], 1);
    field.longWord("global_stride", dim, b.choose(isOne, b.i64(16), strides[dim]));
  }
  constexpr int64_t bf16 = 10, swizzle128 = 3;
  field.constant("elemtype", bf16);
  field.constant("interleave_layout", 0);
  field.constant("swizzle_mode", swizzle128);
  field.constant("fill_mode", 0);
}

void dash::buildDescriptor(EntryBuilder &b, const ProgramFacts &facts, const TensorMap &map,
                           int64_t index, Value shared, Value lane) {
  hopper::storeWord(b, b.i32(0), b.add(shared, b.mul(lane, 4)));
  hopper::syncWarp(b);
  b.inOneLane(lane, [&] { writeFields(b, facts, map, shared); });
  hopper::syncWarp(b);
  Value target = b.offset(b.parameter("workspace.descriptors"), index * descriptorBytes);
  b.ptx("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
        "[$0], [$1], 128;",
        "l,r", {target, shared});
}
