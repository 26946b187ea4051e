//===- ChannelProtocol.cpp - do roles ever wait for ever ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles and channels are a dataflow network: what a role does next depends on how often it has done
// things, never on when others did theirs. So tokens can be counted as in synchronous dataflow, and
// if one interleaving of a run comes to its end, all do: a single one is run here, over items of
// several lengths, with every warpgroup by itself.
//
//===----------------------------------------------------------------------===//

#include "ChannelProtocol.h"
#include "IssueOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Sides and balance
//===----------------------------------------------------------------------===//

namespace {

/// How often a role does something to a channel, once an item and in each step.
struct Count {
  int64_t perItem = 0, perStep = 0;
  bool isZero() const { return perItem == 0 && perStep == 0; }
  bool operator==(const Count &other) const {
    return perItem == other.perItem && perStep == other.perStep;
  }
};

struct Side {
  RoleOp role;
  Count count;
};

std::string toString(const Count &count) {
  return llvm::formatv("{0} in an item and {1} in a step", count.perItem, count.perStep);
}

/// How often each role uses the channel in this way; only those that do.
template <typename OpT>
SmallVector<Side> sidesOf(ChannelOp channel, llvm::function_ref<bool(OpT)> counts) {
  SmallVector<Side> sides;
  for (RoleOp role : cast<WorkersOp>(channel->getParentOp()).getRoles()) {
    Count count;
    role.walk([&](OpT op) {
      if (op.getChannel() == channel.getResult() && counts(op))
        ++(op->template getParentOfType<WalkOp>() ? count.perStep : count.perItem);
    });
    if (!count.isZero())
      sides.push_back({role, count});
  }
  return sides;
}

template <typename OpT> SmallVector<Side> sidesOf(ChannelOp channel) {
  return sidesOf<OpT>(channel, [](OpT) { return true; });
}

} // namespace

/// What `done` says of a slot is done as often as what `from` says, by the same role.
static LogicalResult verifyFollowed(ChannelOp channel, RoleOp role, Count from, StringRef verb,
                                    ArrayRef<Side> done, StringRef followed) {
  Count count;
  for (Side side : done)
    if (side.role != role)
      return channel.emitError() << "role '" << side.role.getName() << "' " << followed
                                 << " slots of channel '" << channel.getName() << "', but role '"
                                 << role.getName() << "' " << verb << " them";
    else
      count = side.count;
  if (count == from)
    return success();
  return channel.emitError() << "role '" << role.getName() << "' " << verb << " slots of channel '"
                             << channel.getName() << "' " << toString(from) << ", but " << followed
                             << " them " << toString(count);
}

/// Results leave through slots that come behind those of an item's steps.
static LogicalResult verifyWayOut(StoreOp store, ChannelOp channel, Side put) {
  if (auto role = store->getParentOfType<RoleOp>(); role != put.role)
    return store.emitError() << "lets a result of role '" << role.getName()
                             << "' leave through channel '" << channel.getName()
                             << "', which role '" << put.role.getName()
                             << "' fills: only that one knows which slots are empty";
  if (put.count.perItem != 0)
    return store.emitError() << "lets a result leave through channel '" << channel.getName()
                             << "', which is filled " << toString(put.count)
                             << ": expected one that only steps fill";
  return success();
}

