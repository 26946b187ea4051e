//===- Registration.cpp - dash's additions to a tool ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"

#include "dash/Cpu/Passes.h"
#include "dash/Driver/Passes.h"
#include "dash/Driver/Pipelines.h"
#include "dash/Entries/Passes.h"
#include "dash/IR/DashDialect.h"
#include "dash/IR/SlotAccess.h"
#include "dash/Main/Passes.h"
#include "dash/Pipeline/Passes.h"
#include "dash/Protocol/Passes.h"
#include "dash/Schedule/Passes.h"
#include "dash/Steps/Passes.h"
#include "dash/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;

void dash::registerDash(DialectRegistry &registry) {
  registry.insert<dash::DashDialect>();
  registerNvvmSyncs(registry);
}

void dash::registerDialectsOfPrograms(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect,
                  memref::MemRefDialect, scf::SCFDialect>();
}

void dash::registerDashPasses() {
  registerDashSchedulePasses();
  registerDashCpuPasses();
  registerDashPipelinePasses();
  registerDashStepsPasses();
  registerDashProtocolPasses();
  registerDashEntriesPasses();
  registerDashMainPasses();
  registerDashTargetPasses();
  registerDashDriverPasses();
  registerDashPipelines();
}
