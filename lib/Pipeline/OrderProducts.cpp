//===- OrderProducts.cpp - the issue order of products --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two warpgroups share a tensor core. It is never idle if one of them always has products to issue
// while the other does element-wise work. So no product of a step may wait for the other
// warpgroup's half of the same step. S and dP run ahead. dQ needs both halves of dS and runs late.
//
// The tensor core works in order of issue, so the result that is needed soonest comes first.
// Warpgroups that alternate:
//   late dQ    its buffer is stored during the products after it; its registers are free before dP
//   dK, dV     dK frees the Q that S of the next step replaces, dV the dO of dP
//   S, dP      of the next step: done while the other warpgroup takes the tensor core
//
// Where registers hold S and dP beside P and dS, element-wise work can overlap a warpgroup's own
// products:
//   S, dP      of the next step; the turn is short: it waits only for Q and dO
//   dK, dV     run during the exponentials, the late dQ during the rest of the element-wise work.
//              A put tile is rounded into new registers while products read the old ones: ptxas
//              moves exponentials after a wait for products unless a store before it needs them.
//              P takes its old registers, after that wait
//
// An iteration ends with the element-wise work of the next step: the values carried around the loop
// are in registers then. A product in flight there would make ptxas wait for it.
//
//===----------------------------------------------------------------------===//

#include "IssueOrder.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dash {
#define GEN_PASS_DEF_ORDERPRODUCTS
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

class ProductOrder {
public:
  explicit ProductOrder(WalkOp walk)
      : walk(walk), structure(walk->getParentOfType<WorkersOp>().getStructure()) {}

  LogicalResult run() {
    if (structure == WarpStructure::Overlapping)
      splitRounding();
    sortOps();
    if (ahead.empty() && late.empty() && llvm::hasSingleElement(walk.getBody().getOps<MatmulOp>()))
      return issueOneProduct();
    if (ahead.empty())
      return walk.emitError() << "has no product of loaded tiles alone to issue a step ahead";
    issueIteration();
    if (failed(verify()))
      return failure();
    setIssueOrder(walk, order);
    return success();
  }

private:
  using Ops = llvm::SetVector<Operation *, SmallVector<Operation *>>;

  /// Splits dS in f32 from its rounding: only the rounded tile needs registers that products in
  /// flight may still read.
  void splitRounding() {
    for (auto gradient : llvm::make_early_inc_range(walk.getBody().getOps<ScoreGradientOp>())) {
      RankedTensorType type = gradient.getType();
      if (type.getElementType().isF32())
        continue;
      OpBuilder b(gradient);
      b.setInsertionPointAfter(gradient);
      gradient.getResult().setType(type.clone(b.getF32Type()));
      auto round = RoundOp::create(b, gradient.getLoc(), type, gradient.getResult());
      gradient.getResult().replaceAllUsesExcept(round, round);
    }
  }

  void sortOps() {
    for (Operation &op : walk.getBody().front().without_terminator()) {
      auto get = dyn_cast<WaitOp>(op);
      if (get && isExchange(get))
        late.insert(&op);
      else if (llvm::any_of(op.getOperands(),
                            [&](Value operand) { return late.contains(operand.getDefiningOp()); }))
        late.insert(&op);
      else if (isAhead(op))
        ahead.insert(&op);
    }
  }

  static bool isExchange(WaitOp get) {
    return get.getChannel().getDefiningOp<ChannelOp>().isExchange();
  }

  /// A product whose factors are all loaded tiles.
  static bool isAhead(Operation &op) {
    auto product = dyn_cast<MatmulOp>(op);
    if (!product || product.getAccumulate())
      return false;
    return llvm::all_of(op.getOperands(), [](Value factor) {
      auto get = factor.getDefiningOp<WaitOp>();
      return get && !isExchange(get);
    });
  }

  void issue(Operation *op, int64_t stage) { order.push_back({op, stage}); }

  /// Issues the gets that an op is the first to need. Tiles that the next step's products wait for
  /// are got early.
  void issueGets(Operation *op, int64_t stage) {
    for (Value operand : op->getOperands())
      if (auto get = operand.getDefiningOp<WaitOp>();
          get && get->getParentOp() == walk && !late.contains(get) &&
          (stage == 0 || !isGotAhead(get)) && gotten.insert(get))
        issue(get, stage);
  }

  void issueWithGets(Operation *op, int64_t stage) {
    issueGets(op, stage);
    issue(op, stage);
  }

  bool isGotAhead(WaitOp get) const {
    return llvm::any_of(get->getUsers(), [&](Operation *user) { return ahead.contains(user); });
  }

  /// A product of what is loaded, as that of dS and K: a warpgroup's product is done while the
  /// others issue theirs, so they need no turns.
  LogicalResult issueOneProduct() {
    for (Operation &op : walk.getBody().front().without_terminator())
      issue(&op, 0);
    setIssueOrder(walk, order);
    return success();
  }

