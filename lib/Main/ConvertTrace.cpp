//===- ConvertTrace.cpp - records of a trace ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is four words: the clock after, the clock before, the name's number, and a number. Warps
// that load and add have few registers. So the address of a record is computed from the block's
// number, which is read again each time; only the count of records is kept. A lane whose
// records are those of items keeps no count either: the number of the item gives the address.
//
//===----------------------------------------------------------------------===//

#include "NvvmPatterns.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ConvertClock : KernelPattern<ClockOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(ClockOp op, Adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, hopper::clock(b));
    return success();
  }
};

struct ConvertTrace : KernelPattern<TraceOp> {
  using KernelPattern::KernelPattern;

  LogicalResult matchAndRewrite(TraceOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    PtxBuilder b(op.getLoc(), rewriter);
    Lane lane{op, kernel};
    Value now = op.getUntil() ? adaptor.getUntil().front() : hopper::clock(b);
    if (op.getEvent() == TraceEvent::Begin)
      begin(b, lane, now);
    else if (op.getEvent() == TraceEvent::End)
      end(b, lane, now, adaptor);
    else
      record(b, lane, now, adaptor);
    rewriter.replaceOp(op, now);
    return success();
  }

private:
  /// An item begins and ends, if not all items are traced.
  static constexpr int64_t recordsOfItem = 2;

  /// The lane that writes the record, and the number of its records so far.
  struct Lane {
    TraceOp op;
    const MainKernel &kernel;

    RoleOp role() const { return TraceOp(op)->getParentOfType<RoleOp>(); }
    WorkersOp workers() const { return TraceOp(op)->getParentOfType<WorkersOp>(); }
    int64_t records() const { return *workers().getTrace(); }

    /// Whether this thread is the lane.
    Value isMine(PtxBuilder &b) const {
      const ConsumerValues *consumer = kernel.consumerOf(op);
      return consumer ? b.equal(consumer->place.vector, 0) : b.i1(true);
    }
    /// How many records there are: those that were counted, or those of so many items.
    Value load(PtxBuilder &b, Value items) const {
      if (Value counted = kernel.traceCount(op))
        return b.load(b.getI32Type(), counted, 4);
      if (int64_t every = workers().getTraceEvery(); every > 1)
        items = b.mul(countTraced(b, items, every), recordsOfItem);
      if (TraceOp(op).getEvent() == TraceEvent::ItemEnd)
        items = b.add(items, 1);
      return b.add(items, TraceAttr::headRecords);
    }
    /// How many items are traced in front of a traced one, or of all `items` at the end: of each
    /// `every` the second, or the only one (--dash-sample-trace).
    Value countTraced(PtxBuilder &b, Value items, int64_t every) const {
      if (TraceOp(op).getEvent() != TraceEvent::End)
        return b.quotient(items, every);
      Value first = b.choose(b.equal(items, 1), b.i32(0), b.i32(1));
      return b.choose(b.equal(items, 0), b.i32(0), b.ceilDiv(b.sub(items, first), every));
    }
    void store(PtxBuilder &b, Value count) const {
      if (Value counted = kernel.traceCount(op))
        b.store(count, counted, 4);
    }

    Value at(PtxBuilder &b, Value record) const {
      int64_t lanes = workers().getLanes().size();
      Value lane = b.add(b.mul(hopper::block(b), lanes), workers().getFirstLane(role()));
      if (!role().isConsumer() && RoleOp(role()).getWarps() > 1)
        lane = b.add(lane, word(b, WarpOfRoleOp::create(b, b.getIndexType())->getResults()));
      Value first = b.mul(unsignedToI64(b, lane), TraceAttr::recordBytes * records());
      Value behind = b.mul(unsignedToI64(b, record), TraceAttr::recordBytes);
      return b.offset(b.offset(kernel.region("trace"), first), behind);
    }
    static Value unsignedToI64(PtxBuilder &b, Value i32) {
      return arith::ExtUIOp::create(b, b.getI64Type(), i32);
    }
  };

  /// Stores the time in nanoseconds, the clock, and a word.
  static void storeHead(PtxBuilder &b, const Lane &lane, int64_t record, Value now, Value word) {
    Value time = hopper::globalTime(b);
    Value high = b.toI32(b.shiftRight(time, 32));
    hopper::storeWords4If(b, lane.isMine(b), {b.toI32(time), high, now, word},
                          lane.at(b, b.i32(record)));
  }

  /// First clears the end: a lane that does not reach its end has none.
  static void begin(PtxBuilder &b, const Lane &lane, Value now) {
    SmallVector<Value> none(4, b.i32(0));
    hopper::storeWords4If(b, lane.isMine(b), none, lane.at(b, b.i32(1)));
    Value place = b.shiftLeft(hopper::multiprocessor(b), TraceAttr::workerBits);
    storeHead(b, lane, 0, now, b.bitOr(lane.kernel.worker(b), place));
    lane.store(b, b.i32(TraceAttr::headRecords));
  }
  void end(PtxBuilder &b, const Lane &lane, Value now, Adaptor adaptor) const {
    ArrayRef<ValueRange> items = adaptor.getNumbers();
    storeHead(b, lane, 1, now, lane.load(b, items.empty() ? Value() : word(b, items[0])));
  }

  void record(PtxBuilder &b, const Lane &lane, Value now, Adaptor adaptor) const {
    TraceOp op = lane.op;
    ArrayRef<ValueRange> numbers = adaptor.getNumbers();
    Value since = op.getSince() ? adaptor.getSince().front() : now;
    int64_t kind = int64_t(op.getEvent()) | kernel.traceName(op) << 8;
    Value what = b.i32(kind);
    if (numbers.size() > 1)
      what = b.bitOr(what, b.shiftLeft(word(b, numbers[1]), 16));
    Value number = numbers.empty() ? b.i32(0) : word(b, numbers[0]);
    Value count = lane.load(b, number);
    Value hasRoom = b.compare(arith::CmpIPredicate::ult, count, b.i32(lane.records()));
    hopper::storeWords4If(b, b.both(lane.isMine(b), hasRoom), {now, since, what, number},
                          lane.at(b, count));
    lane.store(b, b.add(count, 1));
  }
};

} // namespace

void dash::populateTracePatterns(const TypeConverter &types, const MainKernel &kernel,
                                 RewritePatternSet &patterns) {
  patterns.add<ConvertClock, ConvertTrace>(types, patterns.getContext(), kernel);
}
