//===- OrderCache.h - orders that were planned before -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_ORDERCACHE_H
#define DASH_LIB_SCHEDULE_ORDERCACHE_H

#include "dash/Schedule/Planner.h"

namespace mlir::dash {

/// All that the order of a request follows from, the search's version and budget among it, as text: equal
/// requests have equal ones, on every machine.
std::string describeRequest(const ScheduleHeader &request);

/// A folder of planned orders, one to a file. Several processes may use it at once: files appear whole.
/// What is read is proven anew, and a file that is damaged, or of something else, is as good as none.
class OrderCache {
public:
  /// Nothing is kept where `folder` is empty.
  explicit OrderCache(std::string folder) : folder(std::move(folder)) {}

  /// The order of a request that was kept before, or null.
  std::shared_ptr<const PlannedOrder> find(const ScheduleHeader &request) const;
  /// Keeps an order. What has been kept longest goes once the folder holds more than `mostBytes`.
  llvm::Error keep(const ScheduleHeader &request, const PlannedOrder &order) const;

  static constexpr uint64_t mostBytes = uint64_t(1) << 30;

private:
  std::string pathOf(StringRef description) const;
  void prune() const;

  std::string folder;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_ORDERCACHE_H
