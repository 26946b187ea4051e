//===- Sizes.cpp - the problem that a tiled op states ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Schedule/Sizes.h"
#include "dash/Schedule/ScheduleIR.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

static FailureOr<int64_t> parseSize(StringRef key, StringRef text, EmitError emitError) {
  int64_t value;
  if (text.getAsInteger(10, value) || value < 1 || value > maxRows)
    return emitError() << "sizes: '" << key << "' must be a number from 1 to " << maxRows
                       << ", got '" << text << "'";
  return value;
}

FailureOr<StatedSizes> dash::parseSizes(StringRef text, EmitError emitError) {
  StatedSizes sizes;
  SmallVector<StringRef> entries;
  if (!text.empty())
    text.split(entries, ',');
  llvm::SmallDenseSet<StringRef> seen; // looked up only
  for (StringRef entry : entries) {
    auto [key, value] = entry.split(':');
    if (!llvm::is_contained({"q", "kv", "batch", "heads", "kv-heads"}, key))
      return emitError() << "sizes: unknown key '" << key
                         << "', expected q, kv, batch, heads or kv-heads";
    if (value.empty())
      return emitError() << "sizes: '" << key << "' has no value, expected as in " << key
                         << ":4096";
    if (!seen.insert(key).second)
      return emitError() << "sizes: '" << key << "' is stated twice";
    bool isRows = key == "q" || key == "kv";
    SmallVector<int64_t> numbers;
    for (StringRef number : llvm::split(value, '+')) {
      FailureOr<int64_t> size = parseSize(key, number, emitError);
      if (failed(size))
        return failure();
      numbers.push_back(*size);
    }
    if (!isRows && numbers.size() > 1)
      return emitError() << "sizes: '" << key << "' must be one number, got '" << value
                         << "'; only q and kv may be lists of sequences";
    if (key == "q")
      sizes.q = numbers;
    else if (key == "kv")
      sizes.kv = numbers;
    else if (key == "batch")
      sizes.batch = numbers[0];
    else if (key == "heads")
      sizes.heads = numbers[0];
    else
      sizes.kvHeads = numbers[0];
  }
  if (!sizes.q.empty() && !sizes.kv.empty() && sizes.q.size() != sizes.kv.size())
    return emitError() << "sizes: q is a list of " << sizes.q.size() << " sequences, but kv of "
                       << sizes.kv.size();
  return sizes;
}

/// The size from a type, or the stated one if the type leaves it open.
static FailureOr<int64_t> resolve(StringRef key, int64_t typeSize, std::optional<int64_t> stated,
                                  std::optional<int64_t> otherwise, EmitError emitError) {
  if (ShapedType::isDynamic(typeSize)) {
    if (!stated && !otherwise)
      return emitError() << "size '" << key
                         << "' is not in the types: state it, as in sizes=" << key << ":4096";
    return stated ? *stated : *otherwise;
  }
  if (stated && *stated != typeSize)
    return emitError() << "sizes: '" << key << "' is " << *stated << ", but the types say "
                       << typeSize;
  return typeSize;
}

/// A size that the type of any of `tensors` states; dynamic if none does.
static int64_t typeSize(ArrayRef<Value> tensors, unsigned dim) {
  for (Value tensor : tensors)
    if (int64_t size = cast<MemRefType>(tensor.getType()).getDimSize(dim);
        !ShapedType::isDynamic(size))
      return size;
  return ShapedType::kDynamic;
}

/// The least query heads that so many kv heads have, or none more where these are too many.
static int64_t withFold(int64_t kvHeads, int64_t fold) {
  int64_t heads;
  return llvm::MulOverflow(kvHeads, fold, heads) ? kvHeads : heads;
}
/// The kv heads of as many query heads, where a kv head has no more of them than a q tile folds.
static int64_t withoutFold(int64_t heads, int64_t fold) {
  return heads % fold == 0 ? heads / fold : heads;
}

