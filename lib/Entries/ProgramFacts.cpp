//===- ProgramFacts.cpp - what all entries of a program share ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/ProgramFacts.h"
#include "dash/Hopper/HopperOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/OrderBuffer.h"
#include "dash/IR/PtxName.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dash;

FailureOr<Kernels> dash::readKernels(Operation *module) {
  auto program = module->getAttrOfType<ProgramAttr>(programAttr);
  if (!program)
    return module->emitError() << "does not say which program its kernels are of ('" << programAttr
                               << "'); run --dash-outline-program to make it";
  FactsAttr facts = program.getFacts();
  KernelCase one{facts.getHeadDim(), facts.getHeadDimV(), facts.getTiles()};
  if (failed(verifyCovered(one, [&] { return module->emitError(); })))
    return failure();
  int64_t qTile = facts.getTiles().getQ(), kvTile = facts.getTiles().getKv();
  TileEdges edges(facts.getMask().getEdges(), qTile, kvTile);
  bool takesDelta = llvm::any_of(program.getTensors(),
                                 [](TensorAttr tensor) { return tensor.getName() == "delta"; });
  return Kernels{module,
                 {ptxNameOf(program.getName()), cast<FloatType>(facts.getElement()),
                  facts.getHeadDim(), qTile, kvTile, edges, facts.getDeterministic(),
                  facts.getMinWorkers(), facts.getParts(), program.isList(), takesDelta,
                  llvm::any_of(program.getTensors(),
                               [](TensorAttr tensor) { return tensor.getName() == "sink"; }),
                  facts.getApart(), facts.getOverlapsRounding()}};
}

FailureOr<Kernels> dash::findKernels(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  Operation *module = nullptr;
  if (function)
    if (Operation *table = SymbolTable::getNearestSymbolTable(function))
      module = SymbolTable::lookupSymbolIn(table, (function.getName() + kernelsSuffix).str());
  if (!module)
    return op->emitError() << "has no kernels to be part of; run --dash-outline-program first";
  return readKernels(module);
}

std::string dash::sinkRegionBytes(int64_t qTile) {
  return "4*batch*heads*q_tiles*" + std::to_string(sinkRuns(qTile));
}

