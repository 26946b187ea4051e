//===- check-world.cpp - random worlds, and plans that are spoiled ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   check-world random COUNT SEED    plans random problems with each kind, and proves them
//   check-world spoilt               breaks a good plan, rule by rule; prints the errors
//
//===----------------------------------------------------------------------===//

#include "dash/Support/WriteFile.h"
#include "dash/World/Documents.h"
#include "dash/World/VerifyWorld.h"
#include "dash/World/WorldKinds.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>

using namespace mlir::dash::world;

static llvm::ExitOnError exitOnError("check-world: ");

/// A problem with a placement in which each phase has messages, and each stage folds.
static constexpr uint64_t SEED = 13;

/// Lengths, heads, homes, speeds and numbers of ranks of all sorts; most documents have several
/// leaves, or one.
static WorldProblem randomProblem(RandomNumbers &random) {
  static constexpr int64_t groups[] = {1, 2, 4, 8, 3};
  WorldProblem p;
  p.cutVersion = random.below(4) ? 0 : 1;
  int64_t group = groups[random.below(5)];
  p.kvHeads = 1 + random.below(4);
  p.heads = group * p.kvHeads;
  p.headDim = random.below(4) ? 64 << random.below(2) : 8 * (1 + random.below(16));
  p.ranksPerNode = 1 + random.below(8);
  p.ranks = random.below(4)
                ? p.ranksPerNode * (1 + random.below((random.below(8) ? 12 : 64) / p.ranksPerNode))
                : 1 + random.below(p.ranksPerNode);
  p.kept = random.below(3) ? keepsAll + random.below(2) : 1 + random.below(1 << 22);
  int64_t longest = p.cutVersion == 1 ? 100000 : 3000;
  for (int64_t i = 0, count = 1 + random.below(5); i < count; ++i)
    p.documents.push_back(1 + random.below(random.below(2) ? longest : longest / 8));
  p.homes.resize(p.ranks);
  switch (random.below(4)) {
  case 0: {
    int64_t rows = 0;
    for (int64_t length : p.documents)
      rows += length;
    p.homes = packedHomes(p.documents, p.ranks, rows / p.ranks + 1);
    break;
  }
  case 1:
    p.homes = zigzagHomes(p.documents, p.ranks);
    break;
  default: // uneven pieces anywhere, so that many ranks are empty
    for (size_t document = 0; document < p.documents.size(); ++document)
      for (int64_t first = 0, length = p.documents[document]; first < length;) {
        int64_t rows = std::min(length - first, 1 + random.below(length));
        p.homes[random.below(p.ranks)].push_back({int64_t(document), first, rows});
        first += rows;
      }
  }
  if (random.below(3) == 0)
    for (int64_t rank = 0; rank < p.ranks; ++rank)
      p.speeds.push_back(500 + random.below(1000));
  p.prices.task = 1'876'000;
  p.prices.item = 10'393'000;
  return p;
}

static std::string checkRandom(int64_t count, uint64_t seed) {
  RandomNumbers random(seed);
  int64_t plans = 0, messages = 0, folds = 0, kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t state = random.next();
    RandomNumbers own(state);
    auto fail = [&](llvm::StringRef kind, llvm::Error error) {
      exitOnError(
          llvm::createStringError(llvm::formatv("problem {0} of seed {1}, kind {2}: {3}", i, seed,
                                                kind, llvm::toString(std::move(error)))
                                      .str()));
    };
    llvm::Expected<World> world = World::get(randomProblem(own));
    if (!world)
      fail("none", world.takeError());
    for (const WorldKind *kind : worldKinds()) {
      if (!kind->isLevelWorld()) {
        figuresOf(*world, kind->estimate(*world));
        continue;
      }
      llvm::Expected<WorldPlan> plan = planWorld(*world, kind->name, state);
      if (!plan)
        fail(kind->name, plan.takeError());
      ++plans;
      for (const Phase &phase : plan->backward)
        messages += phase.messages.size();
      folds += plan->folds.size();
      Figures f = figuresOf(*world, backwardLoad(*world, *plan));
      for (int64_t bytes : plan->keptBytes)
        kept += bytes;
      if (f.compute < f.bound)
        fail(kind->name, llvm::createStringError("is faster than the bound"));
    }
  }
  return llvm::formatv("{0} problems, {1} plans proven, {2} messages, {3} folds, {4} bytes kept\n",
                       count, plans, messages, folds, kept);
}

