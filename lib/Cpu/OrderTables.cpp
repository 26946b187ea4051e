//===- OrderTables.cpp - an order as constants of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OrderTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::dash;

Value NumberTable::emit(LoopBuilder &b, StringRef name, SymbolTable &symbols,
                        Operation *before) const {
  // A memref without elements has no address, so an empty table gets an unused row.
  std::vector<int32_t> rows = numbers;
  if (rows.empty())
    rows.resize(columns);
  int64_t numRows = rows.size() / columns;
  auto type = MemRefType::get({numRows, columns}, b.getI32Type());
  auto values = DenseElementsAttr::get(RankedTensorType::get(type.getShape(), b.getI32Type()),
                                       ArrayRef<int32_t>(rows));
  OpBuilder top(b.getContext());
  auto global = memref::GlobalOp::create(top, b.getLoc(), name, top.getStringAttr("private"), type,
                                         values, /*constant=*/true, /*alignment=*/IntegerAttr());
  symbols.insert(global, Block::iterator(before));
  return memref::GetGlobalOp::create(b, type, global.getSymName());
}

Value dash::tableEntry(LoopBuilder &b, Value table, Value row, int64_t column) {
  Value number = b.load(table, {row, b.index(column)});
  return arith::IndexCastOp::create(b, b.getIndexType(), number);
}

OrderTables::OrderTables(const Schedule &schedule) {
  const Problem &problem = schedule.problem;
  // The first slots of chains are counted from the visits, so the mask does not matter here.
  Table table = writeOut(schedule);
  std::vector<int64_t> firstChain, firstPartChain; // for each sequence
  int64_t numChains = 0, numPartChains = 0, qOffset = 0, kvOffset = 0;
  for (auto [s, lengths] : llvm::enumerate(problem.sequences)) {
    sequences.append({lengths.q, lengths.kv, qOffset, kvOffset});
    qOffset += lengths.q;
    kvOffset += lengths.kv;
    firstChain.push_back(numChains);
    firstPartChain.push_back(numPartChains);
    numChains += problem.walkedHeads() * problem.numWalkedTiles(s);
    numPartChains += problem.ownHeads() * problem.numOwnTiles(s);
  }
  auto chainOf = [&](const Item &item, const Visit &visit) {
    return firstChain[item.sequence] + visit.head * problem.numWalkedTiles(item.sequence) +
           visit.tile;
  };
  std::vector<int64_t> firstSlot(numChains + 1);
  auto visitsOf = [&](int64_t i) {
    return ArrayRef(table.visits).slice(table.begin[i], table.begin[i + 1] - table.begin[i]);
  };
  for (auto [i, item] : llvm::enumerate(table.items))
    for (const Visit &visit : visitsOf(i))
      ++firstSlot[chainOf(item, visit) + 1];
  for (int64_t chain : llvm::seq(numChains))
    firstSlot[chain + 1] += firstSlot[chain];

  for (auto [i, item] : llvm::enumerate(table.items)) {
    int64_t partChain =
        firstPartChain[item.sequence] + item.head * problem.numOwnTiles(item.sequence) + item.tile;
    auto slot = [&](int64_t number) { return problem.hasChains() ? number : 0; };
    items.append({item.sequence, item.head, item.tile, lastWordOf(problem, item),
                  slot(partChain * schedule.parts + item.partTurn), table.begin[i],
                  table.begin[i + 1]});
    for (const Visit &visit : visitsOf(i))
      visits.append(
          {visit.head, visit.tile, visit.turn, slot(firstSlot[chainOf(item, visit)] + visit.turn)});
  }
  if (!problem.hasChains())
    return;
  int64_t chain = 0, partChain = 0;
  for (int64_t s : llvm::seq(problem.numSequences())) {
    for (int64_t head : llvm::seq(problem.walkedHeads()))
      for (int64_t tile = 0; tile < problem.numWalkedTiles(s); ++tile, ++chain)
        if (firstSlot[chain] < firstSlot[chain + 1])
          chains.append({s, head, tile, firstSlot[chain], firstSlot[chain + 1]});
    for (int64_t head : llvm::seq(problem.ownHeads()))
      for (int64_t tile = 0; tile < problem.numOwnTiles(s); ++tile, ++partChain)
        partChains.append(
            {s, head, tile, partChain * schedule.parts, (partChain + 1) * schedule.parts});
  }
}
