//===- WorldReport.h - plans for people and programs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_WORLD_WORLDREPORT_H
#define DASH_WORLD_WORLDREPORT_H

#include "dash/World/WorldCost.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

namespace mlir::dash::world {

/// The figures of the plan.
void writeTable(llvm::raw_ostream &os, const World &world, const WorldPlan &plan);
/// What a rank computes, sends, receives and folds, line by line.
void writeRank(llvm::raw_ostream &os, const World &world, const WorldPlan &plan, int64_t rank);
/// One line for each kind, including those for comparison only.
llvm::Error writeComparison(llvm::raw_ostream &os, const World &world, uint64_t seed);
/// The whole plan, in the format of dialects/dash/World/world.schema.json.
void writeJson(llvm::raw_ostream &os, const World &world, const WorldPlan &plan);
/// Two pictures: the work of ranks, and the bytes from node to node.
void writeSvg(llvm::raw_ostream &os, const World &world, const WorldPlan &plan);
/// Predicted phases of each rank, for Perfetto and other readers of Chrome's trace format.
void writeTrace(llvm::raw_ostream &os, const World &world, const WorldPlan &plan);

using WriteReport = void (*)(llvm::raw_ostream &os, const World &world, const WorldPlan &plan);
/// The writer of a format: table, json, svg or trace; null for another word.
WriteReport findReport(llvm::StringRef format);

/// A world and its plan from a file that `writeJson` or another program wrote: proven like any
/// other.
struct FiledPlan {
  World world;
  WorldPlan plan;
};

llvm::Expected<FiledPlan> readPlan(StringRef path);

/// Determines the bits of all plans of a world: equal certificates and equal inputs give equal O,
/// LSE, dQ, dK and dV, on any number of ranks. forward: name and version of the code that computes
/// O and LSE. leafKernels: certificates of the kernels of leaves, in any order.
std::string certifyWorld(const World &world, StringRef forward, ArrayRef<std::string> leafKernels);

} // namespace mlir::dash::world

#endif // DASH_WORLD_WORLDREPORT_H