/// Four ranks in two nodes, and documents of one and of several leaves: every phase has messages,
/// every stage folds.
static World smallWorld(int64_t kept = 0) {
  WorldProblem p;
  p.cutVersion = 0;
  p.documents = {1700, 200,
                 500}; // homes begin at rows 600 and 1200 of the first, 100 of the second
  p.heads = 4;
  p.kvHeads = 2;
  p.ranks = 4;
  p.ranksPerNode = 2;
  p.kept = kept;
  p.homes = packedHomes(p.documents, p.ranks, 600);
  p.prices.task = 1'876'000;
  p.prices.item = 10'393'000;
  return exitOnError(World::get(std::move(p)));
}

namespace {
struct Spoil {
  const char *rule;
  std::function<void(WorldPlan &)> edit;
};
} // namespace

static Message &first(Phase &phase, uint32_t what) {
  for (Message &message : phase.messages)
    if (message.what & what)
      return message;
  exitOnError(llvm::createStringError("no such message"));
  return phase.messages.front();
}

/// Takes a message out, and closes the gaps, so that nothing but its absence is wrong.
static void drop(Phase &phase, uint32_t what) {
  Message gone = first(phase, what);
  phase.messages.erase(phase.messages.begin() + (&first(phase, what) - phase.messages.data()));
  phase.sendBytes[gone.from] -= gone.bytes;
  phase.receiveBytes[gone.to] -= gone.bytes;
  for (Message &message : phase.messages) {
    message.sendOffset -=
        message.from == gone.from && message.sendOffset > gone.sendOffset ? gone.bytes : 0;
    message.receiveOffset -=
        message.to == gone.to && message.receiveOffset > gone.receiveOffset ? gone.bytes : 0;
  }
}

/// Appends a copy of a message at the ends of both buffers.
static void repeat(Phase &phase, Message message) {
  for (const Message &other :
       phase.messages) // the last of its sender and receiver, so that partners stay in order
    if (other.from == message.from && other.to == message.to)
      message.sendOffset = other.sendOffset + other.bytes,
      message.receiveOffset = other.receiveOffset + other.bytes;
  for (Message &other : phase.messages) {
    other.sendOffset +=
        other.from == message.from && other.sendOffset >= message.sendOffset ? message.bytes : 0;
    other.receiveOffset +=
        other.to == message.to && other.receiveOffset >= message.receiveOffset ? message.bytes : 0;
  }
  phase.sendBytes[message.from] += message.bytes;
  phase.receiveBytes[message.to] += message.bytes;
  phase.messages.push_back(message);
}

/// Leaves a message only some of its tensors.
static void keepOnly(Phase &phase, Message &message, uint32_t what) {
  int64_t less = message.bytes / 2;
  message.what = what;
  message.bytes -= less;
  phase.sendBytes[message.from] -= less;
  phase.receiveBytes[message.to] -= less;
  for (Message &other : phase.messages) {
    other.sendOffset -=
        other.from == message.from && other.sendOffset > message.sendOffset ? less : 0;
    other.receiveOffset -=
        other.to == message.to && other.receiveOffset > message.receiveOffset ? less : 0;
  }
}

/// Has a message that begins where a home begins take the last row in front of it, too, and not its
/// own last.
static void shift(Phase &phase, uint32_t what) {
  for (Message &message : phase.messages)
    if ((message.what & what) &&
        (message.first == 100 || message.first == 600 || message.first == 1200)) {
      --message.first;
      --message.end;
      return;
    }
  exitOnError(llvm::createStringError("no such message"));
}

static Fold &firstFold(WorldPlan &plan, Stage stage) {
  for (Fold &fold : plan.folds)
    if (fold.stage == stage)
      return fold;
  exitOnError(llvm::createStringError("no such fold"));
  return plan.folds.front();
}

