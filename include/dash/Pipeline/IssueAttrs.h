//===- IssueAttrs.h - what the stage Pipeline says of ops ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract between Pipeline, which places ops, and Lowering, which emits them there.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_PIPELINE_ISSUEATTRS_H
#define DASH_PIPELINE_ISSUEATTRS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dash {

/// Of an op in an ordered walk: 0 works on the next step, 1 on this one, 2 on the one before.
constexpr llvm::StringLiteral stageAttr = "dash.stage";
/// Of an op in an ordered walk: its place among those that one turn issues.
constexpr llvm::StringLiteral orderAttr = "dash.order";
/// Of a `dash.store`: the name of the channel whose slot it goes through.
constexpr llvm::StringLiteral stagingAttr = "dash.staging";

} // namespace mlir::dash

#endif // DASH_PIPELINE_ISSUEATTRS_H
