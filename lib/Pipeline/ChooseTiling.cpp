//===- ChooseTiling.cpp - cut problems into tiles for a chip --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was measured to be the fastest is taken where it meets what is asked, else what the model
// prices least, with a remark that it was not measured.
//
//===----------------------------------------------------------------------===//

#include "ForwardTiling.h"
#include "MeasuredTilings.h"
#include "PartTiling.h"
#include "TaskTiling.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/IR/Remarks.h"

namespace mlir::dash {
#define GEN_PASS_DEF_CHOOSETILING
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ChooseTiling : public dash::impl::ChooseTilingBase<ChooseTiling> {
  using ChooseTilingBase::ChooseTilingBase;

  void runOnOperation() override {
    SmallVector<AttentionOpInterface> ops;
    getOperation()->walk([&](AttentionOpInterface op) { ops.push_back(op); });
    // What is wrong with an option is said at the program.
    Operation *place = ops.empty() ? getOperation() : ops.front().getOperation();
    auto emitError = [&] { return place->emitError(); };
    described = findTarget(target, emitError);
    TilingConstraints constraints;
    constraints.tiles = {qTile, kvTile};
    constraints.structure = structure;
    if (!described || failed(constraints.readSlots(slots, emitError)))
      return signalPassFailure();
    FailureOr<MeasuredTilings> measured = MeasuredTilings::read(table, &getContext(), emitError);
    if (failed(measured))
      return signalPassFailure();
    if (ops.empty())
      getOperation()->emitWarning()
          << "no 'dash.attention_bwd' or 'dash.attention_fwd' to choose a tiling for";
    for (AttentionOpInterface op : ops) {
      auto forward = dyn_cast<AttentionFwdOp>(op.getOperation());
      auto backward = dyn_cast<AttentionBwdOp>(op.getOperation());
      if (forward ? failed(choose(forward, constraints))
          : backward.isPart()
              ? failed(choosePart(backward, constraints))
              : failed(op.getTilingAttr() ? verify(backward, constraints)
                                          : choose(backward, constraints, *measured)))
        return signalPassFailure();
      ++numChosen;
    }
  }

private:
  /// One that is there already must be the one that is chosen.
  LogicalResult choose(AttentionFwdOp op, const TilingConstraints &constraints) {
    FailureOr<ForwardTiling> tiling = chooseForwardTiling(op, constraints, *described);
    if (failed(tiling))
      return failure();
    return set(AttentionOpInterface(op), op.getTilingAttr(), *tiling);
  }

  template <typename OneOfFew>
  LogicalResult set(AttentionOpInterface op, TilingAttr stated, const OneOfFew &tiling) {
    TilingAttr chosen = tiling.getAttr(&getContext());
    if (stated && stated != chosen)
      return op->emitError() << "has a tiling: it is not what the options ask for: drop them, or "
                                "the tiling; expected "
                             << chosen << ", got " << stated;
    op.setTilingAttr(chosen);
    remark::passed(op.getLoc(), remark::RemarkOpts::name("tiling").category(getArgument()))
        << remark::metric("q", tiling.tiles.q) << remark::metric("kv", tiling.tiles.kv)
        << remark::metric("columns", tiling.widths.ofQ)
        << remark::metric("columnsV", tiling.widths.ofV)
        << remark::metric("structure", stringifyEnum(tiling.structure))
        << remark::metric("hold", describeHeld(chosen))
        << remark::metric("registers", tiling.countRegisters())
        << remark::metric("sharedBytes", tiling.countSharedBytes());
    return success();
  }

  LogicalResult choosePart(AttentionBwdOp op, const TilingConstraints &constraints) {
    if (op.getDs() && !canKeepDs(op.getHeadDim(), op.getHeadDimV()))
      return op.emitError("dS goes from one program to another where dK and dV have a warpgroup "
                          "each, which is above 256 columns of both together: below, leave out "
                          "'ds', or write a program of all gradients");
    if (op.getDs() && op.ownsQ()) {
      FailureOr<TaskTiling> tiling = chooseTaskTiling(op, constraints, *described);
      return failed(tiling) ? failure()
                            : set(AttentionOpInterface(op), op.getTilingAttr(), *tiling);
    }
    FailureOr<PartTiling> tiling = choosePartTiling(op, constraints, *described);
    if (failed(tiling))
      return failure();
    return set(AttentionOpInterface(op), op.getTilingAttr(), *tiling);
  }

  /// One that is there already must be one that kernels can have, and that the options leave.
  LogicalResult verify(AttentionBwdOp op, const TilingConstraints &constraints) {
    auto emitAt = [&] { return op.emitError() << "has a tiling: "; };
    Tiling tiling = Tiling::read(op.getTilingAttr());
    tiling.isCapped = bool(op.getSoftcapAttr());
    if (failed(tiling.verify(op.getTilingAttr(), &getContext(), emitAt)))
      return failure();
    if (std::string reason = check(tiling, *described, &getContext()); !reason.empty())
      return emitAt() << reason;
    if (constraints.isMetBy(tiling))
      return success();
    return emitAt() << "it is not what the options ask for: drop them, or the tiling";
  }

  LogicalResult choose(AttentionBwdOp op, TilingConstraints constraints,
                       const MeasuredTilings &measured) {
    auto emitError = [&] { return op.emitError(); };
    TileShape shape = constraints.tiles;
    if (failed(TilesAttr::verify(emitError, shape.q ? shape.q : kernelQTiles[0],
                                 shape.kv ? shape.kv : kernelKvTile, /*fold=*/1)) ||
        failed(verifyHeadDims(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/false, emitError)) ||
        failed(constraints.verifyChannels(wholeChannels, "a backward of all gradients", emitError)))
      return failure();
    if (const MeasuredTilings::Entry *entry = measured.find(op, constraints, *described)) {
      set(op, entry->tiling, entry->record);
      return success();
    }
    std::optional<Tiling> best;
    // The refusal of the candidate that asks for least: the last one of the smallest tiles.
    std::string reason;
    int64_t leastRows = 0;
    for (const Tiling &tiling : enumerateTilings(op, constraints)) {
      std::string refused = check(tiling, *described, &getContext());
      if (refused.empty()) {
        if (!best ||
            priceOf(tiling, *described, &getContext()) < priceOf(*best, *described, &getContext()))
          best = tiling;
      } else if (leastRows == 0 || tiling.tiles.q <= leastRows) {
        reason = refused;
        leastRows = tiling.tiles.q;
      }
    }
    if (!best)
      return refuse(op, shape, reason);
    set(op, *best, "");
    int64_t columns = best->columns;
    remark::missed(op.getLoc(), remark::RemarkOpts::name("unmeasured").category(getArgument()))
        << remark::reason("no tiling of {0} columns is measured that the options leave: taken is "
                          "what the model prices least",
                          columns);
    return success();
  }

  LogicalResult refuse(AttentionBwdOp op, TileShape asked, StringRef reason) {
    auto emitError = [&] { return op.emitError(); };
    TileShape rows = {asked.q ? asked.q : kernelQTiles[0], asked.kv ? asked.kv : kernelKvTile};
    auto tiles = TilesAttr::get(&getContext(), rows.q, rows.kv);
    if (failed(verifyCovered({op.getHeadDim(), op.getHeadDimV(), tiles}, emitError)))
      return failure();
    return op.emitError() << "has no tiling that the options leave and that fits: " << reason;
  }

  void set(AttentionBwdOp op, const Tiling &tiling, StringRef record) {
    op.setTilingAttr(tiling.getAttr(&getContext()));
    TilingNeeds needs = countNeeds(tiling, *described, &getContext());
    remark::passed(op.getLoc(), remark::RemarkOpts::name("tiling").category(getArgument()))
        << remark::metric("q", tiling.tiles.q) << remark::metric("kv", tiling.tiles.kv)
        << remark::metric("columns", tiling.columns)
        << remark::metric("structure", stringifyEnum(tiling.structure))
        << remark::metric("hold", describeHeld(op.getTilingAttr()))
        << remark::metric("registers", needs.registers())
        << remark::metric("sharedBytes", needs.sharedBytes)
        << remark::metric("measured", record.empty() ? StringRef("no") : record);
  }

  const TargetDescription *described = nullptr;
};

} // namespace
