//===- OrderCache.h - orders that were planned before -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_ORDERCACHE_H
#define DASH_LIB_SCHEDULE_ORDERCACHE_H

#include "dash/Schedule/Planner.h"
#include "llvm/Support/MemoryBuffer.h"

namespace mlir::dash {

/// All that the order of a request follows from, the search's version and budget among it, as text: equal
/// requests have equal ones, on every machine.
std::string describeRequest(const ScheduleHeader &request);

/// The same for what is chosen for a request: the price of rounding sums counts there, and in no order.
std::string describeChoice(const ScheduleHeader &request);

/// A folder of planned orders and of choices, one to a file. Several processes may use it at once: files appear whole.
/// An order that is read is proven anew, and a file that is damaged, or of something else, is as good as none.
class OrderCache {
public:
  /// Nothing is kept where `folder` is empty.
  explicit OrderCache(std::string folder) : folder(std::move(folder)) {}

  /// The order of a request that was kept before, or null.
  std::shared_ptr<const PlannedOrder> find(const ScheduleHeader &request) const;
  /// Keeps an order. What has been kept longest goes once the folder holds more than `mostBytes`.
  llvm::Error keep(const ScheduleHeader &request, const PlannedOrder &order) const;

  /// The same for what was chosen for a request.
  std::optional<OrderChoice> findChoice(const ScheduleHeader &request) const;
  llvm::Error keepChoice(const ScheduleHeader &request, const OrderChoice &choice) const;

  static constexpr uint64_t mostBytes = uint64_t(1) << 30;

private:
  std::string pathOf(StringRef description) const;
  /// What stands in a file behind its hash and description, if both are right.
  std::unique_ptr<llvm::MemoryBuffer> read(StringRef description, StringRef &body) const;
  llvm::Error write(StringRef description, StringRef body) const;
  void prune() const;

  std::string folder;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_ORDERCACHE_H
