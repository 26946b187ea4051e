//===- OrderCache.h - orders that were planned before -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H
#define DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H

#include "dash/Schedule/PlannedOrder.h"
#include "dash/Support/FileCache.h"

namespace mlir::dash {

/// All that the order of a request follows from, as text: the search's version and budget are among it, and which build of dash
/// searches. Equal requests to it have equal ones.
std::string describeRequest(const ScheduleHeader &request);

/// The same for what is chosen for a request: the price of rounding sums counts there, and in no order.
std::string describeChoice(const ScheduleHeader &request);

/// Planned orders and choices, kept on disk. An order that is read is proven anew.
class OrderCache {
public:
  /// Nothing is kept where `folder` is empty.
  explicit OrderCache(std::string folder) : files(std::move(folder), ".order") {}
  const std::string &getFolder() const { return files.getFolder(); }

  /// The order of a request that was kept before, or null.
  std::shared_ptr<const PlannedOrder> find(const ScheduleHeader &request) const;
  llvm::Error keep(const ScheduleHeader &request, const PlannedOrder &order) const;

  /// The same for what was chosen for a request. Its numbers are what the file says: compare them with those of its order.
  std::optional<OrderChoice> findChoice(const ScheduleHeader &request) const;
  llvm::Error keepChoice(const ScheduleHeader &request, const OrderChoice &choice) const;

private:
  FileCache files;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H
