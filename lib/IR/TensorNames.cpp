//===- TensorNames.cpp - which value is which tensor ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After tiling nothing says any more that a memref is dO. What is computed from it does: it is the
// right factor of the rounded P's product.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/TensorNames.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class Namer {
public:
  explicit Namer(ItemsOp items) : items(items) {}

  TensorNames run() {
    name(items.getQ(), "q");
    name(items.getK(), "k");
    name(items.getV(), "v");
    items.walk([&](Operation *op) {
      if (auto probability = dyn_cast<ProbabilityOp>(op)) {
        nameSource(probability.getLse(), "lse");
        if (!probability.getScores().getDefiningOp<SoftcapOp>())
          name(probability.getScale(), "scale");
      } else if (auto softcap = dyn_cast<SoftcapOp>(op)) {
        name(softcap.getScale(), "scale");
      } else if (auto gradient = dyn_cast<ScoreGradientOp>(op)) {
        nameDelta(gradient.getDelta());
      } else if (auto product = dyn_cast<MatmulOp>(op)) {
        nameProduct(product);
      }
    });
    return std::move(names);
  }

private:
  void name(Value value, StringRef name) {
    if (value)
      names.try_emplace(value, name);
  }
  void nameSource(Value tile, StringRef name) {
    if (auto load = tile.getDefiningOp<LoadOp>())
      this->name(load.getSource(), name);
  }

  /// Delta is computed in front of the items, or given.
  void nameDelta(Value tile) {
    nameSource(tile, "delta");
    auto load = tile.getDefiningOp<LoadOp>();
    if (!load)
      return;
    for (Operation *user : load.getSource().getUsers())
      if (auto delta = dyn_cast<DeltaOp>(user)) {
        name(delta.getO(), "o");
        name(delta.getDOut(), "do");
      } else if (auto gradient = dyn_cast<SinkGradientOp>(user)) {
        name(gradient.getSink(), "sink");
        name(gradient.getDsink(), "dsink");
      }
  }

  void nameProduct(MatmulOp product) {
    Value left = product.getA();
    if (auto round = left.getDefiningOp<RoundOp>())
      left = round.getValue();
    bool isP = bool(left.getDefiningOp<ProbabilityOp>());
    bool isDs = bool(left.getDefiningOp<ScoreGradientOp>());
    if (isP && !product.getTransposeA()) {
      nameSource(product.getB(), "do");
      nameTarget(product.getResult(), "dv");
    } else if (isDs) {
      nameTarget(product.getResult(), product.getTransposeA() ? "dq" : "dk");
    }
  }

  /// Where a sum goes: out of the walk that carries it, into memory, and from there rounded on.
  void nameTarget(Value tile, StringRef name) {
    for (OpOperand &use : tile.getUses()) {
      if (auto yield = dyn_cast<YieldOp>(use.getOwner()))
        nameTarget(yield->getParentOp()->getResult(use.getOperandNumber()), name);
      else if (auto store = dyn_cast<StoreOp>(use.getOwner()))
        this->name(store.getTarget(), name);
      else if (auto reduce = dyn_cast<OrderedReduceOp>(use.getOwner()))
        nameSum(reduce.getTarget(), name);
      else if (auto unordered = dyn_cast<ReduceOp>(use.getOwner()))
        nameSum(unordered.getTarget(), name);
    }
  }
  void nameSum(Value sum, StringRef name) {
    this->name(sum, name);
    for (Operation *user : sum.getUsers())
      if (auto convert = dyn_cast<ConvertOp>(user); convert && convert.getSource() == sum)
        this->name(convert.getTarget(), name);
  }

  ItemsOp items;
  TensorNames names;
};

} // namespace

bool dash::isTensorName(StringRef name) {
  if (name.consume_front("contributions-"))
    return llvm::is_contained({"dq", "dk", "dv"}, name);
  return llvm::is_contained(
      {"q", "k", "v", "do", "o", "lse", "delta", "scale", "sink", "dq", "dk", "dv", "dsink"}, name);
}

TensorNames dash::nameTensors(ItemsOp items) { return Namer(items).run(); }

SinkGradientOp dash::findSinkGradient(ItemsOp items) {
  SinkGradientOp found;
  items.walk([&](ScoreGradientOp gradient) {
    if (auto load = gradient.getDelta().getDefiningOp<LoadOp>())
      for (Operation *user : load.getSource().getUsers())
        if (auto sink = dyn_cast<SinkGradientOp>(user))
          found = sink;
  });
  return found;
}

SmallVector<TensorRole> dash::tensorRoles(bool takesDelta) {
  TensorRole last{"o", false, false, 4};
  if (takesDelta)
    last = {"delta", false, false, 3};
  return {{"q", false, false, 4},
          {"k", false, true, 4},
          {"v", false, true, 4},
          {"do", false, false, 4},
          last,
          {"lse", false, false, 3},
          {"dq", true, false, 4},
          {"dk", true, true, 4},
          {"dv", true, true, 4},
          {"sink", false, false, 1},
          {"dsink", true, false, 2}};
}
