//===- WorkersRegions.cpp - regions that main kernels ask for -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WorkersRegions.h"
#include "dash/Entries/Regions.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dash;

void dash::addContributions(Kernels &kernels) {
  TilesAttr tiles = kernels.facts().getTiles();
  for (TensorRoleAttr sums : kernels.program.getSummed())
    if (!kernels.program.isApart(sums))
      kernels.program = kernels.program.withRegion(
          RegionAttr::get(kernels.module->getContext(), contributionsRegion(sums),
                          contributionsBytes(sums, tiles, kernels.parts()),
                          /*alignment=*/128, RegionBefore::Any, RegionAfter::Any));
  kernels.module->setAttr(programAttr, kernels.program);
}

LogicalResult dash::addTrace(Kernels &kernels, WorkersOp workers) {
  if (kernels.program.getTrace())
    return workers.emitError()
           << "is the second main kernel of its program, and a trace is of one: "
              "trace a program that is tiled with split=none";
  Builder b(workers.getContext());
  llvm::SetVector<StringAttr> names;
  TraceLevel level = TraceLevel::Items;
  workers.walk([&](TraceOp op) {
    TraceEvent event = op.getEvent();
    if (op.getOfAttr())
      names.insert(op.getOfAttr());
    if (event == TraceEvent::Turn || event == TraceEvent::Given)
      level = std::max(level, TraceLevel::Turns);
    else if (event > TraceEvent::Item && event != TraceEvent::ItemEnd)
      level = TraceLevel::All;
  });
  SmallVector<StringAttr> lanes;
  for (const std::string &lane : workers.getLanes())
    lanes.push_back(b.getStringAttr(lane));
  int64_t every = workers.getTraceEvery(), records = *workers.getTrace();
  if (failed(TraceAttr::verify([&] { return workers.emitError(); }, level, every, records, lanes,
                               names.getArrayRef())))
    return failure();
  auto trace = TraceAttr::get(b.getContext(), level, every, records, lanes, names.getArrayRef());
  kernels.program = kernels.program.withTrace(trace);
  kernels.module->setAttr(programAttr, kernels.program);
  return success();
}
