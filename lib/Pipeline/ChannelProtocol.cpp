//===- ChannelProtocol.cpp - whether a role can wait forever --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles and channels form a dataflow network: what a role does next depends on how often it has
// done things, never on when others did theirs. So tokens can be counted as in synchronous
// dataflow. If one interleaving of a run ends, all do. This file runs a single one, over items of
// several lengths, with each warpgroup as a thread.
//
//===----------------------------------------------------------------------===//

#include "ChannelProtocol.h"
#include "IssueOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// Sides and balance
//===----------------------------------------------------------------------===//

namespace {

/// How often a role does something to a channel: once for each item, and in each step.
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

/// As in: role 'dv' or role 'dk'.
std::string namesOf(ArrayRef<Side> sides) {
  auto names = llvm::map_range(
      sides, [](Side side) { return llvm::formatv("role '{0}'", side.role.getName()).str(); });
  return llvm::join(names, " or ");
}

std::string toString(const Count &count) {
  return llvm::formatv("{0} in an item and {1} in a step", count.perItem, count.perStep);
}

/// Those of an op's waits and arrivals that are at this channel.
SmallVector<Sync> syncsAt(Operation *op, Value channel) {
  SmallVector<Sync> syncs = syncsOf(op);
  llvm::erase_if(syncs, [&](const Sync &sync) { return sync.slot.channel != channel; });
  return syncs;
}

/// Selects one way in which a role uses a channel.
using Way = llvm::function_ref<bool(ArrayRef<Sync>)>;

bool waitsFor(BarrierSide side, ArrayRef<Sync> syncs) {
  return llvm::any_of(syncs,
                      [&](const Sync &sync) { return sync.isWaitFor(side) && !sync.borrows; });
}
bool arrivesAt(BarrierSide side, ArrayRef<Sync> syncs) {
  return llvm::any_of(syncs, [&](const Sync &sync) { return sync.isArrivalAt(side); });
}
bool isPut(ArrayRef<Sync> syncs) { return waitsFor(BarrierSide::Empty, syncs); }
bool isPutOfThreads(ArrayRef<Sync> syncs) {
  return isPut(syncs) && !arrivesAt(BarrierSide::Full, syncs);
}
bool isCommit(ArrayRef<Sync> syncs) { return arrivesAt(BarrierSide::Full, syncs) && !isPut(syncs); }
bool isGet(ArrayRef<Sync> syncs) { return waitsFor(BarrierSide::Full, syncs); }
bool isRelease(ArrayRef<Sync> syncs) { return arrivesAt(BarrierSide::Empty, syncs); }
bool isBorrow(ArrayRef<Sync> syncs) {
  return llvm::any_of(syncs, [](const Sync &sync) { return sync.borrows; });
}

/// How often each role uses the channel in this way; only roles that do.
SmallVector<Side> sidesOf(ChannelOp channel, Way way) {
  SmallVector<Side> sides;
  for (RoleOp role : cast<WorkersOp>(channel->getParentOp()).getRoles()) {
    Count count;
    role.walk([&](Operation *op) {
      if (way(syncsAt(op, channel.getResult())))
        ++(op->getParentOfType<WalkOp>() ? count.perStep : count.perItem);
    });
    if (!count.isZero())
      sides.push_back({role, count});
  }
  return sides;
}

} // namespace

/// Checks that each role of `begun`, and no other, does `done` as often to a slot.
static LogicalResult verifyFollowed(ChannelOp channel, ArrayRef<Side> begun, StringRef verb,
                                    ArrayRef<Side> done, StringRef followed) {
  auto find = [](ArrayRef<Side> sides, RoleOp role) {
    return llvm::find_if(sides, [&](const Side &side) { return side.role == role; });
  };
  for (Side side : done)
    if (find(begun, side.role) == begun.end())
      return channel.emitError() << "role '" << side.role.getName() << "' " << followed
                                 << " slots of channel '" << channel.getName() << "', but "
                                 << namesOf(begun) << " " << verb << " them";
  for (Side side : begun) {
    const Side *other = find(done, side.role);
    Count count = other == done.end() ? Count() : other->count;
    if (!(count == side.count))
      return channel.emitError() << "role '" << side.role.getName() << "' " << verb
                                 << " slots of channel '" << channel.getName() << "' "
                                 << toString(side.count) << ", but " << followed << " them "
                                 << toString(count);
  }
  return success();
}

