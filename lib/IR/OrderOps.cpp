//===- OrderOps.cpp - schedules, items and walks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text and shape of the ops that carry the order. A pass, not a verifier, checks whether an order
// covers every task and makes progress.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"
#include "dash/IR/PartCut.h"
#include "dash/Support/Limits.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

ParseResult dash::parseLevel(OpAsmParser &parser, DeterminismLevelAttr &level) {
  return parseWord(parser, symbolizeDeterminismLevel,
                   "a determinism level (run, batch, machine, world or row)", level);
}

void dash::printLevel(OpAsmPrinter &printer, Operation *, DeterminismLevelAttr level) {
  printer << stringifyDeterminismLevel(level.getValue());
}

ParseResult dash::parseApart(OpAsmParser &parser, ApartAttr &apart) {
  return parseWord(parser, symbolizeApart, "what is kept apart (none, parts or all)", apart);
}

void dash::printApart(OpAsmPrinter &printer, Operation *, ApartAttr apart) {
  printer << stringifyApart(apart.getValue());
}

//===----------------------------------------------------------------------===//
// ScheduleOp
//===----------------------------------------------------------------------===//

int64_t ScheduleOp::getNumItems() {
  ProblemAttr problem = getProblem();
  bool ownsQ = problem.getOwn() == TensorSide::Q;
  SequencesAttr sequences = problem.getSequences();
  uint64_t tiles = 0, tileRows = ownsQ ? problem.getTiles().getQ() : problem.getTiles().getKv();
  for (auto [q, kv] : llvm::zip_equal(sequences.getQ(), sequences.getKv())) {
    uint64_t pieces = problem.getCut() ? llvm::divideCeil(kv, problem.getCut()) : 1;
    tiles = llvm::SaturatingAdd(tiles, llvm::SaturatingMultiply<uint64_t>(
                                           llvm::divideCeil(ownsQ ? q : kv, tileRows), pieces));
  }
  uint64_t lists = llvm::SaturatingMultiply<uint64_t>(
      ownsQ ? problem.getHeads() / problem.getTiles().getFold() : problem.getKvHeads(), getParts());
  return std::min<uint64_t>(llvm::SaturatingMultiply(tiles, lists),
                            std::numeric_limits<int64_t>::max());
}

static LogicalResult verifyTable(ScheduleOp op, StringRef name, ElementsAttr table) {
  // One splat value can stand for all rows, so a short text can have many.
  if (int64_t rows = table.getShapedType().getDimSize(0); rows > maxTableRows)
    return op.emitOpError() << "table '" << name << "' may have at most " << maxTableRows
                            << " rows, got " << rows;
  auto resource = dyn_cast<DenseResourceElementsAttr>(table);
  if (!resource)
    return success();
  return op.emitOpError() << "table '" << name << "' is not in the text (dense_resource '"
                          << resource.getRawHandle().getKey()
                          << "'): print the module again without "
                             "--mlir-elide-elementsattrs-if-larger";
}

/// What an order may say follows from whether something is summed across items.
static LogicalResult verifySide(ScheduleOp op) {
  TensorSide own = op.getProblem().getOwn();
  if (FormulasAttr formulas = op.getFormulas(); formulas && formulas.getOwn() != own)
    return op.emitOpError() << "formulas are of items that own "
                            << stringifyTensorSide(formulas.getOwn()) << ", but the problem's own "
                            << stringifyTensorSide(own);
  if (FormulasAttr formulas = op.getFormulas();
      formulas && op.hasChains() == formulas.getTurn().empty())
    return op.emitOpError() << "formulas have " << (op.hasChains() ? "no" : "a")
                            << " 'turn', but the problem has " << (op.hasChains() ? "" : "no ")
                            << "chains";
  if (op.hasChains())
    return success();
  auto refuse = [&] {
    return op.emitOpError() << "items that own " << stringifyTensorSide(own)
                            << " tiles sum nothing across items, so ";
  };
  if (op.getParts() != 1)
    return refuse() << "they are in 1 part, got " << int64_t(op.getParts());
  if (op.getUnordered())
    return refuse() << "adds cannot be unordered";
  if (op.getApart() != Apart::None)
    return refuse() << "nothing can be kept apart, got '" << stringifyApart(op.getApart()) << "'";
  return success();
}