static LogicalResult verifySides(ChannelOp channel) {
  SmallVector<Side> puts = sidesOf<PutOp>(channel), gets = sidesOf<WaitOp>(channel);
  if (puts.size() != 1 || gets.size() != 1)
    return channel.emitError() << "channel '" << channel.getName()
                               << "' must have one role that puts and one that waits, got "
                               << puts.size() << " and " << gets.size();
  Side put = puts.front(), get = gets.front();
  if (!(put.count == get.count))
    return channel.emitError() << "role '" << put.role.getName() << "' puts slots of channel '"
                               << channel.getName() << "' " << toString(put.count) << ", but role '"
                               << get.role.getName() << "' waits for them " << toString(get.count);
  for (Operation *user : channel.getResult().getUsers())
    if (auto store = dyn_cast<StoreOp>(user); store && failed(verifyWayOut(store, channel, put)))
      return failure();
  SmallVector<Side> written = sidesOf<PutOp>(channel, [](PutOp op) { return !op.isLoad(); });
  return failure(
      failed(verifyFollowed(channel, put.role, written.empty() ? Count() : written.front().count,
                            "puts", sidesOf<CommitOp>(channel), "commits")) ||
      failed(verifyFollowed(channel, get.role, get.count, "waits for", sidesOf<ReleaseOp>(channel),
                            "releases")));
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

namespace {

/// An op that a thread comes to, and the number of its use of a channel over the worker's life.
struct Event {
  Operation *op;
  int64_t use;
};

/// A role's warps that run together, and how far they are: warpgroups of a consumer, warps of a reducer, of which
/// each has every n-th step, or the one thread of a producer.
struct Thread {
  mutable RoleOp role; // ops are handles, their methods are not const
  int64_t number, count;
  SmallVector<Event> program;
  size_t next = 0;

  bool isDone() const { return next == program.size(); }
  /// As people know it.
  std::string name() const {
    StringRef what = role.isReducer() ? "warp" : "warpgroup";
    return llvm::formatv("role '{0}', {1} {2}", role.getName(), what, number);
  }
};

/// An mbarrier of a slot: arrivals in the phase at hand, and phases that are complete.
struct Barrier {
  int64_t arrivals = 0, complete = 0;
};

class Run {
public:
  explicit Run(WorkersOp workers) : workers(workers) {
    int64_t deepest = 1;
    for (ChannelOp channel : workers.getChannels())
      deepest = std::max<int64_t>(deepest, channel.getDepth());
    // Items without a step, shorter than the stages, and longer than everything that is in flight.
    int64_t longest = 2 * deepest + 3;
    SmallVector<int64_t> steps = {0, 1, 2, longest, 0, longest, 1, longest};
    for (RoleOp role : workers.getRoles()) {
      int64_t count = role.isReducer() ? role.getWarps() : role.getNumWarpgroups();
      for (int64_t number = 0; number < count; ++number)
        threads.push_back({role, number, count, unroll(role, number, count, steps)});
    }
  }

  LogicalResult run() {
    for (bool moves = true; moves;) {
      moves = false;
      for (auto [i, thread] : llvm::enumerate(threads))
        while (!thread.isDone() && !findWait(i)) {
          if (failed(advance(i)))
            return failure();
          moves = true;
        }
    }
    if (llvm::all_of(threads, [](Thread &thread) { return thread.isDone(); }))
      return success();
    auto diagnostic = workers.emitError() << "roles wait for each other for ever";
    for (auto [i, thread] : llvm::enumerate(threads))
      if (!thread.isDone())
        diagnostic.attachNote(thread.program[thread.next].op->getLoc())
            << thread.name() << ", waits for " << *findWait(i);
    return diagnostic;
  }

private:
  /// Ops of items with these numbers of steps, in the order in which a thread of the role comes to them.
  static SmallVector<Event> unroll(RoleOp role, int64_t number, int64_t count,
                                   ArrayRef<int64_t> steps) {
    SmallVector<Event> program;
    int64_t firstStep = 0;
    for (auto [item, numSteps] : llvm::enumerate(steps)) {
      // Behind the steps of an item a channel of steps may have uses of the item.
      auto add = [&, item = int64_t(item), numSteps = numSteps](Operation *op,
                                                                std::optional<int64_t> step) {
        if (isa<TakeTensorCoreOp, GiveTensorCoreOp>(op))
          program.push_back({op, 0});
        if (auto store = dyn_cast<StoreOp>(op); store && store.getThrough())
          for (int64_t piece : llvm::seq(store.getNumPieces()))
            program.push_back({op, firstStep + numSteps + store.getSlotOf(piece)});
        if (!isa<PutOp, CommitOp, WaitOp, ReleaseOp>(op))
          return;
        int64_t itemUses = channelOf(op).getNumItemUses();
        bool isOfSteps = step || itemUses > 0;
        int64_t use = isOfSteps
                          ? firstStep + step.value_or(numSteps + placeInItem(op)) + itemUses * item
                          : item;
        if (!isOfSteps || !role.isReducer() || use % count == number)
          program.push_back({op, use});
      };
      for (Operation &op : role.getItems().getBody().front()) {
        auto walk = dyn_cast<WalkOp>(op);
        if (!walk) {
          add(&op, std::nullopt);
          continue;
        }
        SmallVector<Issue> order = getIssueOrder(walk);
        if (order.empty())
          for (Operation &inner : walk.getBody().front())
            order.push_back({&inner, 0});
        int64_t stages = walk.getStages().value_or(1);
        for (int64_t iteration = 0; iteration < numSteps + stages - 1; ++iteration)
          for (const Issue &issue : order) {
            int64_t step = iteration - issue.stage;
            if (step >= 0 && step < numSteps)
              add(issue.op, step);
          }
      }
      firstStep += numSteps;
    }
    return program;
  }

  /// How often the item has done this to the channel before, outside of its walk.
  static int64_t placeInItem(Operation *op) {
    return llvm::count_if(
        llvm::make_range(op->getBlock()->begin(), op->getIterator()), [&](Operation &other) {
          return other.getName() == op->getName() && channelOf(&other) == channelOf(op);
        });
  }

  static ChannelOp channelOf(Operation *op) {
    auto put = dyn_cast<PutOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    return (put     ? put.getChannel()
            : store ? store.getThrough()
                    : op->getOperand(0))
        .getDefiningOp<ChannelOp>();
  }

  Barrier &barrier(ChannelOp channel, BarrierSide side, int64_t use) {
    return barriers[{channel, 2 * (use % int64_t(channel.getDepth())) + int64_t(side)}];
  }

  /// A phase is complete when all warpgroups of a consumer have arrived, or the one thread of another role.
  void arrive(const Thread &thread, Operation *op, BarrierSide side, int64_t use) {
    Barrier &barrier = this->barrier(channelOf(op), side, use);
    if (++barrier.arrivals < (thread.role.isConsumer() ? thread.count : 1))
      return;
    barrier.arrivals = 0;
    ++barrier.complete;
  }

  /// What a thread waits for in front of its next op, if it has to.
  std::optional<std::string> findWait(size_t i) {
    Thread &thread = threads[i];
    auto [op, use] = thread.program[thread.next];
    if (isa<PutOp, StoreOp, WaitOp>(op)) {
      ChannelOp channel = channelOf(op);
      int64_t depth = channel.getDepth();
      // The use before has to be released; the first use of a slot finds it empty.
      bool isPut = !isa<WaitOp>(op);
      int64_t phases = use / depth + (isPut ? 0 : 1);
      if (barrier(channel, isPut ? BarrierSide::Empty : BarrierSide::Full, use).complete >= phases)
        return std::nullopt;
      if (isPut)
        return llvm::formatv("an empty slot of channel '{0}', which has {1}", channel.getName(),
                             depth);
      return llvm::formatv("a full slot of channel '{0}'", channel.getName());
    }
    if (isa<TakeTensorCoreOp>(op) && thread.count > 1) {
      bool isFirst = thread.number == 0;
      size_t before = isFirst ? i + thread.count - 1 : i - 1;
      if (gives[before] + (isFirst ? 1 : 0) <= gives[i])
        return std::string("its turn on the tensor core");
    }
    return std::nullopt;
  }

  LogicalResult advance(size_t i) {
    Thread &thread = threads[i];
    auto [op, use] = thread.program[thread.next++];
    if (isa<GiveTensorCoreOp>(op))
      ++gives[i];
    if (isa<TakeTensorCoreOp, GiveTensorCoreOp>(op))
      return success();
    ChannelOp channel = channelOf(op);
    if (isa<PutOp, StoreOp, WaitOp>(op) && failed(checkPhase(i, op, use)))
      return failure();
    if (isa<StoreOp>(op))
      return success();
    auto put = dyn_cast<PutOp>(op);
    auto &mine = done[{i, channel}];
    if (put) {
      mine.insert(use);
      if (put.isLoad())
        arrive(thread, op, BarrierSide::Full, use);
    } else if (isa<WaitOp>(op)) {
      mine.insert(use);
    } else if (!mine.erase(use)) {
      bool isCommit = isa<CommitOp>(op);
      return op->emitError() << (isCommit ? "commits" : "releases") << " a slot of channel '"
                             << channel.getName() << "' that has not been "
                             << (isCommit ? "put" : "waited for");
    } else {
      arrive(thread, op, isa<CommitOp>(op) ? BarrierSide::Full : BarrierSide::Empty, use);
    }
    return success();
  }

  /// A parity tells a phase from the one before only to who has seen that one complete.
  LogicalResult checkPhase(size_t i, Operation *op, int64_t use) {
    ChannelOp channel = channelOf(op);
    int64_t depth = channel.getDepth(), phase = use / depth;
    int64_t &next = nextPhase[{i, {channel, 2 * (use % depth) + !isa<WaitOp>(op)}}];
    if (phase == next) {
      next += !isa<StoreOp>(op); // what is borrowed is waited for once more
      return success();
    }
    auto diagnostic = op->emitError() << threads[i].name() << ", waits for phase " << phase
                                      << " of slot " << use % depth << " of channel '"
                                      << channel.getName() << "' and has not waited for phase "
                                      << phase - 1 << ": a parity cannot tell them apart";
    diagnostic.attachNote(channel.getLoc()) << "the channel has " << depth << " slots";
    return diagnostic;
  }

  WorkersOp workers;
  SmallVector<Thread> threads;
  using SlotSide = std::pair<Value, int64_t>;
  llvm::DenseMap<SlotSide, Barrier> barriers;                     // looked up only
  llvm::DenseMap<std::pair<size_t, SlotSide>, int64_t> nextPhase; // looked up only
  llvm::DenseMap<std::pair<size_t, Value>, llvm::DenseSet<int64_t>>
      done;                              // put or waited for, not given on
  llvm::DenseMap<size_t, int64_t> gives; // looked up only
};

} // namespace

LogicalResult dash::verifyProtocol(WorkersOp workers) {
  for (ChannelOp channel : workers.getChannels())
    if (failed(verifySides(channel)))
      return failure();
  return Run(workers).run();
}
