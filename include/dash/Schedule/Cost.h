//===- Cost.h - predict a schedule's time ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_COST_H
#define DASH_SCHEDULE_COST_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// When one task runs, in the unit of the schedule's cost. With C(k) and R(k) the ends of compute
/// and reduction of a worker's k-th task, counted over all its items, and b dQ buffers:
///   C(k) = max(C(k-1), R(k-b)) + c + (boundary if the task is the first of its item)
///   R(k) = max(C(k), R(k-1), R(pred) + (latency if pred ran on another worker)) + r
/// where pred is the previous turn of the chain; an unordered schedule has none. The model of DASH
/// (arXiv 2601.21824) is b = 1 and latency 0.
///
/// With several parts whose pieces have a price p, an item of n pieces ends with n more uses of the
/// buffers, without a compute. The first ends at R(k) = max(R(k-1), P(pred) + (latency if pred ran
/// on another worker)) + p, where P is the end of the first piece of the part before. The others
/// end at R(k) = R(k-1) + p. A boundary then needs no buffer:
///   C(k) = max(C(k-1) + boundary, R(k-b)) + c for the first task of an item.
/// All of an item's pieces are reported as one task, `isPart`, which computes nothing and visits
/// its part turn.
struct TimedTask {
  int64_t worker, item, chain, step; ///< step is k; a part counts as one
  Visit visit;
  bool isPart = false;
  double computeStart, computeEnd, reduceStart, reduceEnd;
  /// What the start of a compute or reduction waited for, if it had to wait.
  enum class Cause { Itself, PreviousCompute, FreeBuffer, PreviousReduce, Chain };
  Cause computeCause, reduceCause;
};

/// Reports the times of every task, after those of the tasks it depends on. Precondition: verified.
void predict(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell);

/// The largest R. Precondition: verified.
double predictMakespan(const Schedule &schedule);

/// The most bytes of f32 dQ in flight at any time of the predicted run. A (sequence, head) pair is
/// in flight from the start of its first reduction to the end of its last. It counts with all its
/// rows: q rows x head dim x 4. If one pair ends when another starts, only the new one counts. Adds
/// to more than the L2 cache holds run slower than the model predicts. Saturates. Precondition:
/// verified.
int64_t peakDqBytes(const Schedule &schedule);

/// Figures of a predicted run. Shares are of all workers' time from 0 to the makespan. The rest of
/// that time is work: computing, or the last reductions after the last compute.
struct RunFigures {
  double makespan = 0;
  double waitForTurn = 0;   ///< neither computing nor reducing: a reduction waits for its turn
  double waitForBuffer = 0; ///< reducing, while the next compute waits for the buffer
  double idle = 0;          ///< after the worker's last reduction
  int64_t peakDqBytes = 0;
};

/// All of these from one prediction. Precondition: verified.
RunFigures predictFigures(const Schedule &schedule);

/// A lower bound for every order of this problem, with these items on these workers: the largest of
///  - all work over all workers,
///  - the longest item,
///  - the longest chain: c + n r, unless unordered,
///  - for every k, the k+1 shortest of the k W + 1 longest items: some worker must take as many.
/// i items of t tasks take i e + t (c + r) with one buffer, max(i e + t c, t r + i n p) with more.
/// Here e is the boundary or, with pieces, the time in which the next item has no buffer, if that
/// is longer: r + (n + 1 - b) p, with one buffer n p, and boundary - r. Items without tasks take
/// nothing.
double lowerBound(const Schedule &schedule);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_COST_H
