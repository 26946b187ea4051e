//===- WorldPrices.cpp - times of leaves from the costs of kernels --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only file of World that knows the costs of schedules: microseconds there, picoseconds here.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Prices.h"
#include "dash/World/WorldProblem.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dash;

llvm::Expected<world::WorldPrices> world::WorldPrices::get(int64_t headDim, StringRef costsFile) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string message;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  FailureOr<Prices> prices = Prices::shipped();
  if (!costsFile.empty())
    prices = Prices::read(costsFile, [&] { return emitError(UnknownLoc::get(&context)); });
  if (failed(prices))
    return llvm::createStringError(message);
  Problem problem;
  problem.mask = Mask::causal();
  problem.headDim = problem.headDimV = headDim;
  problem.heads = problem.kvHeads = 1;
  problem.sequences = {{1, 1}};
  Cost cost = prices->of(problem, Priced::Whole);
  auto toPicoseconds = [](double microseconds) { return std::llround(microseconds * 1e6); };
  WorldPrices found;
  found.headDim = prices->headDimOf(problem);
  found.task = toPicoseconds(cost.compute);
  found.item = toPicoseconds(cost.boundary + numPieces(problem, /*parts=*/2, cost) * cost.piece);
  return found;
}