/// Results leave through slots that follow those of an item's steps.
static LogicalResult verifyWayOut(Operation *store, ChannelOp channel, Side put) {
  if (auto role = store->getParentOfType<RoleOp>(); role != put.role)
    return store->emitError() << "lets a result of role '" << role.getName()
                              << "' leave through channel '" << channel.getName()
                              << "', which role '" << put.role.getName()
                              << "' fills: only that one knows which slots are empty";
  if (put.count.perItem != 0)
    return store->emitError() << "lets a result leave through channel '" << channel.getName()
                              << "', which is filled " << toString(put.count)
                              << ": expected one that only steps fill";
  return success();
}

/// A result takes the place of a tile while its role holds the slot.
static LogicalResult verifyTakesPlace(StoreOp store, ChannelOp channel) {
  bool isHeld = false;
  for (Operation &op : llvm::make_range(store->getBlock()->begin(), store->getIterator())) {
    SmallVector<Sync> syncs = syncsAt(&op, channel.getResult());
    isHeld = (isHeld || isGet(syncs)) && !isRelease(syncs);
  }
  if (isHeld)
    return success();
  return store->emitError()
         << "lets a result take the place of a loaded tile in a slot of channel '"
         << channel.getName()
         << "' that its role does not hold: it stands before the wait, or behind "
            "the release";
}

/// Slots that no role fills are for the results of one role.
static LogicalResult verifyOneLeaves(ChannelOp channel) {
  SmallVector<Side> leaving = sidesOf(channel, isBorrow);
  if (leaving.size() == 1)
    return success();
  return channel.emitError() << "channel '" << channel.getName()
                             << "', which no role fills, must be the way out of one, got "
                             << leaving.size();
}

static LogicalResult verifySides(ChannelOp channel) {
  if (channel.isWayOut() && !sidesOf(channel, isBorrow).empty())
    return verifyOneLeaves(channel);
  SmallVector<Side> putters = sidesOf(channel, isPut), readers = sidesOf(channel, isGet);
  if (putters.size() != 1 || readers.empty())
    return channel.emitError() << "channel '" << channel.getName()
                               << "' must have one role that puts and at least one that waits, got "
                               << putters.size() << " and " << readers.size();
  Side put = putters.front();
  for (Side read : readers)
    if (!(put.count == read.count))
      return channel.emitError() << "role '" << put.role.getName() << "' puts slots of channel '"
                                 << channel.getName() << "' " << toString(put.count)
                                 << ", but role '" << read.role.getName() << "' waits for them "
                                 << toString(read.count);
  for (Operation *user : channel.getResult().getUsers())
    if (auto store = dyn_cast<StoreOp>(user);
        (store && store.isThroughLoaded() && failed(verifyTakesPlace(store, channel))) ||
        (isBorrow(syncsAt(user, channel.getResult())) && failed(verifyWayOut(user, channel, put))))
      return failure();
  SmallVector<Side> written = sidesOf(channel, isPutOfThreads);
  if (written.empty()) // by the copy engine, which signals by itself
    written.push_back({put.role, Count()});
  return failure(
      failed(verifyFollowed(channel, written, "puts", sidesOf(channel, isCommit), "commits")) ||
      failed(
          verifyFollowed(channel, readers, "waits for", sidesOf(channel, isRelease), "releases")));
}

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

namespace {

/// What an op of a thread waits for or arrives at, and the number of its use of a channel over the
/// worker's life.
struct Event {
  Operation *op;
  Sync sync;
  int64_t use;

  ChannelOp channel() const { return sync.slot.channel.getDefiningOp<ChannelOp>(); }
  bool isWait() const { return sync.kind == SyncKind::WaitForSlot; }
};

/// Warps of a role that run together, and their progress: a warpgroup of a consumer, a warp of a
/// reducer (each takes every n-th step), or the one thread of a producer.
struct Thread {
  mutable RoleOp role; // ops are handles, their methods are not const
  int64_t number, count;
  SmallVector<Event> program;
  size_t next = 0;

