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

static LogicalResult verifySides(ChannelOp channel) {
  SmallVector<Side> puts = sidesOf<PutOp>(channel), gets = sidesOf<GetOp>(channel);
  if (puts.size() != 1 || gets.size() != 1)
    return channel.emitError() << "channel '" << channel.getName()
                               << "' must have one role that puts and one that gets, got "
                               << puts.size() << " and " << gets.size();
  Side put = puts.front(), get = gets.front();
  if (!(put.count == get.count))
    return channel.emitError() << "role '" << put.role.getName() << "' puts slots of channel '"
                               << channel.getName() << "' " << toString(put.count) << ", but role '"
                               << get.role.getName() << "' gets them " << toString(get.count);
  SmallVector<Side> written = sidesOf<PutOp>(channel, [](PutOp op) { return !op.isLoad(); });
  return failure(
      failed(verifyFollowed(channel, put.role, written.empty() ? Count() : written.front().count,
                            "puts", sidesOf<PublishOp>(channel), "publishes")) ||
      failed(verifyFollowed(channel, get.role, get.count, "gets", sidesOf<ReleaseOp>(channel),
                            "releases")));
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

namespace {

/// A role's warps that run together, and how far they are.
struct Thread {
  RoleOp role;
  int64_t warpgroup, numWarpgroups;
  SmallVector<Operation *> program;
  size_t next = 0;

  bool isDone() const { return next == program.size(); }
};

/// How often one thread has done what to one channel.
struct Tokens {
  int64_t put = 0, published = 0, got = 0, released = 0;
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
    for (RoleOp role : workers.getRoles())
      for (int64_t w = 0, count = role.getNumWarpgroups(); w < count; ++w)
        threads.push_back({role, w, count, unroll(role, steps)});
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
        diagnostic.attachNote(thread.program[thread.next]->getLoc())
            << "role '" << thread.role.getName() << "', warpgroup " << thread.warpgroup
            << ", waits for " << *findWait(i);
    return diagnostic;
  }

private:
  /// Ops of items with these numbers of steps, in the order in which the role comes to them.
  static SmallVector<Operation *> unroll(RoleOp role, ArrayRef<int64_t> steps) {
    SmallVector<Operation *> program;
    auto add = [&](Operation *op) {
      if (isa<PutOp, PublishOp, GetOp, ReleaseOp, TakeTensorCoreOp, GiveTensorCoreOp>(op))
        program.push_back(op);
    };
    for (int64_t count : steps)
      for (Operation &op : role.getItems().getBody().front()) {
        auto walk = dyn_cast<WalkOp>(op);
        if (!walk) {
          add(&op);
          continue;
        }
        SmallVector<Issue> order = getIssueOrder(walk);
        if (order.empty())
          for (Operation &inner : walk.getBody().front())
            order.push_back({&inner, 0});
        int64_t stages = 0;
        for (const Issue &issue : order)
          stages = std::max(stages, issue.stage);
        for (int64_t turn = 0; turn < count + stages; ++turn)
          for (const Issue &issue : order)
            if (int64_t step = turn - issue.stage; step >= 0 && step < count)
              add(issue.op);
      }
    return program;
  }

  /// The least of what the threads of a role have done to a channel.
  int64_t least(RoleOp role, Value channel, int64_t Tokens::*what) {
    std::optional<int64_t> result;
    for (auto [i, thread] : llvm::enumerate(threads))
      if (thread.role == role) {
        int64_t done = tokens[{i, channel}].*what;
        result = result ? std::min(*result, done) : done;
      }
    return result.value_or(0);
  }

  /// What a thread waits for in front of its next op, if it has to.
  std::optional<std::string> findWait(size_t i) {
    Thread &thread = threads[i];
    Operation *op = thread.program[thread.next];
    if (auto put = dyn_cast<PutOp>(op)) {
      auto channel = put.getChannel().getDefiningOp<ChannelOp>();
      if (tokens[{i, channel}].put <
          least(channel.getGetter(), channel, &Tokens::released) + int64_t(channel.getDepth()))
        return std::nullopt;
      return ("an empty slot of channel '" + channel.getName() + "', which has " +
              Twine(channel.getDepth()))
          .str();
    }
    if (auto get = dyn_cast<GetOp>(op)) {
      auto channel = get.getChannel().getDefiningOp<ChannelOp>();
      if (tokens[{i, channel}].got < least(channel.getPutter(), channel, &Tokens::published))
        return std::nullopt;
      return ("a full slot of channel '" + channel.getName() + "'").str();
    }
    if (isa<TakeTensorCoreOp>(op) && thread.numWarpgroups > 1) {
      bool isFirst = thread.warpgroup == 0;
      size_t before = isFirst ? i + thread.numWarpgroups - 1 : i - 1;
      if (gives[before] + (isFirst ? 1 : 0) <= gives[i])
        return std::string("its turn on the tensor core");
    }
    return std::nullopt;
  }

  LogicalResult advance(size_t i) {
    Thread &thread = threads[i];
    Operation *op = thread.program[thread.next++];
    if (isa<GiveTensorCoreOp>(op))
      ++gives[i];
    if (isa<TakeTensorCoreOp, GiveTensorCoreOp>(op))
      return success();
    auto channel = getChannel(op).getDefiningOp<ChannelOp>();
    Tokens &mine = tokens[{i, channel}];
    if (auto put = dyn_cast<PutOp>(op)) {
      ++mine.put;
      mine.published += put.isLoad();
    } else if (isa<PublishOp>(op)) {
      if (++mine.published > mine.put)
        return op->emitError() << "publishes a slot of channel '" << channel.getName()
                               << "' that has not been put";
    } else if (isa<GetOp>(op)) {
      ++mine.got;
    } else if (++mine.released > mine.got) {
      return op->emitError() << "releases a slot of channel '" << channel.getName()
                             << "' that has not been got";
    }
    return success();
  }

  static Value getChannel(Operation *op) {
    return op->getOperands().back(); // the last operand of put, the only one of the others
  }

  WorkersOp workers;
  SmallVector<Thread> threads;
  llvm::DenseMap<std::pair<size_t, Value>, Tokens> tokens; // looked up only
  llvm::DenseMap<size_t, int64_t> gives;                   // looked up only
};

} // namespace

LogicalResult dash::verifyProtocol(WorkersOp workers) {
  for (ChannelOp channel : workers.getChannels())
    if (failed(verifySides(channel)))
      return failure();
  return Run(workers).run();
}
