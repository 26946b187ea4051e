//===- CompareTilings.cpp - all tilings of a problem side by side ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MeasuredTilings.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dash {
#define GEN_PASS_DEF_COMPARETILINGS
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

struct CompareTilings : public dash::impl::CompareTilingsBase<CompareTilings> {
  using CompareTilingsBase::CompareTilingsBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto emitError = [&] { return getOperation()->emitError(); };
    described = findTarget(target, emitError);
    if (!described || failed(constraints.readSlots(slots, emitError)))
      return signalPassFailure();
    constraints.tiles = {qTile, kvTile};
    constraints.structure = structure;
    FailureOr<MeasuredTilings> measured = MeasuredTilings::read(table, &getContext(), emitError);
    if (failed(measured))
      return signalPassFailure();
    std::string text;
    llvm::raw_string_ostream os(text);
    int64_t problems = 0;
    WalkResult result = getOperation()->walk([&](AttentionBwdOp op) {
      if (failed(verifyHeadDims(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/false,
                                [&] { return op.emitError(); })))
        return WalkResult::interrupt();
      os << (problems++ == 0 ? "" : "\n");
      write(os, op, *measured);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    numCompared += problems;
    if (problems == 0)
      getOperation()->emitWarning() << "no 'dash.attention_bwd' whose tilings to compare";
    if (llvm::Error error = writeFile(output, text)) {
      emitError() << "cannot write the comparison to '" << output.getValue()
                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
  }

private:
  struct Refused {
    Tiling tiling;
    std::string reason;
  };

  void write(raw_ostream &os, AttentionBwdOp op, const MeasuredTilings &measured) {
    int64_t columns = kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/false).ofQ;
    SmallVector<Tiling> fitting;
    SmallVector<std::pair<double, size_t>> byPrice; // and the number in `fitting`
    SmallVector<Refused> refused;
    for (const Tiling &tiling : enumerateTilings(op, constraints)) {
      std::string reason = check(tiling, *described, &getContext());
      if (reason.empty()) {
        byPrice.push_back({priceOf(tiling, *described, &getContext()), fitting.size()});
        fitting.push_back(tiling);
        continue;
      }
      // One line for each shape: that of the candidate that asks for least, which comes last.
      if (refused.empty() || !isAlike(refused.back().tiling, tiling))
        refused.push_back({tiling, ""});
      refused.back() = {tiling, reason};
    }
    llvm::sort(byPrice);
    auto function = op->getParentOfType<FunctionOpInterface>();
    os << "tilings for @" << SymbolTable::getSymbolName(function).getValue() << ": head dims "
       << op.getHeadDim() << " and " << op.getHeadDimV() << " in " << columns << " columns, on "
       << described->chip << "; price: cycles of 64 x 128 scores\n";
    os << "    q   kv  structure    hold  registers  shared bytes  tensor  shared      L2   price  "
          "slots\n";
    const MeasuredTilings::Entry *entry = measured.find(op, constraints, *described);
    for (auto [price, number] : byPrice)
      writeRow(os, fitting[number], price, entry);
    for (const Refused &one : refused)
      if (llvm::none_of(fitting, [&](const Tiling &other) { return isAlike(other, one.tiling); }))
        os << llvm::formatv("{0,5}{1,5}  {2,-12} {3}\n", one.tiling.tiles.q, one.tiling.tiles.kv,
                            stringifyEnum(one.tiling.structure), one.reason);
  }

  static bool isAlike(const Tiling &a, const Tiling &b) {
    return a.tiles == b.tiles && a.structure == b.structure;
  }

  void writeRow(raw_ostream &os, const Tiling &tiling, double price,
                const MeasuredTilings::Entry *entry) {
    TilingNeeds needs = countNeeds(tiling, *described, &getContext());
    os << llvm::formatv(
        "{0,5}{1,5}  {2,-12} {3,-4} {4,10} {5,13} {6,7} {7,7} {8,7} {9,7:f0}  {10}", tiling.tiles.q,
        tiling.tiles.kv, stringifyEnum(tiling.structure),
        describeHeld(tiling.getAttr(&getContext())), needs.registers(), needs.sharedBytes,
        needs.tensorCycles, needs.sharedTraffic / described->sharedBytesOfCycle,
        needs.memoryTraffic / described->memoryBytesOfCycle, price, describeSlots(tiling));
    if (entry && entry->tiling.getAttr(&getContext()) == tiling.getAttr(&getContext()))
      os << "  measured: " << entry->record;
    os << "\n";
  }

  const TargetDescription *described = nullptr;
  TilingConstraints constraints;
};

} // namespace
