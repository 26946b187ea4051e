//===- JsonFile.h - untrusted JSON files ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_JSONFILE_H
#define DASH_SCHEDULE_JSONFILE_H

#include "dash/Schedule/Schedule.h"
#include "llvm/Support/JSON.h"

namespace mlir::dash {

using JsonReader = llvm::function_ref<bool(const llvm::json::Value &, llvm::json::Path)>;

/// The content of a file. `what` names its kind in messages: "order".
FailureOr<std::string> readText(StringRef what, StringRef path, EmitError emitError);

/// Passes the JSON in a file's text to `read`, which reports errors at their path. An object with a
/// repeated key is refused, because the parser would take the last one.
LogicalResult parseJson(StringRef what, StringRef path, StringRef text, JsonReader read,
                        EmitError emitError);

/// Fails if an object has other keys: a misspelt key would otherwise be a missing value that
/// nothing reports.
bool hasOnlyKeys(const llvm::json::Value &value, llvm::json::Path path,
                 ArrayRef<llvm::StringLiteral> known);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_JSONFILE_H
