//===- Coverage.cpp - the C API of what kernels cover ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers, passes and planner use the same numbers and names. This file only phrases them for
// callers that know tensors, not programs.
//
//===----------------------------------------------------------------------===//

#include "dash-c/Coverage.h"
#include "ReportOutcome.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TaskTiles.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Schedule/ForwardRows.h"
#include "dash/Schedule/Schedule.h"
#include "dash/Support/Limits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir::dash;
using launch::fail;
using launch::Outcome;
using llvm::StringRef;
using llvm::Twine;

/// "90" as "9.0".
static std::string spellCapability(int64_t capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

template <typename RangeT> static std::string join(const RangeT &numbers, StringRef word) {
  return llvm::join(llvm::map_range(numbers, [](int64_t one) { return std::to_string(one); }),
                    word);
}

static Outcome refuse(const Twine &message) { return fail(DASH_INVALID_ARGUMENT, message); }

namespace {

/// A problem. Numbers below 0 are unknown.
class Question {
public:
  explicit Question(const DashProblem &problem) : problem(problem) {}

  Outcome check() const {
    for (auto checkOne : {&Question::checkElement, &Question::checkLevel, &Question::checkHeadDims,
                          &Question::checkScores, &Question::checkUnion, &Question::checkBlocks,
                          &Question::checkSizes, &Question::checkList, &Question::checkSlices,
                          &Question::checkDevice})
      if (Outcome wrong = (this->*checkOne)())
        return wrong;
    return std::nullopt;
  }

  /// Precondition: the problem is covered.
  DashCoverage answer() const {
    DashCoverage coverage = {};
    coverage.kvHeads = slice(problem.kvHeads, mostHeads() / group());
    int64_t mostBatch = isList() ? maxKernelHeads : mostPlanned() / (coverage.kvHeads * group());
    coverage.batch = slice(problem.batch, std::min(mostBatch, maxKernelHeads));
    coverage.rows = maxKernelRows;
    coverage.sequences = maxKernelHeads;
    coverage.capability = knownTargets().front().capability;
    coverage.headDimMultiple = kernelHeadDimStep;
    coverage.headDim = mostPartHeadDim;
    coverage.alignment = matrixPlace.alignment;
    coverage.strideMultiple = matrixPlace.strideMultiple;
    coverage.tasks = countTasks();
    return coverage;
  }

private:
  bool isList() const { return problem.sequences != 0; }
  /// Heads of q for each head of k.
  int64_t group() const {
    return problem.heads > 0 && problem.kvHeads > 0 ? problem.heads / problem.kvHeads : 1;
  }

  /// The most heads of q, over the whole batch, that one order can be planned for.
  int64_t mostPlanned() const {
    auto tiles = [](int64_t rows, int64_t tile) {
      return llvm::divideCeil(std::max<int64_t>(rows, 1), tile);
    };
    int64_t q = tiles(problem.qRows, kernelQTiles[0]),
            kv = tiles(problem.kvRows, isInParts() ? leastPartKvTile : kernelKvTile);
    return std::min({maxItems / kv, maxChains / q, maxTasks / (q * kv)});
  }
  int64_t mostHeads() const {
    return isList() ? maxKernelHeads : std::min(mostPlanned(), maxKernelHeads);
  }

  /// As the verifier of `dash.attention_bwd` has it.
  int64_t countTasks() const {
    auto isKnown = [](int64_t size) { return size > 0; };
    bool isSized = isKnown(problem.headDim) && isKnown(problem.batch) && isKnown(problem.heads) &&
                   isKnown(problem.qRows) && isKnown(problem.kvRows);
    int64_t ofV = problem.headDimV > 0 ? problem.headDimV : problem.headDim;
    if (!isSized || isList() || problem.left >= 0 || problem.hasUnion || problem.hasBlocks ||
        !canKeepDs(problem.headDim, ofV))
      return 0;
    return countTaskTiles(problem.batch, problem.heads, problem.qRows, problem.kvRows);
  }

  /// Whether dK and dV, and dQ, are programs of their own.
  bool isInParts() const { return std::max(problem.headDim, problem.headDimV) > mostKernelHeadDim; }

  /// Equal slices of at most this size.
  static int64_t slice(int64_t whole, int64_t most) {
    return whole < 0 ? most : llvm::divideCeil(whole, llvm::divideCeil(whole, most));
  }

  Outcome checkElement() const {
    StringRef element = toStringRef(problem.element);
    if (element.empty() || llvm::is_contained(matrixElements, element))
      return std::nullopt;
    return refuse("q: expected elements of " + llvm::join(llvm::ArrayRef(matrixElements), " or ") +
                  ", found " + element.take_front(64) +
                  "; cast q, k and v, as torch.autocast does");
  }

  Outcome checkLevel() const {
    llvm::SmallVector<StringRef> served;
    for (auto level = DeterminismLevel::Run; level != DeterminismLevel::World;
         level = DeterminismLevel(int(level) + 1))
      served.push_back(stringifyDeterminismLevel(level));
    StringRef level = toStringRef(problem.level);
    if (level.empty() || llvm::is_contained(served, level))
      return std::nullopt;
    return refuse("level: expected one of " + llvm::join(served, ", ") + ", found '" +
                  level.take_front(64) + "'");
  }

  Outcome checkHeadDims() const {
    bool isApart = problem.headDimV >= 0 && problem.headDimV != problem.headDim;
    for (auto [tensor, tensors, dim] :
         {std::tuple("q", isApart ? "q and k" : "q, k and v", problem.headDim),
          {"v", "v", problem.headDimV}}) {
      if (dim < 0 || isKernelHeadDim(dim, /*isPart=*/true))
        continue;
      std::string hint;
      int64_t larger = llvm::alignTo(dim, kernelHeadDimStep);
      if (dim > 0 && larger <= mostPartHeadDim) {
        hint = "; pad " + std::string(tensors) + " with zeros to " + std::to_string(larger);
        if (dim == problem.headDim)
          hint += ", and pass scale=" + std::to_string(dim) + "**-0.5";
      }
      return refuse(Twine(tensor) + ": expected " + describeKernelHeadDims(/*isPart=*/true) +
                    ", found " + Twine(dim) + hint);
    }
    if (isInParts() && problem.hasSink)
      return refuse("sink: expected a head dim up to " + Twine(mostKernelHeadDim) + ", found " +
                    Twine(std::max(problem.headDim, problem.headDimV)) +
                    ": above it dq, dk and dv come from two programs, and neither has the sink's "
                    "gradient; take a framework's attention for this model");
    return std::nullopt;
  }

  Outcome checkScores() const {
    if (!isWindowSide(problem.left) || !isWindowSide(problem.right))
      return refuse("window: expected whole numbers from -1 (no bound) to " + Twine(maxRows) +
                    ", found (" + Twine(problem.left) + ", " + Twine(problem.right) + ")");
    if (Outcome wrong = checkCut())
      return wrong;
    if (problem.softcap == 0 || isCap(problem.softcap))
      return std::nullopt;
    return refuse("softcap: expected a finite number above 0, or 0 for none, found " +
                  std::to_string(problem.softcap));
  }

  Outcome checkUnion() const {
    if (!problem.hasUnion)
      return std::nullopt;
    if (problem.unionColumns < 1 || problem.unionColumns > maxRows)
      return refuse("mask: expected a union with the first 1 to " + Twine(maxRows) +
                    " columns, found " + Twine(problem.unionColumns));
    if (isWindowSide(problem.unionLeft) && isWindowSide(problem.unionRight))
      return std::nullopt;
    return refuse("mask: expected sides of a union's window from -1 (no bound) to " +
                  Twine(maxRows) + ", found (" + Twine(problem.unionLeft) + ", " +
                  Twine(problem.unionRight) + ")");
  }

  /// Rows of kv tiles of both passes are multiples of these.
  int64_t kvTileOfBoth() const {
    int64_t ofV = problem.headDimV > 0 ? problem.headDimV : problem.headDim;
    int64_t ofForward = rowsOfForward(problem.headDim, ofV).kv;
    return std::lcm(ofForward, kernelKvTile);
  }

  /// A bitmap's blocks are whole tiles, and it is of stated rows.
  Outcome checkBlocks() const {
    if (!problem.hasBlocks)
      return std::nullopt;
    if (isList())
      return refuse("mask: expected no bitmap beside sequences of their own lengths, found one: "
                    "kernels cover bitmaps of batches of equal sequences; call attention for "
                    "each sequence by itself");
    if (problem.headDim > 0) {
      int64_t q = kernelQTiles[isInParts()], kv = kvTileOfBoth();
      if (problem.blockQ < 1 || problem.blockQ % q || problem.blockKv < 1 || problem.blockKv % kv)
        return refuse("mask: expected blocks of a multiple of " + Twine(q) + " rows of q and " +
                      Twine(kv) + " of k at these head dims, found " + Twine(problem.blockQ) +
                      " x " + Twine(problem.blockKv));
    }
    for (auto [tensor, rows, block, found] :
         {std::tuple("q", problem.qRows, problem.blockQ, problem.qBlocks),
          {"k", problem.kvRows, problem.blockKv, problem.kvBlocks}})
      if (rows > 0 && block > 0 && llvm::divideCeil(rows, block) != uint64_t(found))
        return refuse("mask: expected a bitmap of " + Twine(llvm::divideCeil(rows, block)) +
                      " blocks for " + Twine(rows) + " rows of " + tensor + ", found " +
                      Twine(found));
    return std::nullopt;
  }

  /// Pieces of keys are whole tiles.
  Outcome checkCut() const {
    if (problem.cut <= 0 || problem.headDim <= 0)
      return std::nullopt;
    int64_t ofV = problem.headDimV > 0 ? problem.headDimV : problem.headDim;
    int64_t tile = rowsOfForward(problem.headDim, ofV).kv;
    if (problem.cut > maxKernelRows)
      return refuse("cut: expected at most " + Twine(maxKernelRows) +
                    " rows, the most of a sequence, found " + Twine(problem.cut));
    if (problem.cut % tile == 0)
      return std::nullopt;
    int64_t below = problem.cut / tile * tile;
    return refuse("cut: expected a multiple of " + Twine(tile) +
                  ", the rows of a kv tile at these head dims, found " + Twine(problem.cut) +
                  "; take " + (below > 0 ? Twine(below) + " or " : Twine()) + Twine(below + tile));
  }

  Outcome checkSizes() const {
    for (auto [tensor, what, size] : {std::tuple("q", "a batch", problem.batch),
                                      {"q", "heads", problem.heads},
                                      {"k", "heads", problem.kvHeads},
                                      {"q", "rows", problem.qRows},
                                      {"k", "rows", problem.kvRows}})
      if (size == 0)
        return refuse(Twine(tensor) + ": expected " + what + " of at least 1, found 0");
    if (problem.heads > 0 && problem.kvHeads > 0 && problem.heads % problem.kvHeads != 0)
      return refuse("k: expected a number of heads that divides that of q, " +
                    Twine(problem.heads) + ", found " + Twine(problem.kvHeads));
    StringRef ofList = isList() ? "; split the sequences among calls" : "";
    if (problem.qRows > maxKernelRows)
      return refuse(
          "q: expected at most " + Twine(maxKernelRows) + " rows, found " + Twine(problem.qRows) +
          (isList() ? ofList : "; call attention for pieces of q, each with what it sees of k"));
    if (problem.kvRows > maxKernelRows)
      return refuse("k: expected at most " + Twine(maxKernelRows) + " rows, found " +
                    Twine(problem.kvRows) +
                    (isList() ? ofList
                              : "; call attention for pieces of k and v, and merge the results "
                                "by their LSE"));
    return std::nullopt;
  }

  Outcome checkList() const {
    if (problem.sequences <= maxKernelHeads)
      return std::nullopt;
    int64_t each = slice(problem.sequences, maxKernelHeads);
    int64_t calls = llvm::divideCeil(problem.sequences, each);
    return refuse("cu_seqlens: expected offsets of at most " + Twine(maxKernelHeads) +
                  " sequences, found those of " + Twine(problem.sequences) +
                  "; add up the results of " + Twine(calls) + " calls with cu_seqlens[i * " +
                  Twine(each) + ":(i + 1) * " + Twine(each) + " + 1], i from 0 to " +
                  Twine(calls - 1) + ": rows of other sequences are 0");
  }

  /// A launch takes at least one group of heads. A list of sequences is not cut: the caller would
  /// have to know where sequences end.
  Outcome checkSlices() const {
    if (problem.heads <= 0 || problem.kvHeads <= 0)
      return std::nullopt;
    if (isList() && problem.heads > mostHeads())
      return refuse("q: expected at most " + Twine(mostHeads()) +
                    " heads beside sequences, found " + Twine(problem.heads) +
                    "; call attention for some heads at a time");
    if (group() <= mostHeads())
      return std::nullopt;
    return refuse("k: expected at most " + Twine(mostHeads()) +
                  " heads of q over each of k, found " + Twine(group()) +
                  (mostHeads() > 0 ? "; repeat the heads of k and v"
                                   : "; so many rows are in no order: call attention for pieces"));
  }

  Outcome checkDevice() const {
    if (problem.capability < 0 ||
        llvm::any_of(
            knownTargets(),
            [&](const TargetDescription &one) { return one.capability == problem.capability; }))
      return std::nullopt;
    auto known = llvm::map_range(knownTargets(), [](const TargetDescription &one) {
      return spellCapability(one.capability) + " (" + one.products.str() + ")";
    });
    StringRef device = problem.device.length ? toStringRef(problem.device).take_front(64) : "one";
    return refuse("expected a GPU of compute capability " + llvm::join(known, " or ") + ", found " +
                  (problem.capability == 0
                       ? "none"
                       : device + " of " + spellCapability(problem.capability) +
                             "; there, a deterministic backward of FlashAttention or "
                             "cuDNN has the same bits on every run"));
  }

  const DashProblem &problem;
};

} // namespace

DashStatus dashCompilerCovers(const DashProblem *problem, DashDiagnosticHandler handler,
                              void *userData, DashCoverage *coverage) {
  if (!problem)
    return refuse("'problem' is NULL", handler, userData);
  if (!isGiven(problem->element) || !isGiven(problem->level) || !isGiven(problem->device))
    return refuse("a string is NULL but not empty", handler, userData);
  Question question(*problem);
  Outcome wrong = question.check();
  if (!wrong && coverage)
    *coverage = question.answer();
  return report(wrong, handler, userData);
}