  bool isDone() const { return next == program.size(); }
  /// The name that messages use.
  std::string name() const {
    StringRef what = role.isReducer() ? "warp" : "warpgroup";
    return llvm::formatv("role '{0}', {1} {2}", role.getName(), what, number);
  }
};

/// An mbarrier of a slot: arrivals in the current phase, and the number of complete phases.
struct Barrier {
  int64_t arrivals = 0, complete = 0;
};

class Run {
public:
  explicit Run(WorkersOp workers) : workers(workers) {
    int64_t deepest = 1;
    for (ChannelOp channel : workers.getChannels()) {
      deepest = std::max<int64_t>(deepest, channel.getDepth());
      for (BarrierSide side : {BarrierSide::Full, BarrierSide::Empty})
        arrivals[{channel, int64_t(side)}] = countArrivals(channel, side);
    }
    // Items without a step, shorter than the stages, and longer than everything in flight.
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
  /// The ops of items with these numbers of steps, in the order in which a thread of the role
  /// reaches them.
  static SmallVector<Event> unroll(RoleOp role, int64_t number, int64_t count,
                                   ArrayRef<int64_t> steps) {
    SmallVector<Event> program;
    int64_t firstStep = 0;
    for (auto [item, numSteps] : llvm::enumerate(steps)) {
      auto add = [&, item = int64_t(item), numSteps = numSteps](Operation *op,
                                                                std::optional<int64_t> step) {
        for (const Sync &sync : syncsOf(op)) {
          if (!sync.slot.channel) {
            if (sync.kind == SyncKind::TakeTensorCore || sync.kind == SyncKind::GiveTensorCore)
              program.push_back({op, sync, 0});
            continue;
          }
          if (sync.borrows) { // after the item's steps, or a slot that has no uses
            bool isWayOut = sync.slot.channel.getDefiningOp<ChannelOp>().isWayOut();
            int64_t next = isWayOut ? 0 : firstStep + numSteps;
            program.push_back({op, sync, next + sync.slot.ahead});
            continue;
          }
          // After an item's steps, a channel of steps may have uses of the item.
          int64_t itemUses = sync.slot.channel.getDefiningOp<ChannelOp>().getNumItemUses();
          bool isOfSteps = step || itemUses > 0;
          int64_t use =
              isOfSteps ? firstStep + step.value_or(numSteps + placeInItem(op)) + itemUses * item
                        : item;
          if (!isOfSteps || !role.isReducer() || use % count == number)
            program.push_back({op, sync, use});
        }
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

  /// How often the item has done this to the channel before, outside its walk.
  static int64_t placeInItem(Operation *op) {
    auto channelOf = [](Operation *one) { return syncsOf(one).front().slot.channel; };
    return llvm::count_if(
        llvm::make_range(op->getBlock()->begin(), op->getIterator()), [&](Operation &other) {
          return other.getName() == op->getName() && channelOf(&other) == channelOf(op);
        });
  }

  Barrier &barrier(ChannelOp channel, BarrierSide side, int64_t use) {
    return barriers[{channel, 2 * (use % int64_t(channel.getDepth())) + int64_t(side)}];
  }

  /// A phase of full completes when all warpgroups of a consumer, or the one thread of another
  /// role, have arrived; one of empty, when those of all roles that read have.
  void arrive(const Event &event) {
    Barrier &barrier = this->barrier(event.channel(), event.sync.side, event.use);
    if (++barrier.arrivals < arrivals.lookup({event.channel(), int64_t(event.sync.side)}))
      return;
    barrier.arrivals = 0;
    ++barrier.complete;
  }

  static int64_t countArrivals(ChannelOp channel, BarrierSide side) {
    int64_t count = 0;
    for (Side one : sidesOf(channel, side == BarrierSide::Full ? isPut : isGet))
      count += one.role.isConsumer() ? one.role.getNumWarpgroups() : 1;
    return count;
  }

  /// What a thread must wait for before its next op, if anything.
  std::optional<std::string> findWait(size_t i) {
    Thread &thread = threads[i];
    const Event &event = thread.program[thread.next];
    if (event.isWait()) {
      ChannelOp channel = event.channel();
      int64_t depth = channel.getDepth();
      // The previous use must be released; the first use of a slot finds it empty.
      bool isFull = event.sync.side == BarrierSide::Full;
      int64_t phases = event.use / depth + (isFull ? 1 : 0);
      if (barrier(channel, event.sync.side, event.use).complete >= phases)
        return std::nullopt;
      if (isFull)
        return llvm::formatv("a full slot of channel '{0}'", channel.getName());
      return llvm::formatv("an empty slot of channel '{0}', which has {1}", channel.getName(),
                           depth);
    }
    if (event.sync.kind == SyncKind::TakeTensorCore && thread.count > 1) {
      bool isFirst = thread.number == 0;
      size_t before = isFirst ? i + thread.count - 1 : i - 1;
      if (gives[before] + (isFirst ? 1 : 0) <= gives[i])
        return std::string("its turn on the tensor core");
    }
    return std::nullopt;
  }

  LogicalResult advance(size_t i) {
    Thread &thread = threads[i];
    const Event &event = thread.program[thread.next++];
    gives[i] += event.sync.kind == SyncKind::GiveTensorCore;
    if (event.isWait()) {
      if (!event.sync.borrows)
        slotsOf(i, event.channel(), event.sync.side).insert(event.use);
      return checkPhase(i, event);
    }
    if (event.sync.kind != SyncKind::Arrive)
      return success();
    // A thread that fills an empty slot says that it is full, and the reverse.
    bool isCommit = event.sync.side == BarrierSide::Full;
    BarrierSide side = isCommit ? BarrierSide::Empty : BarrierSide::Full;
    if (!slotsOf(i, event.channel(), side).erase(event.use))
      return event.op->emitError() << (isCommit ? "commits" : "releases") << " a slot of channel '"
                                   << event.channel().getName() << "' that has not been "
                                   << (isCommit ? "put" : "waited for");
    arrive(event);
    return success();
  }

  /// Uses that a thread has waited for and not yet passed on.
  llvm::DenseSet<int64_t> &slotsOf(size_t i, ChannelOp channel, BarrierSide side) {
    return held[{i, {channel, int64_t(side)}}];
  }

  /// A parity distinguishes a phase from the one before only for a thread that saw the earlier one
  /// complete.
  LogicalResult checkPhase(size_t i, const Event &event) {
    ChannelOp channel = event.channel();
    int64_t depth = channel.getDepth(), phase = event.use / depth, slot = event.use % depth;
    int64_t &next = nextPhase[{i, {channel, 2 * slot + int64_t(event.sync.side)}}];
    if (phase == next) {
      next += !event.sync.borrows; // a borrowed slot is waited for once more
      return success();
    }
    auto diagnostic = event.op->emitError()
                      << threads[i].name() << ", waits for phase " << phase << " of slot " << slot
                      << " of channel '" << channel.getName() << "' and has not waited for phase "
                      << phase - 1 << ": a parity cannot tell them apart";
    diagnostic.attachNote(channel.getLoc()) << "the channel has " << depth << " slots";
    return diagnostic;
  }

  WorkersOp workers;
  SmallVector<Thread> threads;
  using SlotSide = std::pair<Value, int64_t>;
  llvm::DenseMap<SlotSide, Barrier> barriers; // looked up only
  llvm::DenseMap<SlotSide, int64_t> arrivals; // that complete a phase; looked up only
  llvm::DenseMap<std::pair<size_t, SlotSide>, int64_t> nextPhase;            // looked up only
  llvm::DenseMap<std::pair<size_t, SlotSide>, llvm::DenseSet<int64_t>> held; // looked up only
  llvm::DenseMap<size_t, int64_t> gives;                                     // looked up only
};

} // namespace

LogicalResult dash::simulateTokens(WorkersOp workers) {
  WalkResult said = workers.walk([](Operation *op) { return WalkResult(verifySaysAccesses(op)); });
  if (said.wasInterrupted())
    return failure();
  for (ChannelOp channel : workers.getChannels())
    if (failed(verifySides(channel)))
      return failure();
  return Run(workers).run();
}