SmallVector<AssumedSize> dash::assumeSizes(ItemsOp items, StatedSizes &sizes) {
  constexpr int64_t usualRows = 4096, usualHeads = 16;
  SmallVector<AssumedSize> assumed;
  // The size from the types, else the stated one. If neither exists, `otherwise` becomes the stated
  // one.
  auto settle = [&](StringRef key, ArrayRef<Value> tensors, unsigned dim,
                    std::optional<int64_t> &stated, int64_t otherwise) {
    if (int64_t size = typeSize(tensors, dim); !ShapedType::isDynamic(size))
      return size;
    if (!stated) {
      stated = otherwise;
      assumed.push_back({key, otherwise});
    }
    return *stated;
  };
  auto settleRows = [&](StringRef key, ArrayRef<Value> tensors, SmallVector<int64_t> &stated,
                        int64_t otherwise) {
    std::optional<int64_t> rows;
    if (!stated.empty())
      rows = stated.front();
    int64_t size = settle(key, tensors, /*dim=*/2, rows, otherwise);
    if (rows)
      stated = {*rows};
    return size;
  };
  Value q = items.getQ(), k = items.getK(), v = items.getV();
  // A list of sequences states its rows, and lies in a batch of 1.
  if (SequencesAttr list = items.getSequencesAttr(); list && list.isOpen()) {
    // Any lengths serve as an example of those to come.
    auto example = [&](StringRef key, SmallVector<int64_t> &stated, int64_t otherwise) {
      if (!stated.empty())
        return;
      stated = {otherwise};
      assumed.push_back({key, otherwise});
    };
    if (sizes.q.empty() || sizes.kv.empty())
      example("q", sizes.q, usualRows);
    if (sizes.kv.empty() && sizes.q.size() == 1)
      example("kv", sizes.kv, sizes.q.front());
  } else if (!list && !sizes.isSequenceList()) {
    int64_t qRows = settleRows("q", q, sizes.q, usualRows);
    settleRows("kv", {k, v}, sizes.kv, qRows);
    settle("batch", {q, k, v}, /*dim=*/0, sizes.batch, 1);
  }
  int64_t kvHeads = typeSize({k, v}, /*dim=*/1);
  if (ShapedType::isDynamic(kvHeads))
    kvHeads = sizes.kvHeads.value_or(1);
  int64_t fold = items.getTiles().getFold();
  int64_t heads = settle("heads", q, /*dim=*/1, sizes.heads,
                         llvm::alignTo(usualHeads, withFold(kvHeads, fold)));
  settle("kv-heads", {k, v}, /*dim=*/1, sizes.kvHeads, withoutFold(heads, fold));
  return assumed;
}

/// The batch, from any type that states it.
static FailureOr<int64_t> resolveBatchSize(ItemsOp items, const StatedSizes &sizes,
                                           EmitError emitError) {
  int64_t stated = typeSize({items.getQ(), items.getK(), items.getV()}, 0);
  return resolve("batch", stated, sizes.batch, 1, emitError);
}

/// The sequences of a batch: `batch` sequences of the same lengths.
static LogicalResult resolveBatch(ItemsOp items, int64_t qTypeRows, int64_t kvTypeRows,
                                  const StatedSizes &sizes, Problem &problem, EmitError emitError) {
  auto only = [](ArrayRef<int64_t> rows) {
    return rows.empty() ? std::optional<int64_t>() : rows.front();
  };
  auto batch = resolveBatchSize(items, sizes, emitError);
  auto qRows = resolve("q", qTypeRows, only(sizes.q), std::nullopt, emitError);
  if (failed(batch) || failed(qRows))
    return failure();
  auto kvRows = resolve("kv", kvTypeRows, only(sizes.kv), *qRows, emitError);
  if (failed(kvRows))
    return failure();
  if (*batch > SequencesAttr::maxSize)
    return emitError() << "a batch may have at most " << SequencesAttr::maxSize
                       << " sequences, got " << *batch;
  problem.sequences.assign(*batch, {*qRows, *kvRows});
  return success();
}