LogicalResult ScheduleOp::verify() {
  if (!llvm::json::isUTF8(getKind()))
    return emitOpError() << "kind must be UTF-8, got '" << llvm::json::fixUTF8(getKind()) << "'";
  if (getParts() < 1)
    return emitOpError() << "parts must be at least 1, got " << int64_t(getParts());
  for (auto [name, value] :
       {std::pair<StringRef, int64_t>("workers", getWorkers()), {"width", getWidth()}})
    if (value < 1 || value > maxWorkers)
      return emitOpError() << name << " must be from 1 to " << maxWorkers << ", got " << value;
  int64_t group = getProblem().getHeads() / getProblem().getKvHeads();
  if (!PartCut::isPossible(group, getParts()))
    return emitOpError() << "parts must divide the " << group
                         << " query heads of a kv head or be a multiple of them, got "
                         << getParts();
  if (getLevel() < DeterminismLevel::Machine && getWidth() != getWorkers())
    return emitOpError() << "width must be workers, " << getWorkers() << ", at level '"
                         << stringifyDeterminismLevel(getLevel()) << "', got " << getWidth();
  if (std::optional<int64_t> least = getMinWorkers();
      least && (*least < 1 || *least > int64_t(getWorkers())))
    return emitOpError() << "min_workers must be from 1 to workers, " << getWorkers() << ", got "
                         << *least;
  if (getApart() != Apart::None && !isOrdered())
    return emitOpError() << "apart(" << stringifyApart(getApart())
                         << ") keeps contributions by their turns, and adds that are unordered "
                            "have none";
  if (getApart() == Apart::Parts && getParts() == 1)
    return emitOpError() << "apart(parts) keeps what parts add to dK and dV, and there is one "
                            "part: state more, or apart(all)";
  if (getDealAttr() && !getFormulas())
    return emitOpError() << "deals lists in each launch, which needs formulas, but its order is a "
                            "table";
  if (getDealAttr() && getParts() > 1)
    return emitOpError() << "deals lists of items in 1 part, got " << int64_t(getParts());
  if (getDealAttr() && int64_t(getWorkers()) > DealAttr::maxWorkers)
    return emitOpError() << "deals lists to at most " << DealAttr::maxWorkers << " workers, got "
                         << int64_t(getWorkers());
  if (failed(verifySide(*this)))
    return failure();
  SequencesAttr sequences = getProblem().getSequences();
  if (int64_t rows = std::max(sequences.getMostQ(), sequences.getMostKv()); rows > maxRows)
    return emitOpError() << "sequences may have at most " << maxRows << " rows, got " << rows;
  if (failed(getProblem().getMask().verifyData([&] { return emitOpError(); })))
    return failure();
  TableAttr table = getTable();
  if (!table)
    return success();
  if (failed(verifyTable(*this, "items", table.getItems())) ||
      failed(verifyTable(*this, "visits", table.getVisits())))
    return failure();
  if (int64_t rows = table.getItems().getShapedType().getDimSize(0); rows != getNumItems())
    return emitOpError() << "table 'items' must have a row for each of the problem's "
                         << getNumItems() << " items, got " << rows;
  return success();
}

//===----------------------------------------------------------------------===//
// ItemsOp: text
//===----------------------------------------------------------------------===//

/// `own(q) walk(kv)`. The other way around is what items do where nothing is said.
static ParseResult parseSides(OpAsmParser &parser, TensorSideAttr &own) {
  if (failed(parser.parseOptionalKeyword("own")))
    return success();
  TensorSideAttr walked;
  constexpr StringLiteral expected = "the side that items own (q or kv)";
  if (parser.parseLParen() || parseWord(parser, symbolizeTensorSide, expected, own) ||
      parser.parseRParen() || parser.parseKeyword("walk") || parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parseWord(parser, symbolizeTensorSide, "the side that items walk (q or kv)", walked) ||
      parser.parseRParen())
    return failure();
  if (walked.getValue() == own.getValue())
    return parser.emitError(loc, "items that own ")
           << stringifyTensorSide(own.getValue()) << " walk "
           << stringifyTensorSide(otherSide(own.getValue())) << ", got '"
           << stringifyTensorSide(walked.getValue()) << "'";
  if (own.getValue() == TensorSide::KV)
    own = {};
  return success();
}

