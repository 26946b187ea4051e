//===- LowerClear.cpp - the entry that clears rows of no sequence ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usually there are no such rows. Then a launch costs two loads, whatever the list's length is.
//
//===----------------------------------------------------------------------===//

#include "dash/Entries/Parameters.h"
#include "dash/Entries/Passes.h"
#include "dash/Entries/Places.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERCLEAR
#include "dash/Entries/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

constexpr int64_t numThreads = 512, numWarps = numThreads / threadsOfWarp;
constexpr int64_t bytesOfStore = 16;

namespace {

class ClearBuilder {
public:
  ClearBuilder(const Kernels &kernels, ArrayRef<TensorRoleAttr> outputs)
      : outputs(outputs), b(makeEntry(kernels, outputs)) {}

  void build() {
    Value thread = b.special("tid.x"), block = b.special("ctaid.x");
    lane = b.laneOf(thread);
    firstThread = b.add(b.mul(block, numThreads), thread);
    firstWarp = b.add(b.mul(block, numWarps), b.warpOf(thread));
    Value blocks = b.parameter("workers");
    threads = b.mul(blocks, numThreads);
    warps = b.mul(blocks, numWarps);
    for (TensorRoleAttr output : outputs) // all records are read before the first loop
      if (!rowsOfSide.count(output.getSide()))
        rowsOfSide[output.getSide()] = findRows(output.getSide());
    for (TensorRoleAttr output : outputs)
      output.isTile() ? clearTiles(output) : clearNumbers(output);
    b.finish();
  }

private:
  static EntryBuilder makeEntry(const Kernels &kernels, ArrayRef<TensorRoleAttr> outputs) {
    EntryLaunch launch;
    launch.role = EntryRole::Clear;
    launch.when = EntryWhen::Asked;
    launch.grid[0] = "workers";
    launch.threads = numThreads;
    ParameterList parameters;
    llvm::SetVector<StringRef> sizes;
    for (TensorRoleAttr output : outputs) {
      parameters.pointer(output.getName()).stride(output, "head");
      if (output.isTile())
        parameters.stride(output, "row");
      sizes.insert(headsOf(output));
      sizes.insert(rowsOf(output));
    }
    parameters.sizes(sizes.getArrayRef()).sizes({"sequences", "workers"}).workspace("order");
    return EntryBuilder(kernels.module->getLoc(), kernels.module, kernels.entryName(launch.role),
                        launch, parameters);
  }

  /// How many rows are in front of the first sequence, in all of them, and in none.
  struct Rows {
    Value before, inside, outside;
  };
  /// Without sequences, there is only the record of totals, which has no rows.
  Rows findRows(TensorSide side) {
    bool isKeyValue = side == TensorSide::KV;
    Value order = b.parameter("workspace.order");
    Value last = b.max(b.add(b.parameter("sequences"), -1), b.i32(0));
    SequenceRows first = readSequence(b, order, b.i32(0), isKeyValue);
    Value before = b.sub(first.end, first.rows);
    Value inside = b.sub(readSequence(b, order, last, isKeyValue).end, before);
    Value outside = b.sub(b.parameter(isKeyValue ? "kv_rows" : "q_rows"), inside);
    return {before, inside, outside};
  }
  /// Runs `body` on rows of the output that no sequence has, from number `first` of them on.
  void forEachRow(TensorRoleAttr output, Value first, Value step,
                  llvm::function_ref<void(Value)> body) {
    const Rows &rows = rowsOfSide[output.getSide()];
    forEach(first, rows.outside, step, [&](Value number) {
      Value behind = b.add(number, rows.inside);
      body(b.toI64(b.choose(b.below(number, rows.before), number, behind)));
    });
  }
  Value strideOf(TensorRoleAttr output, StringRef dim) {
    return b.parameter((output.getName() + ".stride." + dim).str());
  }
  Value addressOf(TensorRoleAttr output, Value element) {
    int64_t bytes = output.getElement().getIntOrFloatBitWidth() / 8;
    return b.offset(b.parameter(output.getName()), b.mul(element, bytes));
  }

  /// A warp's lanes go through the 16 bytes of a row, of one head after the other. Where heads of a
  /// row are neighbours, so are the bytes.
  void clearTiles(TensorRoleAttr output) {
    int64_t columns = 8 * bytesOfStore / output.getElement().getIntOrFloatBitWidth();
    int64_t stores = output.getColumns() / columns;
    SmallVector<Value> zeros(4, b.i32(0));
    Value numStores = b.mul(b.parameter(headsOf(output)), stores);
    forEachRow(output, firstWarp, warps, [&](Value row) {
      Value ofRow = b.mul(row, strideOf(output, "row"));
      forEach(lane, numStores, b.i32(threadsOfWarp), [&](Value store) {
        Value head = b.mul(b.toI64(b.quotient(store, stores)), strideOf(output, "head"));
        Value column = b.toI64(b.mul(b.remainder(store, stores), columns));
        b.store16(zeros, addressOf(output, b.add(b.add(ofRow, head), column)));
      });
    });
  }

  /// Neighbouring threads have neighbouring rows.
  void clearNumbers(TensorRoleAttr output) {
    bool isLog = output.getKind() == TensorKind::LogRow;
    Value cleared = b.f32(isLog ? -std::numeric_limits<double>::infinity() : 0);
    forEachRow(output, firstThread, threads, [&](Value row) {
      forEach(b.i32(0), b.parameter(headsOf(output)), b.i32(1), [&](Value head) {
        Value ofHead = b.mul(b.toI64(head), strideOf(output, "head"));
        b.store(cleared, addressOf(output, b.add(ofHead, row)), 4);
      });
    });
  }

  void forEach(Value begin, Value end, Value step, llvm::function_ref<void(Value)> body) {
    b.forEach(begin, end, step, {}, [&](Value i, ValueRange) -> SmallVector<Value> {
      body(i);
      return {};
    });
  }

  ArrayRef<TensorRoleAttr> outputs;
  EntryBuilder b;
  Value lane, firstThread, firstWarp, threads, warps;
  std::map<TensorSide, Rows> rowsOfSide;
};

/// The tensors that have rows, and that kernels write.
SmallVector<TensorRoleAttr> outputsOf(ProgramAttr program) {
  SmallVector<TensorRoleAttr> outputs;
  for (TensorAttr tensor : program.getTensors()) {
    TensorRoleAttr role = tensor.getRole();
    if (role.isWritten() && (role.isTile() || role.isPerRow()))
      outputs.push_back(role);
  }
  return outputs;
}

struct LowerClear : public dash::impl::LowerClearBase<LowerClear> {
  using LowerClearBase::LowerClearBase;

  void runOnOperation() override {
    SmallVector<Operation *> modules;
    getOperation()->walk([&](Operation *op) {
      auto program = op->getAttrOfType<ProgramAttr>(programAttr);
      if (program && program.findTensor(TensorKind::Bounds))
        modules.push_back(op);
    });
    for (Operation *module : modules) {
      FailureOr<Kernels> kernels = readKernels(module);
      if (failed(kernels))
        return signalPassFailure();
      SmallVector<TensorRoleAttr> outputs = outputsOf(kernels->program);
      if (outputs.empty()) {
        module->emitError() << "expected 'tensors' of '" << programAttr
                            << "' with an output that has rows, found none; run "
                               "--dash-outline-program to make it";
        return signalPassFailure();
      }
      ClearBuilder(*kernels, outputs).build();
      ++numLowered;
    }
  }
};

} // namespace