static const Spoil spoils[] = {
    // Runs.
    {"run-rank", [](WorldPlan &plan) { plan.runs[0].rank = 4; }},
    {"run-document", [](WorldPlan &plan) { plan.runs[0].document = 3; }},
    {"run-head", [](WorldPlan &plan) { plan.runs[0].kvHead = -1; }},
    {"run-leaves", [](WorldPlan &plan) { plan.runs.back().endLeaf = 99; }},
    {"coverage-none", [](WorldPlan &plan) { plan.runs.pop_back(); }},
    {"coverage-twice", [](WorldPlan &plan) { plan.runs.push_back(plan.runs[0]); }},
    // The form of messages.
    {"message-rank", [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].to = 9; }},
    {"message-itself",
     [](WorldPlan &plan) {
       Message &message = plan.forward[ForwardInputs].messages[0];
       message.to = message.from;
     }},
    {"message-node",
     [](WorldPlan &plan) {
       Message &message = plan.backward[BackwardSums].messages[0];
       message.to = (message.from + 2) % 4;
     }},
    {"message-document",
     [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].document = 7; }},
    {"message-heads", [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].kvHeads = 3; }},
    {"message-rows", [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].end = 9999; }},
    {"message-tensors", [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].what = DQ; }},
    {"message-bytes",
     [](WorldPlan &plan) { plan.forward[ForwardInputs].messages[0].bytes += 128; }},
    // The form of folds.
    {"fold-rank", [](WorldPlan &plan) { plan.folds[0].rank = 4; }},
    {"fold-node", [](WorldPlan &plan) { plan.folds[0].node = {0, 1}; }},
    {"fold-rows", [](WorldPlan &plan) { plan.folds[0].end = 5000; }},
    // Buffers.
    {"buffer-overlap",
     [](WorldPlan &plan) {
       Phase &phase = plan.forward[ForwardInputs];
       for (Message &message : phase.messages)
         if (message.sendOffset > 0) {
           message.sendOffset -= 128;
           return;
         }
     }},
    {"buffer-order",
     [](WorldPlan &plan) {
       // Swaps two messages of one sender to different receivers, of the same size.
       Phase &phase = plan.backward[Gradients];
       for (Message &a : phase.messages)
         for (Message &b : phase.messages)
           if (a.from == b.from && a.to < b.to && a.bytes == b.bytes) {
             std::swap(a.sendOffset, b.sendOffset);
             return;
           }
     }},
    {"buffer-gap",
     [](WorldPlan &plan) {
       for (Message &message : plan.forward[ForwardInputs].messages)
         if (message.receiveOffset == 0) {
           message.receiveOffset += 128;
           return;
         }
     }},
    {"buffer-size", [](WorldPlan &plan) { ++plan.forward[ForwardInputs].sendBytes[0]; }},
    {"buffer-ranks", [](WorldPlan &plan) { plan.forward[ForwardInputs].receiveBytes.pop_back(); }},
    {"sums-ranks", [](WorldPlan &plan) { plan.sumBytes.pop_back(); }},
    {"sums-size", [](WorldPlan &plan) { plan.sumBytes[0] = 128; }},
    // Rows that leaves read.
    {"input-not-home", [](WorldPlan &plan) { shift(plan.forward[ForwardInputs], Q); }},
    {"input-missing", [](WorldPlan &plan) { drop(plan.backward[BackwardInputs], DO); }},
    {"input-twice",
     [](WorldPlan &plan) {
       repeat(plan.forward[ForwardInputs], first(plan.forward[ForwardInputs], K));
     }},
    {"relay-not-there",
     [](WorldPlan &plan) {
       Message relayed = first(plan.forward[ForwardRelays], K);
       Phase &inputs = plan.forward[ForwardInputs];
       for (Message &message : inputs.messages)
         if (message.to == relayed.from && message.document == relayed.document &&
             message.kvHead <= relayed.kvHead &&
             relayed.kvHead < message.kvHead + message.kvHeads && message.what == (K | V) &&
             message.first <= relayed.first && relayed.first < message.end)
           return keepOnly(inputs, message, K);
     }},
    // Rows that come home.
    {"output-missing", [](WorldPlan &plan) { drop(plan.forward[ForwardOutputs], O); }},
    {"output-twice",
     [](WorldPlan &plan) {
       repeat(plan.forward[ForwardOutputs], first(plan.forward[ForwardOutputs], O));
     }},
    {"output-not-home", [](WorldPlan &plan) { shift(plan.forward[ForwardOutputs], O); }},
    {"dq-missing", [](WorldPlan &plan) { drop(plan.backward[Gradients], DQ); }},
    {"output-not-computed",
     [](WorldPlan &plan) {
       Message &message = first(plan.backward[Gradients], DQ);
       int64_t rows = message.end - message.first;
       message.first = message.first >= rows ? message.first - rows : message.first + rows;
       message.end = message.first + rows;
     }},
    // Sums.
    {"fold-missing", [](WorldPlan &plan) { plan.folds.erase(plan.folds.begin()); }},
    {"fold-twice", [](WorldPlan &plan) { plan.folds.insert(plan.folds.begin(), plan.folds[0]); }},
    {"fold-elsewhere",
     [](WorldPlan &plan) {
       Fold &fold = firstFold(plan, Stage::Server);
       fold.rank = (fold.rank + 1) % 4;
     }},
    {"fold-late", [](WorldPlan &plan) { firstFold(plan, Stage::Server).stage = Stage::Home; }},
    {"fold-rows-missing", [](WorldPlan &plan) { firstFold(plan, Stage::Home).end -= 1; }},
    {"sum-left",
     [](WorldPlan &plan) {
       while (plan.folds.back().node.level < 5) // the sum of the longest document
         plan.folds.pop_back();
       plan.folds.pop_back();
     }},
    {"sum-missing", [](WorldPlan &plan) { drop(plan.backward[BackwardSums], Sums); }},
    {"sum-twice",
     [](WorldPlan &plan) {
       repeat(plan.backward[BackwardSums], first(plan.backward[BackwardSums], Sums));
     }},
    {"sum-of-no-node",
     [](WorldPlan &plan) { first(plan.backward[Gradients], Sums).node = {9, 9}; }},
    {"gradient-half",
     [](WorldPlan &plan) {
       keepOnly(plan.backward[Gradients], first(plan.backward[Gradients], DK), DK);
     }},
    {"gradient-not-home", [](WorldPlan &plan) { shift(plan.backward[Gradients], DK); }},
    {"gradient-missing", [](WorldPlan &plan) { drop(plan.backward[Gradients], DK); }},
};

