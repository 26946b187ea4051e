//===- XlaFrame.h - reads what XLA passes to a handler ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_XLAFRAME_H
#define DASH_LIB_CAPI_XLAFRAME_H

#include "XlaFfi.h"
#include "dash-c/Launch.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mlir::dash::xla {

struct Problem {
  XLA_FFI_Error_Code code;
  std::string message;
};

/// Nothing, or the reason for the error that XLA gets.
using Outcome = std::optional<Problem>;

inline Problem refuse(std::string message) {
  return {XLA_FFI_Error_Code_INVALID_ARGUMENT, std::move(message)};
}

struct Attributes {
  std::string_view program, options, certificate, layout;
  float scale;
};

/// What of a tensor of a kernel is the same in all calls.
struct Argument {
  std::string name;
  bool isResult; ///< in XLA; the others are operands
  /// Whether it has rows of the batch or, with the layout "thd", of packed sequences.
  bool hasRows() const { return name != "sink" && name != "dsink" && !isOffsets(); }
  bool isOffsets() const { return name.rfind("cu_seqlens_", 0) == 0; }
};

Outcome readAttributes(const XLA_FFI_Attrs &attrs, Attributes &result);

/// given: in the order of `dashKernelGetTensorName`, as `tensors` are; memory: the last result;
/// order: for a table, the last operand.
Outcome readBuffers(const XLA_FFI_CallFrame &frame, std::string_view layout,
                    const std::vector<Argument> &given, bool hasTable,
                    std::vector<DashTensor> &tensors, DashMemory &memory, DashMemory &order);

} // namespace mlir::dash::xla

#endif // DASH_LIB_CAPI_XLAFRAME_H
