//===- Pipelines.cpp - the order of passes --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Driver/Pipelines.h"
#include "dash/Driver/Passes.h"
#include "dash/Entries/Passes.h"
#include "dash/Main/Passes.h"
#include "dash/Pipeline/Passes.h"
#include "dash/Protocol/Passes.h"
#include "dash/Schedule/Passes.h"
#include "dash/Steps/Passes.h"
#include "dash/Target/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace mlir::dash;

static void verifyAfter(OpPassManager &manager, Stage stage) {
  manager.addPass(createVerifyStage(VerifyStageOptions{stage}));
}

void dash::buildToPtxPipeline(OpPassManager &manager, const ToPtxOptions &options) {
  verifyAfter(manager, Stage::IR);
  manager.addPass(createCheckSizes()); // makes no order for sizes that are not covered

  // dash.attention_bwd -> tiles in a proven order
  ChooseTilingOptions tiling;
  tiling.qTile = options.qTile;
  tiling.kvTile = options.kvTile;
  tiling.structure = options.structure;
  tiling.slots = options.slots;
  tiling.target = options.target;
  manager.addPass(createChooseTiling(tiling));
  TileOptions tile;
  tile.split = options.split;
  tile.slack = options.slack;
  manager.addPass(createTile(tile));
  ApplyScheduleOptions order;
  order.kind = options.kind;
  order.path = options.path;
  order.workers = options.workers;
  order.target = options.target;
  order.level = options.level;
  order.parts = options.parts;
  order.apart = options.apart;
  order.forWorkers = options.forWorkers;
  order.sizes = options.sizes;
  order.costs = options.costs;
  order.card = options.card;
  order.assume = true;
  if (options.table)
    order.form = OrderForm::Table;
  manager.addPass(createApplySchedule(order));
  manager.addPass(createDealItems());
  manager.addPass(createVerifySchedule());
  verifyAfter(manager, Stage::Schedule);

  // tiles in an order -> roles and channels
  manager.addPass(createCheckKernels());
  // records of a trace say what each worker's list has, and are of one item after the other
  bool isTraced = options.trace != TraceLevel::None;
  manager.addPass(createAssignRoles(
      AssignRolesOptions{options.consumers, options.handOut && !isTraced, !isTraced}));
  manager.addPass(createKeepApart());
  if (options.overlap)
    manager.addPass(createOverlapRounding());
  manager.addPass(createOrderProducts());
  manager.addPass(createPlaceReleases());
  manager.addPass(createPlanBuffers(PlanBuffersOptions{options.target}));
  manager.addPass(createHoldFactors());
  manager.addPass(createCheckResources(CheckResourcesOptions{options.target}));
  verifyAfter(manager, Stage::Pipeline);

  // roles and channels -> kernels of llvm, nvvm, arith, cf, scf
  manager.addPass(createOutlineProgram(OutlineProgramOptions{options.tickets}));
  manager.addPass(createPeelWalks());
  manager.addPass(createSkipHiddenSteps());
  manager.addPass(createReadOrder());
  manager.addPass(createDistributeTiles());
  manager.addPass(createLowerOrderedReduce(LowerOrderedReduceOptions{options.contributions}));
  manager.addPass(createSinkWaits());
  manager.addPass(createHoistReleases());
  manager.addPass(createHoistStores());
  manager.addPass(createBeginItems());
  manager.addPass(createInsertWaits(InsertWaitsOptions{options.threadsArrive}));
  if (options.delays)
    manager.addPass(createInsertDelays());
  if (options.trace != TraceLevel::None)
    manager.addPass(createInsertTrace(
        InsertTraceOptions{options.traceRecords, options.traceEvery, options.trace}));
  manager.addPass(createSplitWarpgroups());
  manager.addPass(createOutlineWorkers());
  // entries that run before and after the main kernel
  manager.addPass(createLowerSequences());
  manager.addPass(createLowerOrder());
  manager.addPass(createLowerDeal());
  manager.addPass(createLowerPrepare());
  manager.addPass(createLowerConvert());
  manager.addPass(createLowerCombine());
  manager.addPass(createLowerClear());
  manager.addPass(createFinishProgram());
  // the last IR with slots: what it proves of the plan holds for this IR
  manager.addPass(createCheckResources(CheckResourcesOptions{options.target}));
  manager.addPass(createVerifyWaits());
  manager.addPass(createVerifyProtocol());
  if (options.trace != TraceLevel::None)
    manager.addPass(createSampleTrace());
  manager.addPass(createAwaitItems());
  manager.addPass(createHandOutItems());
  manager.addPass(createShareCode());
  manager.addPass(createConvertToNvvm());
  manager.addPass(createLowerRoles());
  verifyAfter(manager, Stage::Lowering);

  // kernels -> PTX and manifest
  manager.addPass(createAttachTarget(AttachTargetOptions{options.target}));
  manager.addPass(createConvertToLlvm());
  manager.addPass(createEmitPtx(EmitPtxOptions{options.output, options.ptxas}));
  verifyAfter(manager, Stage::Target);
}

void dash::registerDashPipelines() {
  PassPipelineRegistration<ToPtxOptions>(
      "dash-to-ptx", "Compile attentions, backward and forward, to PTX and manifests",
      buildToPtxPipeline);
}
