//===- PtxName.h - names of functions in PTX --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PTXNAME_H
#define DASH_IR_PTXNAME_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dash {

/// The name of the function `name` in PTX and files: letters, digits and `_` stay. Any other byte
/// becomes `$` and its two hexadecimal digits, and so does a leading digit. This is reversible, so
/// different functions get different names.
std::string ptxNameOf(llvm::StringRef name);

/// Whether the text is an identifier of PTX.
bool isPtxIdentifier(llvm::StringRef name);

} // namespace mlir::dash

#endif // DASH_IR_PTXNAME_H
