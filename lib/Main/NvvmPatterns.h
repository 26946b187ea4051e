//===- NvvmPatterns.h - a pattern an op of a role --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_MAIN_NVVMPATTERNS_H
#define DASH_LIB_MAIN_NVVMPATTERNS_H

#include "MainKernel.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::dash {

/// Reads of the order, and numbers that come from it.
void populateOrderPatterns(const TypeConverter &types, const MainKernel &kernel,
                           RewritePatternSet &patterns);
/// Slots, their barriers, and what threads read and write in them.
void populateSlotPatterns(const TypeConverter &types, const MainKernel &kernel,
                          RewritePatternSet &patterns);
/// Products, and what is computed element by element.
void populateTilePatterns(const TypeConverter &types, const MainKernel &kernel,
                          RewritePatternSet &patterns);
/// Copies between slots and memory, and the semaphore of the ordered add.
void populateMemoryPatterns(const TypeConverter &types, const MainKernel &kernel,
                            RewritePatternSet &patterns);

/// Records of a trace.
void populateTracePatterns(const TypeConverter &types, const MainKernel &kernel,
                           RewritePatternSet &patterns);

/// The registers of a tile that threads hold: its number, and of what type. None for other types.
FragmentAttr fragmentOf(Type type);
SwizzledAttr swizzledOf(Type type);

/// Converts one op, knowing the kernel that it is in. An operand is a range of values: the registers of a tile.
template <typename OpT> class KernelPattern : public OpConversionPattern<OpT> {
public:
  using Adaptor = typename OpConversionPattern<OpT>::OneToNOpAdaptor;

  KernelPattern(const TypeConverter &types, MLIRContext *context, const MainKernel &kernel)
      : OpConversionPattern<OpT>(types, context), kernel(kernel) {}

protected:
  const MainKernel &kernel;

  /// Indices are i32 to the machine.
  static Value word(PtxBuilder &b, ValueRange index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index.front());
  }
  static Value index(PtxBuilder &b, Value word) {
    return arith::IndexCastOp::create(b, b.getIndexType(), word);
  }
  /// The number of a sequence: of a list, where the item is told, so that what stands of it in memory is read once an item.
  Value sequenceWord(PtxBuilder &b, ValueRange index) const {
    OpBuilder::InsertionGuard guard(b);
    if (kernel.isList())
      b.setInsertionPointAfterValue(index.front());
    return word(b, index);
  }
  static ChannelOp channelOf(OpT op) { return op.getChannel().template getDefiningOp<ChannelOp>(); }
};

} // namespace mlir::dash

#endif // DASH_LIB_MAIN_NVVMPATTERNS_H
