//===- WorldReportTrace.cpp - predicted phases of each rank, as a trace -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process for each node, two threads for each rank: one for compute, one for exchange. Shows
// forward, then backward, of one micro-batch. An exchange ends for all ranks at once, when its
// fullest port has ended.
//
//===----------------------------------------------------------------------===//

#include "dash/World/WorldReport.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::dash::world;

namespace {

class Trace {
public:
  Trace(llvm::raw_ostream &os, const World &world) : os(os), world(world) {}

  void write(const WorldPlan &plan) {
    os << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    int64_t ranks = world.problem().ranks;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      if (rank == 0 || world.nodeOf(rank) != world.nodeOf(rank - 1))
        name("process_name", rank, 0, llvm::formatv("node {0}", world.nodeOf(rank)));
      name("thread_name", rank, compute, llvm::formatv("rank {0} compute", rank));
      name("thread_name", rank, exchange, llvm::formatv("rank {0} exchange", rank));
    }
    PassLoad load = forwardLoad(world, plan);
    phases("forward", load, 0, ForwardOutputs);
    computes("forward", load);
    phases("forward", load, ForwardOutputs, numForwardPhases);
    load = backwardLoad(world, plan);
    phases("backward", load, 0, BackwardSums);
    computes("backward", load);
    phases("backward", load, BackwardSums, numBackwardPhases);
    os << "\n]}\n";
  }

private:
  enum Lane { compute, exchange };

  void event(const llvm::Twine &text) {
    os << separator << "{" << text << "}";
    separator = ",\n";
  }
  std::string place(int64_t rank, Lane lane) const {
    return llvm::formatv("\"pid\":{0},\"tid\":{1}", world.nodeOf(rank) + 1,
                         2 * rank + int(lane) + 1);
  }
  void name(StringRef what, int64_t rank, int lane, const llvm::Twine &value) {
    event("\"ph\":\"M\",\"name\":\"" + what + "\"," + place(rank, Lane(lane)) +
          ",\"args\":{\"name\":\"" + value + "\"}");
  }
  static std::string microseconds(int64_t picoseconds) {
    return llvm::formatv("{0}.{1,0+3}", picoseconds / 1'000'000, picoseconds / 1000 % 1000);
  }
  void slice(int64_t rank, Lane lane, const llvm::Twine &label, int64_t begin, int64_t length,
             const llvm::Twine &arguments) {
    if (length > 0)
      event("\"ph\":\"X\",\"name\":\"" + label + "\"," + place(rank, lane) +
            ",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(length) + ",\"args\":{" +
            arguments + "}");
  }

  void phases(StringRef pass, const PassLoad &load, int first, int end) {
    for (int i = first; i < end; ++i) {
      const Traffic &phase = load.phases[i];
      int64_t length = phaseTime(world, phase);
      for (int64_t rank = 0; rank < world.problem().ranks; ++rank)
        slice(rank, exchange, pass + " " + phase.name, now, length,
              llvm::formatv("\"bytesIn\":{0},\"bytesOut\":{1}",
                            phase.linkIn[rank] + phase.networkIn[rank],
                            phase.linkOut[rank] + phase.networkOut[rank]));
      now += length;
    }
  }
  void computes(StringRef pass, const PassLoad &load) {
    int64_t most = 0;
    for (int64_t rank = 0; rank < world.problem().ranks; ++rank) {
      slice(rank, compute, pass + " leaves", now, load.compute[rank], "");
      slice(rank, compute, pass + " folds", now + load.compute[rank], load.folds[rank], "");
      most = std::max(most, load.time(rank));
    }
    now += most;
  }

  llvm::raw_ostream &os;
  const World &world;
  StringRef separator = "\n";
  int64_t now = 0;
};

} // namespace

void mlir::dash::world::writeTrace(llvm::raw_ostream &os, const World &world,
                                   const WorldPlan &plan) {
  Trace(os, world).write(plan);
}
