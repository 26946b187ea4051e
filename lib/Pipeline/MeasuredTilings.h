//===- MeasuredTilings.h - tilings that were the fastest --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_PIPELINE_MEASUREDTILINGS_H
#define DASH_LIB_PIPELINE_MEASUREDTILINGS_H

#include "Tiling.h"

namespace mlir::dash {

/// A measured tiling for each number of columns, and the record that has its numbers. Scores with a
/// softcap may have another one.
class MeasuredTilings {
public:
  struct Entry {
    Tiling tiling;
    std::string record;
  };

  /// Those of a file; those that come with the library where the path is empty. What is wrong in it
  /// is an error.
  static FailureOr<MeasuredTilings> read(StringRef path, MLIRContext *context,
                                         llvm::function_ref<InFlightDiagnostic()> emitError);

  /// The first that meets the constraints and fits the chip; null where there is none.
  const Entry *find(AttentionBwdOp op, const TilingConstraints &constraints,
                    const TargetDescription &target) const;

private:
  static FailureOr<MeasuredTilings> parse(StringRef path, StringRef text, MLIRContext *context,
                                          llvm::function_ref<InFlightDiagnostic()> emitError);

  SmallVector<Entry> entries;
};

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_MEASUREDTILINGS_H
