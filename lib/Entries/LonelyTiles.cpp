//===- LonelyTiles.cpp - q tiles without contributions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LonelyTiles.h"

using namespace mlir;
using namespace mlir::dash;

/// The value of a size that has only one, or -1.
static int64_t statedSize(ProgramAttr program, StringRef name) {
  for (SizeAttr size : program.getSizes())
    if (size.getName() == name && size.isFixed())
      return size.getMin();
  return -1;
}

FailureOr<std::optional<LonelyTiles>> dash::findLonelyTiles(const Kernels &kernels) {
  ProgramAttr program = kernels.program;
  MaskAttr mask = program.getFacts().getMask();
  auto emitError = [&] { return kernels.module->emitError(); };
  SequenceLengths rows{statedSize(program, "q_rows"), statedSize(program, "kv_rows")};
  bool areStated = rows.q >= 0 && rows.kv >= 0 && !kernels.isList();
  if (mask.getRules().empty() || (!areStated && !mask.getBlocks()))
    return std::optional<LonelyTiles>();
  if (!areStated)
    return emitError() << "rules of a mask are of stated rows, but 'q_rows' or 'kv_rows' is chosen "
                          "at a launch: make a table, by sizes of --dash-to-ptx";
  Problem problem;
  problem.tiles = {kernels.qTile(), kernels.kvTile()};
  problem.mask = toMask(mask);
  problem.sequences = {rows};
  if (failed(mask.verifyData(emitError)) ||
      failed(mask.verifyTiles(problem.tiles.q, problem.tiles.kv, emitError)) ||
      failed(mask.verifyRows(rows.q, rows.kv, emitError)))
    return failure();
  LonelyTiles lonely;
  for (int64_t q = 0, e = problem.numQTiles(0); q < e; ++q)
    if (problem.activeKv(0, q).size() == 0) {
      if (lonely.empty() || lonely.back().end != q)
        lonely.push_back({q, q});
      ++lonely.back().end;
    }
  return std::optional(lonely);
}
