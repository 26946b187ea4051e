//===- JsonFile.h - JSON that strangers wrote -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_SCHEDULE_JSONFILE_H
#define DASH_SCHEDULE_JSONFILE_H

#include "dash/Schedule/Schedule.h"
#include "llvm/Support/JSON.h"

namespace mlir::dash {

using JsonReader = llvm::function_ref<bool(const llvm::json::Value &, llvm::json::Path)>;

/// What a file holds. `what` names its kind in messages: "order".
FailureOr<std::string> readText(StringRef what, StringRef path, EmitError emitError);

/// Hands the JSON of a file's text to `read`, which reports what is wrong at its path. An object that has a
/// key twice is refused, because the parser would take the last.
LogicalResult parseJson(StringRef what, StringRef path, StringRef text, JsonReader read,
                        EmitError emitError);

/// Whether an object has no other keys, else reports one: a misspelt key would be a value that silently is
/// not there.
bool hasOnlyKeys(const llvm::json::Value &value, llvm::json::Path path,
                 ArrayRef<llvm::StringLiteral> known);

} // namespace mlir::dash

#endif // DASH_SCHEDULE_JSONFILE_H
