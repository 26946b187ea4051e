//===- NvvmSyncs.cpp - fences and groups of copies ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/DashOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

struct ProxyFence : SyncInterface::ExternalModel<ProxyFence, NVVM::FenceProxyOp> {
  SmallVector<Sync> getSyncs(Operation *op) const {
    switch (cast<NVVM::FenceProxyOp>(op).getKind()) {
    case NVVM::ProxyKind::async_shared:
      return {Sync{SyncKind::FenceShared}};
    case NVVM::ProxyKind::async_global:
      return {Sync{SyncKind::FenceGlobal}};
    default:
      return {};
    }
  }
};

struct CommitGroup : SyncInterface::ExternalModel<CommitGroup, NVVM::CpAsyncBulkCommitGroupOp> {
  SmallVector<Sync> getSyncs(Operation *) const { return {Sync{SyncKind::CommitCopies}}; }
};

struct WaitGroup : SyncInterface::ExternalModel<WaitGroup, NVVM::CpAsyncBulkWaitGroupOp> {
  SmallVector<Sync> getSyncs(Operation *op) const {
    auto wait = cast<NVVM::CpAsyncBulkWaitGroupOp>(op);
    return {Sync::waitForGroups(SyncKind::WaitForCopies, wait.getGroup(),
                                wait.getRead().value_or(false))};
  }
};

} // namespace

void dash::registerNvvmSyncs(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NVVM::NVVMDialect *) {
    NVVM::FenceProxyOp::attachInterface<ProxyFence>(*context);
    NVVM::CpAsyncBulkCommitGroupOp::attachInterface<CommitGroup>(*context);
    NVVM::CpAsyncBulkWaitGroupOp::attachInterface<WaitGroup>(*context);
  });
}