ParseResult dash::parsePhase(OpAsmParser &parser, FlatSymbolRefAttr &order, TensorSideAttr &own) {
  if (succeeded(parser.parseOptionalKeyword("unscheduled")))
    return parseSides(parser, own);
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("order")))
    return parser.emitError(loc, "expected 'unscheduled' or 'order(@schedule)'");
  return failure(parser.parseLParen() || parser.parseAttribute(order) || parser.parseRParen() ||
                 parseSides(parser, own));
}

void dash::printPhase(OpAsmPrinter &printer, Operation *, FlatSymbolRefAttr order,
                      TensorSideAttr own) {
  if (!order)
    printer << "unscheduled";
  else
    printer << "order(" << order << ")";
  if (own && own.getValue() == TensorSide::Q)
    printer << " own(q) walk(kv)";
}

ParseResult dash::parseItemsBody(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = parser.getBuilder().getIndexType();
  if (parser.parseRegion(body, arguments))
    return failure();
  if (body.empty())
    body.emplaceBlock();
  return success();
}

/// Block arguments in parentheses, without their types, which are all `index`.
static void printIndices(OpAsmPrinter &printer, ArrayRef<BlockArgument> arguments) {
  printer << "(";
  llvm::interleaveComma(arguments, printer, [&](BlockArgument argument) {
    printer.printRegionArgument(argument, /*argAttrs=*/{}, /*omitType=*/true);
  });
  printer << ") ";
}

void dash::printItemsBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printIndices(printer, body.getArguments());
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

void ItemsOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  static constexpr StringRef names[] = {"seq", "kv_head", "kv", "part_turn"},
                             namesOfQ[] = {"seq", "head", "q", "piece_head"};
  ArrayRef<StringRef> mine = ownsQ() ? ArrayRef(namesOfQ) : ArrayRef(names);
  for (auto [argument, name] : llvm::zip(region.getArguments(), mine))
    setName(argument, name);
}

void ItemsOp::build(OpBuilder &builder, OperationState &state, FlatSymbolRefAttr order, Value q,
                    Value k, Value v, TilesAttr tiles, MaskAttr mask, DeterminismLevel level,
                    SequencesAttr sequences, TensorSide own, IntegerAttr cut) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.order = order;
  if (own == TensorSide::Q)
    properties.own = TensorSideAttr::get(builder.getContext(), own);
  properties.tiles = tiles;
  properties.mask = mask;
  properties.level = DeterminismLevelAttr::get(builder.getContext(), level);
  properties.sequences = sequences;
  properties.cut = cut;
  state.addOperands({q, k, v});
  Block &block = state.addRegion()->emplaceBlock();
  bool hasFourth = cut || (order && own == TensorSide::KV); // a piece's head, or a turn
  for (unsigned i = 0, count = hasFourth ? 4 : 3; i < count; ++i)
    block.addArgument(builder.getIndexType(), state.location);
}

//===----------------------------------------------------------------------===//
// ItemsOp: checks
//===----------------------------------------------------------------------===//

LogicalResult ItemsOp::verify() {
  NamedMemRef q{"q", getQ().getType()}, k{"k", getK().getType()}, v{"v", getV().getType()};
  if (failed(verifySameElements(*this, k, q)) || failed(verifySameElements(*this, v, q)) ||
      failed(verifyProblem(*this, q.type, k.type, v.type, getSequencesAttr())) ||
      failed(verifyMask(*this, getMask(), q.type, k.type, getSequencesAttr())) ||
      failed(getMask().verifyTiles(getTiles().getQ(), getTiles().getKv(),
                                   [&] { return emitOpError(); })))
    return failure();
  auto emitHere = [&] { return emitOpError(); };
  if (failed(verifyFold(emitHere, getTiles(), getMask(), getSide())) ||
      failed(verifyFoldOfGroup(emitHere, getTiles().getFold(), q.type.getDimSize(Heads),
                               k.type.getDimSize(Heads))))
    return failure();
  if (TilingAttr tiling = getTilingAttr(); tiling && tiling.getTiles() != getTiles().withoutFold())
    return emitOpError() << "has a tiling of " << tiling.getTiles() << ", but its tiles are "
                         << getTiles();
  if (getCut() && !ownsQ())
    return emitOpError() << "cuts keys for items that own kv tiles: only items that own q tiles "
                            "walk keys";
  if (int64_t cut = getCut().value_or(0), tile = getTiles().getKv(); cut % tile != 0)
    return emitOpError() << "cuts keys into pieces of " << cut
                         << " rows, expected a multiple of the kv tile, " << tile;
  unsigned expected = givesTurns() || getCut() ? 4 : 3;
  if (unsigned found = getBody().getNumArguments(); found != expected && ownsQ())
    return emitOpError() << "of items that own q tiles takes " << expected
                         << " block arguments (sequence, head, q tile"
                         << (getCut() ? ", head among the pieces" : "") << "), got " << found;
  else if (found != expected)
    return emitOpError() << (isScheduled() ? "scheduled" : "unscheduled") << " takes " << expected
                         << " block arguments (sequence, kv head, kv tile"
                         << (isScheduled() ? ", turn" : "") << "), got " << found;
  for (BlockArgument argument : getBody().getArguments())
    if (!argument.getType().isIndex())
      return emitOpError() << "block argument " << argument.getArgNumber()
                           << " must be of type 'index', got " << argument.getType();
  return success();
}

