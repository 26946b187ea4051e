//===- Pipelines.h - the order of passes ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_DRIVER_PIPELINES_H
#define DASH_DRIVER_PIPELINES_H

#include "dash/Entries/Passes.h"
#include "dash/Pipeline/Passes.h"
#include "dash/Schedule/Passes.h"
#include "dash/Steps/Passes.h"
#include "dash/Target/Passes.h"
#include "mlir/Pass/PassOptions.h"
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::dash {

/// Options of `--dash-to-ptx`. The pass that has an option documents it, including its default.
/// Kinds and targets are strings: their registries know the valid ones.
struct ToPtxOptions : public PassPipelineOptions<ToPtxOptions> {
  Option<std::string> kind{*this, "kind", llvm::cl::desc("What builds the order, or `file`"),
                           llvm::cl::init(ApplyScheduleOptions().kind)};
  Option<std::string> path{*this, "path", llvm::cl::desc("The order, for kind=file"),
                           llvm::cl::init(ApplyScheduleOptions().path)};
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("The chip that kernels are for, by its name in PTX"),
                             llvm::cl::init(ApplyScheduleOptions().target)};
  Option<int64_t> workers{
      *this, "workers",
      llvm::cl::desc("Number of lists of the order; 0 is the target's multiprocessors"),
      llvm::cl::init(ApplyScheduleOptions().workers)};
  Option<LevelChoice> level{*this, "level", llvm::cl::desc("What the bits may not depend on"),
                            llvm::cl::init(ApplyScheduleOptions().level), levelWords()};
  Option<int64_t> parts{
      *this, "parts",
      llvm::cl::desc("Parts that the query heads of one kv head are split into; 0 "
                     "leaves it to kinds that look at sizes"),
      llvm::cl::init(ApplyScheduleOptions().parts)};
  Option<int64_t> forWorkers{*this, "for-workers",
                             llvm::cl::desc("Workers that an order of level machine is made for"),
                             llvm::cl::init(ApplyScheduleOptions().forWorkers)};
  Option<ApartChoice> apart{
      *this, "apart",
      llvm::cl::desc("Contributions that wait for no turn, and are added up at the end: none, "
                     "parts, all, or auto by predicted times"),
      llvm::cl::init(ApplyScheduleOptions().apart), apartWords()};
  Option<std::string> sizes{
      *this, "sizes", llvm::cl::desc("Sizes that the types leave open, for the proof or a table"),
      llvm::cl::init(ApplyScheduleOptions().sizes)};
  Option<bool> table{
      *this, "table",
      llvm::cl::desc("Write the order out for the stated sizes, where formulas would do"),
      llvm::cl::init(false)};
  Option<std::string> costs{
      *this, "costs", llvm::cl::desc("A file of costs; those of an H200 come with the compiler"),
      llvm::cl::init(ApplyScheduleOptions().costs)};
  Option<std::string> card{
      *this, "card",
      llvm::cl::desc("Instead of a file, the card whose costs are taken: h100 or h200"),
      llvm::cl::init(ApplyScheduleOptions().card)};
  // What is asked of the tiling: --dash-choose-tiling chooses the rest.
  Option<int64_t> qTile{*this, "q-tile", llvm::cl::desc("Rows of a tile of Q; 0 is the choice's"),
                        llvm::cl::init(ChooseTilingOptions().qTile)};
  Option<int64_t> kvTile{*this, "kv-tile",
                         llvm::cl::desc("Rows of a tile of K and V; 0 is the choice's"),
                         llvm::cl::init(ChooseTilingOptions().kvTile)};
  Option<StructureChoice> structure{
      *this, "structure",
      llvm::cl::desc("`alternating` or `overlapping` warpgroups, or what the choice takes"),
      llvm::cl::init(ChooseTilingOptions().structure), structureWords()};
  Option<std::string> slots{
      *this, "slots", llvm::cl::desc("Slots of channels (k, v, q, do, ds, dq), as in `q:3,do:3`"),
      llvm::cl::init(ChooseTilingOptions().slots)};
  Option<GradientSplit> split{
      *this, "split", llvm::cl::desc("The gradient with a main kernel of its own: none or dv"),
      llvm::cl::init(TileOptions().split), splitWords()};
  Option<double> slack{*this, "slack",
                       llvm::cl::desc("How far, in units of log 2, a score of a forward may be "
                                      "above its row's reference"),
                       llvm::cl::init(TileOptions().slack)};
  Option<ConsumerChoice> consumers{*this, "consumers",
                                   llvm::cl::desc("The roles that multiply: together, by-gradient, "
                                                  "one for each of dV and dK, or what fits"),
                                   llvm::cl::init(AssignRolesOptions().consumers), consumerWords()};
  Option<bool> handOut{
      *this, "hand-out",
      llvm::cl::desc("Let workers draw the items of a forward of run-time lengths without a trace"),
      llvm::cl::init(true)};
  Option<bool> overlap{
      *this, "overlap",
      llvm::cl::desc("Round sums once they are complete, while others are still added to"),
      llvm::cl::init(true)};
  Option<std::string> output{*this, "output",
                             llvm::cl::desc("Where to write: `DIR/name`; in the module if empty"),
                             llvm::cl::init(EmitPtxOptions().output)};
  Option<bool> contributions{*this, "contributions",
                             llvm::cl::desc("Keep each contribution to dQ, to replay chains"),
                             llvm::cl::init(LowerOrderedReduceOptions().contributions)};
  Option<bool> delays{*this, "delays",
                      llvm::cl::desc("Sleep at random where roles wait, for tests"),
                      llvm::cl::init(false)};
  Option<TraceLevel> trace{
      *this, "trace",
      llvm::cl::desc(
          "Leave records in a region of the workspace: none, of items, of turns too, or of "
          "all that roles wait for and do"),
      llvm::cl::init(TraceLevel::None), traceLevelWords()};
  Option<int64_t> traceEvery{
      *this, "trace-every",
      llvm::cl::desc(
          "Trace the second of each N items of a worker, or its only one (0: N by the level, 1 of "
          "items, 4 of turns, 64 of all)"),
      llvm::cl::init(0)};
  Option<int64_t> traceRecords{*this, "trace-records",
                               llvm::cl::desc("Records that each lane of a trace has room for"),
                               llvm::cl::init(16384)};
  Option<bool> tickets{
      *this, "tickets",
      llvm::cl::desc("Let workers draw their indices when they start, for plain launches"),
      llvm::cl::init(OutlineProgramOptions().tickets)};
  Option<bool> threadsArrive{*this, "threads-arrive",
                             llvm::cl::desc("Let threads arrive, not warps, for checkers of races"),
                             llvm::cl::init(InsertWaitsOptions().threadsArrive)};
  Option<std::string> ptxas{*this, "ptxas", llvm::cl::desc("An assembler to ask for registers"),
                            llvm::cl::init(EmitPtxOptions().ptxas)};
};

/// From programs to PTX. After each stage, a check verifies what it leaves.
void buildToPtxPipeline(OpPassManager &manager, const ToPtxOptions &options);

/// Registers `--dash-to-ptx`.
void registerDashPipelines();

} // namespace mlir::dash

#endif // DASH_DRIVER_PIPELINES_H
