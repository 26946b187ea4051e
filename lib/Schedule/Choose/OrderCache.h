//===- OrderCache.h - stored orders -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H
#define DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H

#include "dash/Schedule/PlannedOrder.h"
#include "dash/Support/FileCache.h"

namespace mlir::dash {

/// Everything that determines the order of a request, as text, including the search's version and
/// budget and the build of dash. Equal requests have equal texts.
std::string describeRequest(const ScheduleHeader &request);

/// The same for the choice for a request: it also depends on the price of rounding sums; no order
/// does.
std::string describeChoice(const ScheduleHeader &request);

/// The items and visits that words hold, in issue order: sorted by their visits; an item without
/// visits precedes the next one. Empty if `encodeOrder` does not write such words for a problem
/// whose items share no visits.
std::optional<Table> decodeOrder(ArrayRef<int32_t> words, const ScheduleHeader &header);

/// Planned orders and choices on disk. An order that is read is proven again.
class OrderCache {
public:
  /// Stores nothing if `folder` is empty.
  explicit OrderCache(std::string folder) : files(std::move(folder), ".order") {}
  const std::string &getFolder() const { return files.getFolder(); }

  /// The stored order of a request, or null.
  std::shared_ptr<const PlannedOrder> find(const ScheduleHeader &request) const;
  llvm::Error keep(const ScheduleHeader &request, const PlannedOrder &order) const;

  /// The stored choice for a request. Its numbers come from the file: compare them with those of
  /// its order.
  std::optional<OrderChoice> findChoice(const ScheduleHeader &request) const;
  llvm::Error keepChoice(const ScheduleHeader &request, const OrderChoice &choice) const;

private:
  FileCache files;
};

} // namespace mlir::dash

#endif // DASH_LIB_SCHEDULE_CHOOSE_ORDERCACHE_H