/// Each piece of the keys makes a result of a row.
static LogicalResult verifyPieces(ItemsOp items) {
  WalkResult result = items.walk([&](Operation *op) {
    auto verify = [&](auto store) {
      if (store.getHead() == items.getPieceHead())
        return WalkResult::advance();
      auto diagnostic = store.emitOpError(
          "is written by each piece of the keys, one over the other: write at the head among the "
          "pieces, the last block argument of 'dash.items'");
      diagnostic.attachNote(items.getLoc()) << "of these items";
      return WalkResult::interrupt();
    };
    return llvm::TypeSwitch<Operation *, WalkResult>(op).Case<StoreOp, StoreRowOp>(verify).Default(
        WalkResult::advance());
  });
  return failure(result.wasInterrupted());
}

LogicalResult ItemsOp::verifyRegions() {
  if ((*this)->getParentOfType<RoleOp>())
    return success(); // ops are those of a proven program
  if (getCut() && failed(verifyPieces(*this)))
    return failure();
  return getLevel() == DeterminismLevel::Row ? verifyRowLevel(*this) : success();
}

namespace {
/// Compares dash.items with its schedule.
class ScheduleMatch {
public:
  ScheduleMatch(ItemsOp items, ScheduleOp schedule)
      : items(items), schedule(schedule), problem(schedule.getProblem()) {}

  LogicalResult verify();

private:
  /// Refuses a mismatch: the schedule was made for something else.
  template <typename T>
  LogicalResult mismatch(const Twine &what, const T &found, const T &expected) {
    auto diagnostic = items.emitOpError() << what << " " << found << ", but schedule '@"
                                          << schedule.getSymName() << "' was made for " << expected;
    return diagnostic.attachNote(schedule.getLoc()) << "the schedule";
  }
  LogicalResult verifySize(StringRef what, int64_t found, int64_t expected) {
    if (ShapedType::isDynamic(found) || found == expected)
      return success();
    return mismatch(what, found, expected);
  }
  LogicalResult verifySizes();
  LogicalResult verifySequences();
  LogicalResult verifyAdds();

  ItemsOp items;
  ScheduleOp schedule;
  ProblemAttr problem;
};
} // namespace

/// The size of a dimension of memrefs that agree where they are static.
static int64_t sizeOf(Dim dim, ArrayRef<TypedValue<MemRefType>> memrefs) {
  for (TypedValue<MemRefType> memref : memrefs)
    if (!memref.getType().isDynamicDim(dim))
      return memref.getType().getDimSize(dim);
  return ShapedType::kDynamic;
}

LogicalResult ScheduleMatch::verifySizes() {
  auto q = items.getQ(), k = items.getK(), v = items.getV();
  return failure(
      failed(verifySize("heads are", sizeOf(Heads, {q}), problem.getHeads())) ||
      failed(verifySize("kv heads are", sizeOf(Heads, {k, v}), problem.getKvHeads())) ||
      failed(verifySize("head dim is", sizeOf(HeadDim, {q, k}), problem.getHeadDim())) ||
      failed(verifySize("head dim of v is", sizeOf(HeadDim, {v}), problem.getHeadDimV())));
}

static std::string lengths(SequencesAttr sequences, size_t i) {
  return llvm::formatv("[{0}, {1}]", sequences.getQ()[i], sequences.getKv()[i]);
}

