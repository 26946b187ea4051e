//===- PtxName.h - what functions are called in PTX -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_IR_PTXNAME_H
#define DASH_IR_PTXNAME_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::dash {

/// What PTX and files call the function `name`: letters, digits and `_` stay, any other byte becomes `$` and its two
/// hexadecimal digits, and so does a digit in front. It can be undone, so no two functions become one.
std::string ptxNameOf(llvm::StringRef name);

/// Whether PTX has such identifiers.
bool isPtxIdentifier(llvm::StringRef name);

} // namespace mlir::dash

#endif // DASH_IR_PTXNAME_H
