//===- EventQueue.h - workers in order of time ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A calendar queue: near times are dealt to buckets, served one after the other, each first come
// first served. Within a bucket, times differ by less than a small part of a task, which does not
// affect an order's quality. Taking an event is a handful of instructions.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LIB_SCHEDULE_SEARCH_EVENTQUEUE_H
#define DASH_LIB_SCHEDULE_SEARCH_EVENTQUEUE_H

#include "llvm/ADT/bit.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace mlir::dash {

/// Each worker is in it at most once.
class EventQueue {
public:
  /// `unit` is about the time between a worker's events.
  EventQueue(int64_t workers, double unit)
      : bucketsPerTime(bucketsPerUnit / std::max(unit, 1e-200)), firstEntry(workers),
        next(workers + numBuckets), times(workers) {
    std::iota(tails.begin(), tails.end(), firstEntry);
  }

  void push(double time, int32_t worker) {
    int64_t bucket = bucketOf(time);
    if (bucket - now < numBuckets)
      append(bucket, worker);
    else
      putFar(bucket, worker);
  }

  /// The worker whose time has come, or -1 if there is none.
  int32_t pop() {
    if (numNear == 0) {
      if (far.empty())
        return -1;
      fetchFar();
    }
    now += distanceToOccupied();
    if (!far.empty() && firstFar <= now)
      fetchFar();
    int64_t slot = now & (numBuckets - 1);
    int32_t entry = firstEntry + slot, worker = next[entry];
    // A processor cannot predict whether a bucket becomes empty, so no branch depends on it.
    bool isLast = tails[slot] == worker;
    next[entry] = next[worker];
    tails[slot] = isLast ? entry : tails[slot];
    occupied[slot / 64] &= ~(uint64_t(isLast) << (slot % 64));
    --numNear;
    return worker;
  }

private:
  static constexpr int64_t numBuckets = 1024, numWords = numBuckets / 64;
  static constexpr double bucketsPerUnit = 16;

  int64_t bucketOf(double time) const {
    return std::max(now, int64_t(std::min(time * bucketsPerTime, 0x1p61)));
  }

  void append(int64_t bucket, int32_t worker) {
    int64_t slot = bucket & (numBuckets - 1);
    next[tails[slot]] = worker;
    tails[slot] = worker;
    occupied[slot / 64] |= uint64_t(1) << (slot % 64);
    ++numNear;
  }

  int64_t distanceToOccupied() const {
    int64_t slot = now & (numBuckets - 1), word = slot / 64;
    if (uint64_t bits = occupied[word] >> (slot % 64))
      return llvm::countr_zero(bits);
    for (int64_t i = 1; i <= numWords; ++i)
      if (uint64_t bits = occupied[(word + i) % numWords])
        return (word + i) * 64 + llvm::countr_zero(bits) - slot;
    llvm_unreachable("some bucket is occupied");
  }

  LLVM_ATTRIBUTE_NOINLINE void putFar(int64_t bucket, int32_t worker) {
    times[worker] = bucket;
    firstFar = far.empty() ? bucket : std::min(firstFar, bucket);
    far.push_back(worker);
  }

  /// Goes on to the first of the far entries, and deals those that are now near to buckets.
  LLVM_ATTRIBUTE_NOINLINE void fetchFar() {
    now = firstFar;
    size_t kept = 0;
    for (int32_t worker : far) {
      if (times[worker] - now < numBuckets) {
        append(times[worker], worker);
        continue;
      }
      firstFar = kept == 0 ? times[worker] : std::min(firstFar, times[worker]);
      far[kept++] = worker;
    }
    far.resize(kept);
  }

  double bucketsPerTime;
  int64_t now = 0, firstFar = 0, numNear = 0;
  int32_t firstEntry;                    ///< index into `next` where the list of bucket 0 begins
  std::array<int32_t, numBuckets> tails; ///< entries; for an empty bucket its own
  std::array<uint64_t, numWords> occupied = {};
  std::vector<int32_t> next; ///< for each worker, then for each bucket
  std::vector<int32_t> far;
  std::vector<int64_t> times; ///< buckets of the entries in `far`
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_SEARCH_EVENTQUEUE_H