/// The sequences of a list, whose rows are contiguous in a batch of 1.
static LogicalResult resolveList(ItemsOp items, int64_t qTypeRows, int64_t kvTypeRows,
                                 const StatedSizes &sizes, Problem &problem, EmitError emitError) {
  SmallVector<int64_t> qRows = sizes.q, kvRows = sizes.kv;
  SequencesAttr sequences = items.getSequencesAttr();
  bool isOpen = sequences && sequences.isOpen();
  if (sequences && !isOpen) {
    auto disagrees = [](ArrayRef<int64_t> stated, ArrayRef<int64_t> rows) {
      return !stated.empty() && stated != rows;
    };
    if (disagrees(sizes.q, sequences.getQ()) || disagrees(sizes.kv, sequences.getKv()))
      return emitError() << "sizes: q and kv differ from the " << sequences.size()
                         << " sequences of the problem";
    qRows.assign(sequences.getQ().begin(), sequences.getQ().end());
    kvRows.assign(sequences.getKv().begin(), sequences.getKv().end());
  }
  if (kvRows.empty())
    kvRows = qRows;
  if (qRows.empty() && kvRows.empty())
    return failure(
        failed(resolve("q", ShapedType::kDynamic, std::nullopt, std::nullopt, emitError)));
  if (qRows.empty())
    return emitError() << "sizes: kv is a list of sequences, but q is not stated";
  FailureOr<int64_t> batch = resolveBatchSize(items, sizes, emitError);
  if (failed(batch))
    return failure();
  if (*batch != 1)
    return emitError() << "a list of sequences lies in a batch of 1, got " << *batch;
  auto sum = [](ArrayRef<int64_t> rows) {
    return std::accumulate(rows.begin(), rows.end(), int64_t(0));
  };
  for (auto [key, typeSize, rows] :
       {std::tuple("q", qTypeRows, sum(qRows)), {"kv", kvTypeRows, sum(kvRows)}})
    if (!ShapedType::isDynamic(typeSize) && typeSize != rows && !isOpen)
      return emitError() << "sizes: the sequences have " << rows << " " << key
                         << " rows together, but the types say " << typeSize;
  for (auto [qLength, kvLength] : llvm::zip_equal(qRows, kvRows))
    problem.sequences.push_back({qLength, kvLength});
  return success();
}

/// Whether the function's items, which share an order, sum dQ across each other. Those that store
/// nothing stand for a whole backward.
static bool haveSums(ItemsOp items) {
  auto function = items->getParentOfType<FunctionOpInterface>();
  Operation *scope = function ? function.getOperation() : items.getOperation();
  bool stores = false, adds = false;
  scope->walk([&](Operation *op) {
    stores |= isa<StoreOp>(op);
    adds |= isa<ReduceOp>(op);
  });
  return adds || !stores;
}

FailureOr<Problem> dash::resolveProblem(ItemsOp items, const StatedSizes &sizes,
                                        EmitError emitError) {
  auto q = cast<MemRefType>(items.getQ().getType()), k = cast<MemRefType>(items.getK().getType());
  auto v = cast<MemRefType>(items.getV().getType());
  Problem problem;
  problem.tiles = toTileShape(items.getTiles());
  problem.mask = toMask(items.getMask());
  problem.headDim = q.getDimSize(3);
  problem.headDimV = v.getDimSize(3);
  problem.own = items.getSide();
  problem.cut = items.getCut().value_or(0);
  problem.chains = problem.ownsQ() || haveSums(items);

  int64_t fold = problem.tiles.fold;
  FailureOr<int64_t> kvHeads =
      resolve("kv-heads", k.isDynamicDim(1) ? v.getDimSize(1) : k.getDimSize(1), sizes.kvHeads,
              withoutFold(sizes.heads.value_or(q.isDynamicDim(1) ? fold : q.getDimSize(1)), fold),
              emitError);
  if (failed(kvHeads))
    return failure();
  FailureOr<int64_t> heads =
      resolve("heads", q.getDimSize(1), sizes.heads, withFold(*kvHeads, fold), emitError);
  if (failed(heads))
    return failure();
  if (*heads % *kvHeads != 0)
    return emitError() << "heads must be a multiple of kv-heads, got " << *heads << " and "
                       << *kvHeads;
  if (failed(verifyFoldOfGroup(emitError, fold, *heads, *kvHeads)))
    return failure();
  problem.heads = *heads;
  problem.kvHeads = *kvHeads;

  bool isList = items.getSequencesAttr() || sizes.isSequenceList();
  // k and v have the same heads and rows; either type may state them.
  int64_t qRows = q.getDimSize(2), kvRows = k.isDynamicDim(2) ? v.getDimSize(2) : k.getDimSize(2);
  LogicalResult sequences = isList ? resolveList(items, qRows, kvRows, sizes, problem, emitError)
                                   : resolveBatch(items, qRows, kvRows, sizes, problem, emitError);
  if (failed(sequences))
    return failure();
  SequenceLengths most;
  for (const SequenceLengths &lengths : problem.sequences)
    most = {std::max(most.q, lengths.q), std::max(most.kv, lengths.kv)};
  if (failed(items.getMask().verifyRows(most.q, most.kv, emitError)))
    return failure();
  return problem;
}
