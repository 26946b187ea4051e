//===- OrderFile.h - an order from outside ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_ORDERFILE_H
#define DASH_SCHEDULE_ORDERFILE_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// What a caller requires; empty fields require nothing. A file that contradicts is refused.
struct OrderFileRequest {
  std::string op; ///< selects the schedule if the file has several
  Problem problem;
  DeterminismLevel needed = DeterminismLevel::Run; ///< the weakest acceptable level
  std::optional<int64_t> workers, parts;
  std::optional<int64_t> forWorkers; ///< matters if the file's level is machine
  std::optional<double> compute, reduce, latency, boundary, piece, convert, gather;
  std::optional<int64_t> buffers;
  std::optional<Apart> apart;
  Cost cost; ///< for files that state none
};

/// Reads a schedule of kind "file" from a report document
/// (dialects/dash/Schedule/report.schema.json). Items with their visits and chains make the order.
/// Everything else may be omitted: `partChains` (the first part first), `parts` (1), `workers` (as
/// many as have items), `level` (the required one), `forWorkers` (the workers) and `cost`.
/// Statements about the problem must be true. The request's values replace omitted ones. The
/// makespan and similar figures are computed again. The order is not verified, but every chain only
/// names contributions that some item makes.
FailureOr<Schedule> readOrderFile(StringRef path, const OrderFileRequest &request,
                                  EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERFILE_H
