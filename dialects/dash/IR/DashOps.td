//===- DashOps.td - every op of dash ----------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input for C++ and the reference page, in the order of the flow.
//===--------------------------------------------------------------------------===//

#ifndef DASH_IR_DASHOPS_TD
#define DASH_IR_DASHOPS_TD

include "dash/IR/DashComputeOps.td"
include "dash/IR/DashKernelAttrs.td"
include "dash/IR/DashOrderOps.td"
include "dash/IR/DashTileOps.td"
include "dash/IR/DashForwardOps.td"
include "dash/IR/DashCutOps.td"
include "dash/IR/DashPipelineOps.td"
include "dash/IR/DashLoopOps.td"
include "dash/IR/DashAsyncOps.td"
include "dash/IR/DashSumOps.td"
include "dash/IR/DashTraceOps.td"

#endif // DASH_IR_DASHOPS_TD
