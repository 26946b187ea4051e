//===- FindConsumers.cpp - the roles that multiply, and their ops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One role has all sums of an item where its threads have registers for them. Else each sum has a
// role, which computes what the sum is made of.
//
//===----------------------------------------------------------------------===//

#include "RegisterEstimate.h"
#include "RoleCut.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class ConsumerFinder {
public:
  ConsumerFinder(RoleCut &cut, ConsumerChoice choice)
      : cut(cut), items(cut.items), walk(cut.walk), choice(choice) {}

  LogicalResult find() {
    SmallVector<Operation *> computed, added;
    for (auto [op, role] : cut.roles)
      if (role == Role::Compute || role == Role::Reduce)
        (role == Role::Compute ? computed : added).push_back(op);
    if (items.ownsQ() && choice == ConsumerChoice::ByGradient)
      return items.emitError()
             << "items that own q tiles have one sum of outputs, and one role computes it: assign "
                "roles with consumers=together";
    if (walk->getNumResults() < 2 || choice == ConsumerChoice::Together ||
        (choice == ConsumerChoice::Fitting && sumsFit())) {
      addConsumer("compute", llvm::to_vector<2>(llvm::seq<unsigned>(walk->getNumResults())))
          .ops.insert_range(computed);
      return success();
    }
    for (auto reduce : items.getBody().getOps<OrderedReduceOp>())
      return reduce.emitError() << "adds a sum of an item, which leaves through the slots of sums "
                                   "of steps, and one role fills them: order the problem with "
                                   "parts=1, or assign roles with consumers=together";
    for (OpResult sum : walk->getResults())
      addTo(addConsumer(nameOfSum(sum), {sum.getResultNumber()}), sum);
    passProbabilities();
    for (Operation *op : added)
      addTo(makerOf(op->getOperand(0)), op->getOperand(0));
    for (Operation *op : computed)
      if (llvm::none_of(cut.consumers, [&](Consumer &one) { return one.ops.contains(op); }))
        addTo(cut.consumers.back(), op);
    return success(
        llvm::all_of(cut.consumers, [&](Consumer &one) { return succeeded(checkOwnSums(one)); }));
  }

  /// Whether a thread of one role holds all sums of an item. Items that own q tiles have one.
  bool sumsFit() {
    if (items.ownsQ())
      return true;
    int64_t threads = cut.tiling.getWarpgroups() * FragmentAttr::threadsOfWarpgroup, sum = 0;
    for (Value init : walk.getInits())
      sum += registersOf(init, threads);
    return sum <= mostRegistersOfSums;
  }

  /// With slots for P, the consumer that needs least beside it makes it, and passes it to the
  /// others.
  void passProbabilities() {
    auto made = walk.getBody().getOps<ProbabilityOp>();
    if (!cut.tiling.getSlotsOf(channelOfProbabilities) || !llvm::hasSingleElement(made))
      return;
    SmallVector<Consumer *> makers;
    for (Consumer &one : cut.consumers)
      if (one.ops.contains(*made.begin()))
        makers.push_back(&one);
    if (makers.size() < 2)
      return;
    Consumer *least = *llvm::min_element(
        makers, [](Consumer *one, Consumer *other) { return one->ops.size() < other->ops.size(); });
    cut.passed = (*made.begin()).getResult();
    cut.passer = least - cut.consumers.data();
    for (Consumer *one : makers)
      if (one != least) {
        one->ops.clear();
        for (unsigned sum : one->sums)
          addTo(*one, walk->getResult(sum));
      }
  }

  Consumer &addConsumer(StringRef name, ArrayRef<unsigned> sums) {
    Consumer &added = cut.consumers.emplace_back();
    added.name = name.str();
    added.sums.assign(sums.begin(), sums.end());
    return added;
  }

  /// The number of a sum that a walk carries, inside of it or behind; nothing for other values.
  std::optional<unsigned> numberOfSum(Value value) {
    if (auto sum = dyn_cast<OpResult>(value); sum && sum.getOwner() == walk)
      return sum.getResultNumber();
    auto carried = dyn_cast<BlockArgument>(value);
    if (carried && carried.getOwner()->getParentOp() == walk &&
        isa<RankedTensorType>(value.getType()))
      return carried.getArgNumber() - walk.getNumIndices();
    return std::nullopt;
  }

  LogicalResult checkOwnSums(const Consumer &consumer) {
    for (Operation *op : consumer.ops)
      for (Value operand : op->getOperands())
        if (std::optional<unsigned> sum = numberOfSum(operand);
            sum && !llvm::is_contained(consumer.sums, *sum))
          return op->emitError() << "computes with a sum of another consumer than '"
                                 << consumer.name << "': assign roles with consumers=together";
    return success();
  }

  /// A sum is named after the tensor that it is stored to.
  static std::string nameOfSum(OpResult sum) {
    for (Operation *user : sum.getUsers())
      if (auto store = dyn_cast<StoreOp>(user)) {
        TensorRoleAttr role = roleOf(store.getTarget());
        return role ? role.getName().str() : "sum";
      }
    return "sum" + std::to_string(sum.getResultNumber());
  }

  /// The consumer that makes the factors of a product, the last one if none does.
  Consumer &makerOf(Value tile) {
    for (Consumer &one : cut.consumers)
      if (one.ops.contains(tile.getDefiningOp()))
        return one;
    auto makes = [&](const Consumer &one) {
      return llvm::all_of(tile.getDefiningOp()->getOperands(), [&](Value factor) {
        return cut.roleOf(factor) != Role::Compute || one.ops.contains(factor.getDefiningOp());
      });
    };
    auto *found = llvm::find_if(cut.consumers, makes);
    return found == cut.consumers.end() ? cut.consumers.back() : *found;
  }

  /// Adds what a value is made of, and what an item does with it behind its walk.
  void addTo(Consumer &consumer, Value value) {
    Operation *op = value.getDefiningOp();
    if (op && op != walk)
      return addTo(consumer, op);
    std::optional<unsigned> sum = op == walk ? numberOfSum(value) : std::nullopt;
    if (!sum || !llvm::is_contained(consumer.sums, *sum))
      return;
    addTo(consumer, walk.getInits()[*sum]);
    addTo(consumer, walk.getYield()->getOperand(*sum));
    for (Operation *user : value.getUsers())
      addTo(consumer, user);
  }

  void addTo(Consumer &consumer, Operation *op) {
    bool isPassed =
        cut.passed && op == cut.passed.getDefiningOp() && &consumer != &cut.consumers[cut.passer];
    if (cut.roleOf(op) != Role::Compute || isPassed || !consumer.ops.insert(op))
      return;
    for (Value operand : op->getOperands())
      addTo(consumer, operand);
  }

  RoleCut &cut;
  ItemsOp items;
  WalkOp walk;
  ConsumerChoice choice;
};

} // namespace

LogicalResult dash::findConsumers(RoleCut &cut, ConsumerChoice choice) {
  return ConsumerFinder(cut, choice).find();
}
