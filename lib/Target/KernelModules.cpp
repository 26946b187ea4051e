//===- KernelModules.cpp - the gpu.modules of dash ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelModules.h"
#include "dash/IR/KernelAttrs.h"

using namespace mlir;
using namespace mlir::dash;

SmallVector<Operation *> dash::entriesOf(gpu::GPUModuleOp module) {
  SmallVector<Operation *> entries;
  for (Operation &op : *module.getBody())
    if (op.hasAttr(entryAttr))
      entries.push_back(&op);
  return entries;
}

SmallVector<gpu::GPUModuleOp> dash::kernelModules(Operation *root) {
  SmallVector<gpu::GPUModuleOp> modules;
  root->walk<WalkOrder::PreOrder>([&](gpu::GPUModuleOp module) {
    if (module->hasAttr(programAttr) || !entriesOf(module).empty())
      modules.push_back(module);
    return WalkResult::skip(); // a kernel module holds functions, but no modules
  });
  return modules;
}
