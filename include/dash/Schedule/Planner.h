//===- Planner.h - sizes in, order buffer out ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For runtimes whose sizes change from step to step: one PTX serves them all, and this makes the buffer
// that its main kernel reads.
//
//   Planner planner;
//   ScheduleHeader request;
//   request.kind = "auto";
//   request.workers = request.width = 132;
//   request.problem.mask = Mask::causal();
//   request.problem.heads = request.problem.kvHeads = 16;
//   request.problem.sequences = {{8192, 8192}};
//   auto order = planner.plan(request); // llvm::Expected: check it
//   copyToDevice((*order)->words);
//
//===----------------------------------------------------------------------===//
#ifndef DASH_SCHEDULE_PLANNER_H
#define DASH_SCHEDULE_PLANNER_H

#include "dash/Schedule/Verify.h"
#include "llvm/Support/Error.h"

namespace mlir::dash {

/// A proven order in the form that kernels read (dash/IR/OrderBuffer.h).
struct PlannedOrder {
  std::string kind; ///< what built it; with kind=auto, what was chosen
  std::vector<int32_t> words;
  ScheduleFacts facts;
  double lowerBound = 0;
};

/// Makes orders, and keeps those that were asked for last. Safe to call from several threads. The same
/// request gives the same order, in every process and on every machine.
class Planner {
public:
  explicit Planner(size_t mostKept = 64);
  ~Planner();

  /// The order of a problem, whose `kind` is one of dash/Schedule/Kinds.h or "auto". Serves what kernels
  /// read as a table: one part, equal sequences, no bitmaps; else, or where no such order can be
  /// made, the error says why.
  llvm::Expected<std::shared_ptr<const PlannedOrder>> plan(const ScheduleHeader &request);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace mlir::dash

#endif // DASH_SCHEDULE_PLANNER_H