  void issueIteration() {
    OpBuilder b(walk.getYield());
    auto take = TakeTensorCoreOp::create(b, walk.getLoc(), IntegerAttr());
    auto give = GiveTensorCoreOp::create(b, walk.getLoc(), IntegerAttr());

    SmallVector<std::pair<std::pair<size_t, size_t>, Operation *>> byWhatTheyFree;
    Ops carried, elementwise;
    for (Operation &op : walk.getBody().front().without_terminator()) {
      if (ahead.contains(&op) || late.contains(&op) || isa<WaitOp>(op) || &op == take ||
          &op == give)
        continue;
      if (isa<MatmulOp>(op))
        byWhatTheyFree.push_back({{freesFor(&op), byWhatTheyFree.size()}, &op});
      else
        elementwise.insert(&op);
    }
    llvm::sort(byWhatTheyFree, llvm::less_first());
    for (auto [key, op] : byWhatTheyFree)
      carried.insert(op);
    // What scales the sums of a product that is carried on goes right before it.
    for (Operation *op : llvm::to_vector(elementwise))
      if (llvm::any_of(op->getUsers(), [&](Operation *user) {
            auto product = dyn_cast<MatmulOp>(user);
            return product && product.getAccumulate() == op->getResult(0);
          }))
        scaling.insert(op);
    elementwise.remove_if([&](Operation *op) { return scaling.contains(op); });

    issue(take, 1);
    if (structure == WarpStructure::Alternating)
      issueAlternating(carried, give, elementwise);
    else
      issueOverlapping(carried, give, elementwise);
  }

  void issueAlternating(const Ops &carried, Operation *give, const Ops &elementwise) {
    issueLate(/*puts=*/false);
    issueCarried(carried);
    issueLate(/*puts=*/true);
    for (Operation *op : ahead)
      issueWithGets(op, 0);
    issue(give, 1);
    for (Operation *op : elementwise)
      issueWithGets(op, 0);
  }

  void issueOverlapping(const Ops &carried, Operation *give, const Ops &elementwise) {
    for (Operation *op : ahead)
      issueGets(op, 0);
    for (Operation *op : ahead)
      issue(op, 0);
    issueCarried(carried);
    issue(give, 1);

    enum { First, Others, Puts, Rounds };
    SmallVector<Operation *> parts[4];
    Ops behindOthers; // ops that need more than the first product
    for (Operation *op : ahead.getArrayRef().drop_front())
      behindOthers.insert(op);
    for (Operation *op : elementwise) {
      if (llvm::any_of(op->getOperands(),
                       [&](Value value) { return behindOthers.contains(value.getDefiningOp()); }))
        behindOthers.insert(op);
      bool isPut = isa<PutOp>(op) || llvm::any_of(op->getUsers(), llvm::IsaPred<PutOp>);
      parts[isPut                       ? Puts
            : isa<RoundOp>(op)          ? Rounds
            : behindOthers.contains(op) ? Others
                                        : First]
          .push_back(op);
    }
    for (Operation *op : parts[First])
      issueWithGets(op, 0);
    issueLate(/*puts=*/false);
    for (int part : {Others, Puts, Rounds})
      for (Operation *op : parts[part])
        issueWithGets(op, 0);
    issueLate(/*puts=*/true);
  }

  void issueCarried(const Ops &carried) {
    for (Operation *op : scaling)
      issue(op, 1);
    for (Operation *op : carried)
      issueWithGets(op, 1);
  }

  void issueLate(bool puts) {
    for (Operation *op : late)
      if (isa<PutOp>(op) == puts)
        issueWithGets(op, 2);
  }

  /// The index of the next step's product that waits for a tile that this product reads.
  size_t freesFor(Operation *product) const {
    for (auto [i, other] : llvm::enumerate(ahead))
      for (Value factor : other->getOperands())
        if (auto get = factor.getDefiningOp<WaitOp>(); get && get->getParentOp() == walk)
          if (llvm::is_contained(product->getOperands(), factor))
            return i;
    return ahead.size();
  }

  /// Each op is issued after the ops it needs.
  LogicalResult verify() {
    llvm::SmallDenseMap<Operation *, int64_t> times; // looked up only
    for (auto [i, issue] : llvm::enumerate(order))
      times[issue.op] = getTime(issue, i, order.size());
    for (Operation &op : walk.getBody().front().without_terminator()) {
      int64_t time = times.lookup(&op);
      for (Value operand : op.getOperands())
        if (auto found = times.find(operand.getDefiningOp());
            found != times.end() && found->second >= time) {
          auto diagnostic = op.emitError()
                            << "would be issued before what it needs: element-wise work comes in "
                               "front of the products of a step";
          diagnostic.attachNote(operand.getLoc()) << "needs this";
          return diagnostic;
        }
    }
    return success();
  }

  WalkOp walk;
  WarpStructure structure;
  Ops ahead, late, scaling, gotten;
  SmallVector<Issue> order;
};

struct OrderProducts : public dash::impl::OrderProductsBase<OrderProducts> {
  void runOnOperation() override {
    bool hasWorkers = false;
    WalkResult result = getOperation()->walk([&](WorkersOp workers) {
      hasWorkers = true;
      for (RoleOp role : workers.getRoles()) {
        WalkOp walk = role.getWalk();
        if (!walk || !role.isConsumer())
          continue;
        if (!getIssueOrder(walk).empty()) {
          walk.emitError() << "has an order of issue already";
          return WalkResult::interrupt();
        }
        numProducts += llvm::range_size(walk.getBody().getOps<MatmulOp>());
        if (failed(ProductOrder(walk).run()))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (!hasWorkers)
      getOperation()->emitWarning() << "no 'dash.workers' to order; run --dash-assign-roles first";
  }
};

} // namespace
