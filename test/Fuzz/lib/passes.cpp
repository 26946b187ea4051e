//===- passes.cpp - passes and their options as doors ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Driver/Registration.h"
#include "doors.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

/// None of these writes a file. Where a schedule is built, the types or a few heads say for what.
static constexpr llvm::StringLiteral pipelines[] = {
    "dash-tile,dash-apply-schedule{kind=ascending workers=3 "
    "assume},dash-verify-schedule,dash-report-schedule",
    "dash-tile,dash-apply-schedule{kind=symmetric-shift workers=4 form=table "
    "sizes=q:256,kv:300,heads:2}",
    "dash-tile,dash-apply-schedule{kind=auto workers=3 sizes=q:256,kv:300,heads:2},dash-explain",
    "dash-verify-schedule,dash-report-schedule{format=json}",
    "dash-check-sizes,dash-check-kernels",
    "dash-choose-tiling,dash-tile,dash-apply-schedule{kind=ascending workers=3 "
    "assume},dash-assign-roles",
    "dash-choose-tiling{structure=overlapping slots=q:3,k:1}",
    "dash-assign-roles",
    "dash-order-products",
    "dash-place-releases",
    "dash-plan-buffers,dash-hold-factors",
    "dash-check-resources",
    "dash-outline-program",
    "dash-peel-walks",
    "dash-read-order,dash-distribute-tiles",
    "dash-lower-ordered-reduce,dash-sink-waits,dash-insert-waits",
    "dash-insert-delays,dash-insert-trace",
    "dash-verify-waits",
    "dash-split-warpgroups,dash-verify-protocol",
    "dash-outline-workers",
    "dash-emit-promela",
    "dash-sample-trace,dash-convert-to-nvvm",
    "dash-lower-roles",
    "dash-finish-program",
    "dash-lower-order",
    "dash-lower-prepare,dash-lower-convert",
    "dash-lower-to-loops",
    "dash-compare",
    "dash-attach-target,dash-convert-to-llvm",
};

/// A byte that picks a pipeline, and a module.
static void runPasses(StringRef bytes) {
  if (bytes.empty())
    return;
  StringRef pipeline = pipelines[uint8_t(bytes.front()) % std::size(pipelines)];
  MLIRContext &context = getContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(bytes.drop_front(), &context);
  PassManager manager(&context);
  if (!module || failed(parsePassPipeline(pipeline, manager, llvm::nulls())))
    return;
  (void)manager.run(*module);
}

/// A pipeline with its options. It is not run: options name files to write.
static void readOptions(StringRef bytes) {
  OpPassManager manager(ModuleOp::getOperationName());
  (void)parsePassPipeline(bytes, manager, llvm::nulls());
}

[[maybe_unused]] static const bool registered = [] {
  registerDashPasses();
  return true;
}();

static constexpr Door all[] = {{"passes", runPasses}, {"options", readOptions}};
const ArrayRef<Door> doors = all;