static llvm::Expected<WorldPlan> planTwoRanks(int64_t heads, int64_t rows, int64_t memory,
                                              int64_t kept) {
  WorldProblem p;
  p.documents = {rows};
  p.heads = p.kvHeads = heads;
  p.ranks = p.ranksPerNode = 2;
  p.homes = packedHomes(p.documents, 2, (rows + 1) / 2);
  p.memory = memory;
  p.kept = kept;
  p.prices.task = 1'876'000;
  p.prices.item = 10'393'000;
  World world = exitOnError(World::get(std::move(p)));
  return planWorld(world, "rows");
}

static std::string checkSpoilt() {
  World world = smallWorld();
  std::string text;
  llvm::raw_string_ostream os(text);
  WorldPlan good = exitOnError(planWorld(world, "random", /*seed=*/SEED));
  for (const Phase &phase : good.forward)
    os << llvm::formatv("forward {0}: {1} messages\n", phase.name, phase.messages.size());
  for (const Phase &phase : good.backward)
    os << llvm::formatv("backward {0}: {1} messages\n", phase.name, phase.messages.size());
  auto say = [&](llvm::StringRef rule, llvm::Error error) {
    os << rule << ": " << (error ? llvm::toString(std::move(error)) : "proven, though it is wrong")
       << "\n";
  };
  for (const Spoil &spoil : spoils) {
    WorldPlan plan = good;
    spoil.edit(plan);
    say(spoil.rule, verifyWorld(world, plan));
  }
  // A server that keeps what it has takes nothing a second time.
  World keeping = smallWorld(keepsAll), little = smallWorld(1000);
  WorldPlan kept = exitOnError(planWorld(keeping, "random", SEED));
  auto sayOf = [&](const char *rule, std::function<void(WorldPlan &)> edit) {
    WorldPlan plan = kept;
    edit(plan);
    say(rule, verifyWorld(keeping, plan));
  };
  sayOf("kept-again",
        [&](WorldPlan &plan) { plan.backward[BackwardRelays] = good.backward[BackwardRelays]; });
  sayOf("kept-inputs-again",
        [&](WorldPlan &plan) { plan.backward[BackwardInputs] = good.backward[BackwardInputs]; });
  sayOf("kept-heads", [](WorldPlan &plan) { plan.kept.back().kvHeads = 3; });
  sayOf("kept-twice", [](WorldPlan &plan) { plan.kept.push_back(plan.kept.back()); });
  sayOf("kept-order", [](WorldPlan &plan) { std::swap(plan.kept.front(), plan.kept.back()); });
  sayOf("kept-size", [](WorldPlan &plan) { ++plan.keptBytes[1]; });
  sayOf("kept-ranks", [](WorldPlan &plan) { plan.keptBytes.pop_back(); });
  // What is not kept does not arrive by itself.
  sayOf("kept-missing", [&](WorldPlan &plan) {
    plan.kept.pop_back();
    plan.keptBytes = keptBytesOf(keeping, plan);
  });
  say("kept-more", verifyWorld(little, kept));
  // One alone is kept of two heads that are placed alike, and whose messages have both.
  WorldPlan some = exitOnError(planWorld(smallWorld(), "rows", SEED));
  some.kept.push_back({0, 1, 1});
  say("kept-half", verifyWorld(keeping, some));
  say("split", planTwoRanks(64, 1 << 20, 0, 0).takeError());
  say("memory", planTwoRanks(2, 1 << 16, 1000, 0).takeError());
  say("memory-kept", planTwoRanks(2, 1 << 16, 1000, keepsAll).takeError());
  return text;
}

int main(int argc, char **argv) {
  llvm::StringRef mode = argc > 1 ? argv[1] : "";
  if (mode == "spoilt")
    exitOnError(mlir::dash::writeFile("-", checkSpoilt()));
  else if (mode == "random" && argc == 4)
    exitOnError(mlir::dash::writeFile("-", checkRandom(std::atoll(argv[2]), std::atoll(argv[3]))));
  else
    exitOnError(llvm::createStringError("expected random COUNT SEED, or spoilt"));
  return 0;
}
