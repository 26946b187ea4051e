//===- NvvmPatterns.h - one pattern for each op of a role -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_MAIN_NVVMPATTERNS_H
#define DASH_LIB_MAIN_NVVMPATTERNS_H

#include "MainKernel.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::dash {

/// Reads of the order, and numbers derived from it.
void populateOrderPatterns(const TypeConverter &types, const MainKernel &kernel,
                           RewritePatternSet &patterns);
/// Slots, their barriers, and the threads' reads and writes of slots.
void populateSlotPatterns(const TypeConverter &types, const MainKernel &kernel,
                          RewritePatternSet &patterns);
/// Products and element-wise ops.
void populateTilePatterns(const TypeConverter &types, const MainKernel &kernel,
                          RewritePatternSet &patterns);
/// The online softmax of a forward.
void populateSoftmaxPatterns(const TypeConverter &types, const MainKernel &kernel,
                             RewritePatternSet &patterns);
/// Copies between slots and memory, and the semaphore of the ordered add.
void populateMemoryPatterns(const TypeConverter &types, const MainKernel &kernel,
                            RewritePatternSet &patterns);

/// Records of a trace.
void populateTracePatterns(const TypeConverter &types, const MainKernel &kernel,
                           RewritePatternSet &patterns);

/// The layout of a tile in registers: their number and type. Null for other types.
FragmentAttr fragmentOf(Type type);
SwizzledAttr swizzledOf(Type type);

/// Where the warpgroup's rows of a tile begin; with a fold, those of the sequence.
inline Value firstRowOf(PtxBuilder &b, const ConsumerValues &consumer, FragmentAttr layout,
                        int64_t fold = 1) {
  return consumer.ofWarpgroup(b, [&](int64_t one) { return layout.getFirstRow(one) / fold; });
}

/// Converts one op with access to its kernel. An operand is a range of values: the registers of a
/// tile.
template <typename OpT> class KernelPattern : public OpConversionPattern<OpT> {
public:
  using Adaptor = typename OpConversionPattern<OpT>::OneToNOpAdaptor;

  KernelPattern(const TypeConverter &types, MLIRContext *context, const MainKernel &kernel)
      : OpConversionPattern<OpT>(types, context), kernel(kernel) {}

protected:
  const MainKernel &kernel;

  /// The machine's indices are i32.
  static Value word(PtxBuilder &b, ValueRange index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index.front());
  }
  static Value index(PtxBuilder &b, Value word) {
    return arith::IndexCastOp::create(b, b.getIndexType(), word);
  }
  /// The number of a sequence. For a list, it is defined where the item is known, so that the
  /// sequence's record is read once an item.
  Value sequenceWord(PtxBuilder &b, ValueRange index) const {
    OpBuilder::InsertionGuard guard(b);
    if (kernel.isList())
      b.setInsertionPointAfterValue(index.front());
    return word(b, index);
  }
  /// The kv rows of all sequences or, for a list, of this one; the latter are read once an item.
  Value kvRowsOf(PtxBuilder &b, ValueRange sequence) const {
    if (!kernel.isList())
      return kernel.kvRows;
    return kernel.readSequence(b, sequenceWord(b, sequence), /*isKeyValue=*/true).rows;
  }
  static ChannelOp channelOf(OpT op) { return op.getChannel().template getDefiningOp<ChannelOp>(); }
};

} // namespace mlir::dash

#endif // DASH_LIB_MAIN_NVVMPATTERNS_H