std::string dash::contributionsBytes(StringRef gradient, TilesAttr tiles, int64_t headDim,
                                     int64_t parts) {
  if (gradient == "dq")
    return "batch*heads*q_tiles*kv_tiles*" + std::to_string(4 * tiles.getQ() * headDim);
  return "batch*kv_heads*kv_tiles*" + std::to_string(4 * parts * tiles.getKv() * headDim);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

ParameterList &ParameterList::tensor(StringRef name, bool isPerRow) {
  using Kind = EntryBuilder::Kind;
  parameters.push_back({name.str(), Kind::Pointer});
  parameters.push_back({(name + ".stride.batch").str(), Kind::I64});
  parameters.push_back({(name + ".stride.head").str(), Kind::I64});
  if (!isPerRow)
    parameters.push_back({(name + ".stride.row").str(), Kind::I64});
  return *this;
}
ParameterList &ParameterList::pointer(StringRef name) {
  parameters.push_back({name.str(), EntryBuilder::Kind::Pointer});
  return *this;
}
ParameterList &ParameterList::stride(StringRef name) {
  parameters.push_back({name.str(), EntryBuilder::Kind::I64});
  return *this;
}
ParameterList &ParameterList::sizes(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    parameters.push_back({name.str(), EntryBuilder::Kind::I32});
  return *this;
}
ParameterList &ParameterList::workspace(StringRef region) {
  parameters.push_back({("workspace." + region).str(), EntryBuilder::Kind::Pointer});
  return *this;
}
ParameterList &ParameterList::scale() {
  parameters.push_back({"scale", EntryBuilder::Kind::F32});
  return *this;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void dash::addListParameters(ParameterList &parameters) {
  parameters.sizes({"sequences", "q_tiles"}).workspace("order");
}

SequenceRows dash::readSequence(PtxBuilder &b, Value order, Value sequence, bool isKeyValue) {
  Value record = b.offset(order, b.mul(b.toI64(sequence), 4 * orderSequenceWords));
  int64_t first = orderHeaderWords + int64_t(isKeyValue ? SequenceKvEnd : SequenceQEnd);
  SmallVector<Value> words = hopper::loadWords4Global(b, record, 4 * first);
  return {words[0], words[1], words[2], words[3]};
}

/// Which sequence has the tile stands in the order buffer.
static void findTileInList(EntryBuilder &b, const ProgramFacts &facts, QueryTile &tile) {
  Value qTiles = b.parameter("q_tiles"), order = b.parameter("workspace.order");
  Value number = b.remainder(tile.index, qTiles);
  tile.head = b.quotient(tile.index, qTiles);
  tile.batch = b.i32(0);
  Value firstOwner = b.mul(b.add(b.parameter("sequences"), 1), orderSequenceWords);
  Value place = b.add(b.add(firstOwner, number), orderHeaderWords);
  Value owner = hopper::loadWordGlobal(b, b.offset(order, b.mul(b.toI64(place), 4)), 0);
  tile.isThere = b.compare(arith::CmpIPredicate::sge, owner, b.i32(0));
  Value sequence = b.max(owner, b.i32(0));
  SequenceRows queries = readSequence(b, order, sequence, /*isKeyValue=*/false);
  SequenceRows keys = readSequence(b, order, sequence, /*isKeyValue=*/true);
  tile.q = b.sub(number, queries.firstTile);
  tile.rows = queries.rows;
  tile.kvRows = keys.rows;
  tile.kvTiles = b.ceilDiv(keys.rows, facts.kvTile);
  tile.firstOfList = b.sub(queries.end, queries.rows);
  tile.firstRow = b.mul(tile.q, facts.qTile);
}

QueryTile dash::queryTileOfBlock(EntryBuilder &b, const ProgramFacts &facts, Value index) {
  if (!facts.isList)
    return tileOfBlock(b, "heads", "q_rows", facts.qTile, /*pieces=*/1, index);
  QueryTile tile;
  tile.index = index ? index : b.special("ctaid.x");
  findTileInList(b, facts, tile);
  return tile;
}

QueryTile dash::tileOfBlock(EntryBuilder &b, StringRef heads, StringRef rows, int64_t rowsOfTile,
                            int64_t pieces, Value index) {
  QueryTile tile;
  tile.index = index ? index : b.special("ctaid.x");
  tile.rows = b.parameter(rows);
  Value qTiles = b.ceilDiv(tile.rows, rowsOfTile);
  if (pieces > 1)
    qTiles = b.mul(qTiles, pieces);
  tile.q = b.remainder(tile.index, qTiles);
  Value sequenceHead = b.quotient(tile.index, qTiles);
  tile.head = b.remainder(sequenceHead, b.parameter(heads));
  tile.batch = b.quotient(sequenceHead, b.parameter(heads));
  tile.firstRow = b.mul(pieces > 1 ? b.quotient(tile.q, pieces) : tile.q, rowsOfTile);
  return tile;
}

void dash::whereTileIs(EntryBuilder &b, const QueryTile &tile, llvm::function_ref<void()> body) {
  if (!tile.isThere)
    return body();
  b.ifThen(tile.isThere, body);
}

StringRef dash::nameOfArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  auto name = function
                  ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), argumentNameAttr)
                  : StringAttr();
  return name ? name.getValue() : StringRef();
}

Value dash::rowOf(EntryBuilder &b, StringRef tensor, int64_t bytes, const QueryTile &tile,
                  Value row, bool isPerRow) {
  auto stride = [&](StringRef dim) { return b.parameter((tensor + ".stride." + dim).str()); };
  Value elements =
      b.add(b.mul(b.toI64(tile.batch), stride("batch")), b.mul(b.toI64(tile.head), stride("head")));
  if (tile.firstOfList)
    row = b.add(row, tile.firstOfList);
  // Numbers of a tensor with one a row lie side by side.
  Value rows = isPerRow ? b.toI64(row) : b.mul(b.toI64(row), stride("row"));
  return b.offset(b.parameter(tensor), b.mul(b.add(elements, rows), bytes));
}

Value dash::tileOf(EntryBuilder &b, StringRef region, int64_t bytes, const QueryTile &tile) {
  return b.offset(b.parameter(("workspace." + region).str()), b.mul(b.toI64(tile.index), bytes));
}

Value dash::pairwiseSumOverWarp(PtxBuilder &b, Value f32) {
  for (int64_t distance = 1; distance < threadsOfWarp; distance *= 2)
    f32 = b.add(f32, b.toF32(b.shuffleXor(b.toBits(f32), distance)));
  return f32;
}

Value dash::scaleFactor(EntryBuilder &b, Value stated) {
  FloatAttr number;
  if (matchPattern(stated, m_Constant(&number)))
    return b.f32(number.getValueAsDouble());
  return b.parameter("scale");
}

Value dash::permutedRow(PtxBuilder &b, Value row) {
  // Row 8j + 2c + e of a block, whose bits are j2 j1 j0 c1 c0 e, goes to j2 j1 c1 c0 j0 e.
  Value kept = b.bitAnd(row, ~int64_t(0xe));
  Value c = b.shiftLeft(b.bitAnd(row, 6), 1);
  Value j0 = b.shiftRight(b.bitAnd(row, 8), 2);
  return b.bitOr(kept, b.bitOr(c, j0));
}
