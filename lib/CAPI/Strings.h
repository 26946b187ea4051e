//===- Strings.h - strings of the C API ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_CAPI_STRINGS_H
#define DASH_LIB_CAPI_STRINGS_H

#include "dash-c/Compile.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dash {

/// False for a NULL pointer with a length above 0.
inline bool isGiven(DashStringRef string) { return string.data || string.length == 0; }
inline llvm::StringRef toStringRef(DashStringRef string) { return {string.data, string.length}; }
/// Lives as long as `string`, and ends in a zero like every string that the library returns.
inline DashStringRef toC(const std::string &string) { return {string.c_str(), string.size()}; }
/// The value for "no string".
inline DashStringRef noString() { return {"", 0}; }

} // namespace mlir::dash

#endif // DASH_LIB_CAPI_STRINGS_H