LogicalResult ScheduleMatch::verifySequences() {
  SequencesAttr expected = problem.getSequences(), found = items.getSequencesAttr();
  if (found && found.isOpen())
    return success(); // the order's proof uses an example of the sizes it serves
  auto q = items.getQ(), k = items.getK(), v = items.getV();
  int64_t count = found ? static_cast<int64_t>(found.size()) : sizeOf(Batch, {q, k, v});
  if (failed(verifySize("sequences are", count, expected.size())))
    return failure();
  if (!found && !expected.isUniform()) {
    auto diagnostic = items.emitOpError()
                      << "needs 'sequences': schedule '@" << schedule.getSymName()
                      << "' was made for sequences of different lengths";
    return diagnostic.attachNote(schedule.getLoc()) << "the schedule";
  }
  for (size_t i = 0; found && i < found.size(); ++i)
    if (found.getQ()[i] != expected.getQ()[i] || found.getKv()[i] != expected.getKv()[i])
      return mismatch("sequence " + Twine(i) + " is", lengths(found, i), lengths(expected, i));
  if (found)
    return success();
  return failure(failed(verifySize("q rows are", sizeOf(Rows, {q}), expected.getQ().front())) ||
                 failed(verifySize("kv rows are", sizeOf(Rows, {k, v}), expected.getKv().front())));
}

LogicalResult ScheduleMatch::verifyAdds() {
  bool isOrdered = schedule.isOrdered();
  StringRef add = isOrdered ? "dash.ordered_reduce" : "dash.reduce";
  WalkResult walk = items.walk([&](Operation *op) {
    if (!(isOrdered ? isa<ReduceOp>(op) : isa<OrderedReduceOp>(op)))
      return WalkResult::advance();
    auto diagnostic = op->emitOpError()
                      << (isOrdered ? "adds in no order" : "waits for a turn")
                      << ", but schedule '@" << schedule.getSymName() << "' of kind '"
                      << schedule.getKind() << "' "
                      << (isOrdered ? "orders every add" : "gives none") << ": use '" << add << "'";
    diagnostic.attachNote(schedule.getLoc()) << "the schedule";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted() || schedule.getParts() == 1)
    return failure(walk.wasInterrupted());
  walk = items.walk([&](StoreOp store) {
    auto diagnostic = store.emitOpError()
                      << "is written by each of the " << schedule.getParts()
                      << " parts of a kv head, one over the other: use '" << add << "'";
    diagnostic.attachNote(schedule.getLoc()) << "the schedule";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ScheduleMatch::verify() {
  if (items.getSide() != problem.getOwn()) {
    auto describe = [](TensorSide side) {
      return ("items that own " + stringifyTensorSide(side) + " tiles").str();
    };
    auto diagnostic = items.emitOpError()
                      << "has " << describe(items.getSide()) << ", but schedule '@"
                      << schedule.getSymName() << "' was made for " << describe(problem.getOwn());
    return diagnostic.attachNote(schedule.getLoc()) << "the schedule";
  }
  if (!schedule.hasChains()) {
    WalkResult walk = items.walk([&](Operation *add) {
      if (!isa<ReduceOp, OrderedReduceOp>(add))
        return WalkResult::advance();
      auto diagnostic = add->emitOpError() << "adds across items, but schedule '@"
                                           << schedule.getSymName() << "' has no chains";
      diagnostic.attachNote(schedule.getLoc()) << "the schedule";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  if (items.getTiles() != problem.getTiles())
    return mismatch("tiles are", items.getTiles(), problem.getTiles());
  if (items.getMask() != problem.getMask())
    return mismatch("mask is", items.getMask(), problem.getMask());
  if (items.getLevel() != schedule.getLevel())
    return mismatch("level is", items.getLevelAttr(), schedule.getLevelAttr());
  if (int64_t cut = items.getCut().value_or(0); cut != problem.getCut())
    return mismatch("kv rows of a piece are", cut, problem.getCut());
  return failure(failed(verifySizes()) || failed(verifySequences()) || failed(verifyAdds()));
}

LogicalResult ItemsOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  FlatSymbolRefAttr order = getOrderAttr();
  if (!order)
    return success();
  auto schedule = symbolTable.lookupNearestSymbolFrom<ScheduleOp>(*this, order);
  if (!schedule)
    return emitOpError() << "'" << order
                         << "' is not a 'dash.schedule' in the nearest symbol table";
  return ScheduleMatch(*this, schedule).verify();
}
