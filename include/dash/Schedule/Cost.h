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
/// where pred is the previous turn of the chain (DASH, arXiv 2601.21824, is b = 1 and latency 0);
/// there is none in an unordered schedule.
///
/// Of several parts whose pieces have a price p, an item of n pieces ends with n more uses of the buffers, which nobody
/// computes: R(k) = max(R(k-1), P(pred) + (latency if pred ran on another worker)) + p for the first of them, where P is the
/// end of that of the part in front, and R(k) = R(k-1) + p for the others. Nor does a boundary need a buffer then:
///   C(k) = max(C(k-1) + boundary, R(k-b)) + c for the first task of an item.
/// All of an item's pieces are told as one task, `isPart`, which computes nothing and visits its part turn.
struct TimedTask {
  int64_t worker, item, chain, step; ///< step is k; a part counts as one
  Visit visit;
  bool isPart = false;
  double computeStart, computeEnd, reduceStart, reduceEnd;
  /// What the start of the compute and of the reduction had to wait for, where it had to wait.
  enum class Cause { Itself, PreviousCompute, FreeBuffer, PreviousReduce, Chain };
  Cause computeCause, reduceCause;
};

/// Tells every task's times, each after the times that it depends on. Precondition: verified.
void predict(const Schedule &schedule, llvm::function_ref<void(const TimedTask &)> tell);

/// The largest R. Precondition: verified.
double predictMakespan(const Schedule &schedule);

/// The most bytes of f32 dQ in flight at any time of the predicted run. A (sequence, head) pair is in
/// flight from the start of its first reduction to the end of its last, whichever q tiles they add
/// to, and counts with all its rows: q rows x head dim x 4. At an instant at which one pair ends and
/// another starts, the ended one is not counted. Adds to more than the L2 cache holds run slower
/// than the model knows. Saturates. Precondition: verified.
int64_t peakDqBytes(const Schedule &schedule);

/// What a predicted run shows. The shares are of all workers' time from 0 to the makespan; the rest
/// of it is work: computing, or the last reductions after the last compute.
struct RunFigures {
  double makespan = 0;
  double waitForTurn = 0;   ///< neither computing nor reducing: a reduction waits for its turn
  double waitForBuffer = 0; ///< reducing while the next compute waits for the buffer
  double idle = 0;          ///< after the worker's last reduction
  int64_t peakDqBytes = 0;
};

/// All of these from one prediction. Precondition: verified.
RunFigures predictFigures(const Schedule &schedule);

/// What no order of this problem, with these items on these workers, can beat: the largest of
///  - all work over all workers,
///  - the longest item,
///  - the longest chain: c + n r, unless unordered,
///  - for every k, the k+1 shortest of the k W + 1 longest items, which some worker must take.
/// i items of t tasks take i e + t (c + r) with one buffer, max(i e + t c, t r + i n p) with more, where e is the boundary or,
/// with pieces, what leaves the next item no buffer, if that is longer: r + (n + 1 - b) p, with one buffer n p, and boundary - r.
/// Items without tasks take nothing.
double lowerBound(const Schedule &schedule);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_COST_H
