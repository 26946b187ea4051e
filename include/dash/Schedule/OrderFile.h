//===- OrderFile.h - an order from outside ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_ORDERFILE_H
#define DASH_SCHEDULE_ORDERFILE_H

#include "dash/Schedule/Schedule.h"

namespace mlir::dash {

/// What a caller insists on, where it does: a file that says otherwise is refused.
struct OrderFileRequest {
  std::string op; ///< picks the schedule, where the file has several
  Problem problem;
  DeterminismLevel needed = DeterminismLevel::Run; ///< the weakest level that will do
  std::optional<int64_t> workers, parts;
  std::optional<int64_t> forWorkers; ///< counts where the file's level is machine
  std::optional<double> compute, reduce, latency, boundary, piece, convert, gather;
  std::optional<int64_t> buffers;
  std::optional<Apart> apart;
  Cost cost; ///< of files that state none
};

/// Reads a schedule of kind "file" from a report document (dialects/dash/Schedule/
/// report.schema.json). Items with their visits and chains make the order, and all else may be left
/// out: `partChains` (the first part first), `parts` (1), `workers` (as many as have items), `level` (what is needed),
/// `forWorkers` (the workers) and `cost`; what is said of the problem must be so. What the request insists on
/// takes the place of what is left out. Makespan and the like are computed anew. The order is not
/// verified, but every chain names only contributions that some item makes.
FailureOr<Schedule> readOrderFile(StringRef path, const OrderFileRequest &request,
                                  EmitError emitError);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_ORDERFILE_H
