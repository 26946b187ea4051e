//===- WalkOps.cpp - walks, the values they carry and their adds ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inner loop of dash.items, its dash.yield, and the two ways to add a contribution.
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// WalkOp: text
//===----------------------------------------------------------------------===//

/// `init(%a0 = %a, ...) : type, ...`; the types are those of arguments and operands alike.
static ParseResult parseInits(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &carried,
                              OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types;
  auto parseInit = [&] {
    return failure(parser.parseArgument(carried.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(inits.emplace_back()));
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseInit) ||
      parser.parseColonTypeList(types) || parser.resolveOperands(inits, types, loc, state.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(carried, types))
    argument.type = type;
  state.addTypes(types);
  return success();
}

ParseResult WalkOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments, carried;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = parser.getBuilder().getIndexType();
  if (succeeded(parser.parseOptionalKeyword("init")) && parseInits(parser, carried, state))
    return failure();
  OpAsmParser::UnresolvedOperand numSteps;
  bool hasSteps = succeeded(parser.parseOptionalKeyword("steps"));
  auto index = parser.getBuilder().getIndexType();
  if (hasSteps && (parser.parseLParen() || parser.parseOperand(numSteps) || parser.parseRParen() ||
                   parser.resolveOperand(numSteps, index, state.operands)))
    return failure();
  auto &properties = state.getOrAddProperties<WalkOp::Properties>();
  properties.operandSegmentSizes = {int32_t(carried.size()), int32_t(hasSteps)};
  int64_t stages;
  if (succeeded(parser.parseOptionalKeyword("stages"))) {
    if (parser.parseLParen() || parser.parseInteger(stages) || parser.parseRParen())
      return failure();
    properties.stages = parser.getBuilder().getI64IntegerAttr(stages);
  }
  llvm::append_range(arguments, carried);
  Region *body = state.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.parseRegion(*body, arguments))
    return failure();
  ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

void WalkOp::print(OpAsmPrinter &printer) {
  auto printArgument = [&](BlockArgument argument) {
    printer.printRegionArgument(argument, /*argAttrs=*/{}, /*omitType=*/true);
  };
  printer << " (";
  llvm::interleaveComma(getBody().getArguments().take_front(getNumIndices()), printer,
                        printArgument);
  printer << ")";
  if (!getInits().empty()) {
    printer << " init(";
    llvm::interleaveComma(llvm::zip(getCarried(), getInits()), printer, [&](auto pair) {
      printArgument(std::get<0>(pair));
      printer << " = " << std::get<1>(pair);
    });
    printer << ") : " << getInits().getTypes();
  }
  if (Value numSteps = getNumSteps())
    printer << " steps(" << numSteps << ")";
  if (std::optional<uint64_t> stages = getStages())
    printer << " stages(" << *stages << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getOperandSegmentSizesAttrName(), getStagesAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
}

void WalkOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  static constexpr StringRef names[] = {"head", "q", "turn"}, namesOfKv[] = {"kv_head", "kv"};
  auto items = dyn_cast_or_null<ItemsOp>((*this)->getParentOp());
  ArrayRef<StringRef> mine = items && items.ownsQ() ? ArrayRef(namesOfKv) : ArrayRef(names);
  for (auto [argument, name] : llvm::zip(region.getArguments().take_front(getNumIndices()), mine))
    setName(argument, name);
}

void WalkOp::build(OpBuilder &builder, OperationState &state, bool hasTurn, ValueRange inits) {
  state.addOperands(inits);
  state.getOrAddProperties<WalkOp::Properties>().operandSegmentSizes = {int32_t(inits.size()), 0};
  state.addTypes(inits.getTypes());
  Region *body = state.addRegion();
  Block &block = body->emplaceBlock();
  for (unsigned i = 0, count = hasTurn ? 3 : 2; i < count; ++i)
    block.addArgument(builder.getIndexType(), state.location);
  for (Value init : inits)
    block.addArgument(init.getType(), init.getLoc());
  if (inits.empty())
    ensureTerminator(*body, builder, state.location);
}

YieldOp WalkOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

//===----------------------------------------------------------------------===//
// WalkOp, YieldOp: checks
//===----------------------------------------------------------------------===//

/// The body is a graph region, because an op of a late stage may stand before an op that it depends
/// on: it runs later.
static LogicalResult verifyOrder(WalkOp walk) {
  llvm::SmallDenseMap<Operation *, int64_t> times; // looked up only
  Block::OpListType &ops = walk.getBody().front().getOperations();
  int64_t length = ops.size(), stages = walk.getStages().value_or(0);
  for (auto [place, op] : llvm::enumerate(ops)) {
    auto staged = dyn_cast<StagedOpInterface>(op);
    IntegerAttr stage = staged ? staged.getStageAttr() : IntegerAttr();
    if (stage && !stages)
      return op.emitOpError() << "has a stage, but its 'dash.walk' has none";
    if (stages && !op.hasTrait<OpTrait::IsTerminator>() && (!stage || stage.getInt() >= stages))
      return op.emitOpError() << "needs a stage from 0 to " << stages - 1 << ", got "
                              << (stage ? Twine(stage.getInt()) : Twine("none"));
    times[&op] = (stage ? stage.getInt() * length : 0) + place;
  }
  for (Operation &op : ops)
    for (Value operand : op.getOperands())
      if (auto found = times.find(operand.getDefiningOp()); found != times.end() &&
                                                            !op.hasTrait<OpTrait::IsTerminator>() &&
                                                            found->second >= times.lookup(&op)) {
        auto diagnostic = op.emitOpError() << "is issued before what it needs";
        return diagnostic.attachNote(operand.getLoc()) << "needs this";
      }
  return success();
}

LogicalResult WalkOp::verify() {
  auto items = cast<ItemsOp>((*this)->getParentOp());
  bool scheduled = items.isScheduled();
  unsigned expected = items.givesTurns() ? 3 : 2;
  unsigned arguments = getBody().getNumArguments(), carried = getInits().size();
  if (arguments != expected + carried && items.ownsQ())
    return emitOpError()
           << "in 'dash.items' that own q tiles takes 2 indices (kv head, kv tile) and " << carried
           << " carried values, got " << arguments << " block arguments";
  if (arguments != expected + carried)
    return emitOpError() << "in " << (scheduled ? "scheduled" : "unscheduled")
                         << " 'dash.items' takes " << expected << " indices (head, q tile"
                         << (scheduled ? ", turn" : "") << ") and " << carried
                         << " carried values, got " << arguments << " block arguments";
  if (getNumResults() != carried)
    return emitOpError() << "needs " << carried << " results, one for each init value, got "
                         << getNumResults();
  for (unsigned i = 0; i < arguments; ++i) {
    Type type = i < expected ? IndexType::get(getContext()) : getInits()[i - expected].getType();
    if (Type found = getBody().getArgument(i).getType(); found != type)
      return emitOpError() << "block argument " << i << " must have type " << type << ", got "
                           << found;
  }
  for (auto [i, init, result] : llvm::enumerate(getInits(), getResults()))
    if (init.getType() != result.getType())
      return emitOpError() << "result " << i << " must have the type of its init value, "
                           << init.getType() << ", got " << result.getType();
  return success();
}

LogicalResult WalkOp::verifyRegions() { return verifyOrder(*this); }

LogicalResult YieldOp::verify() {
  TypeRange expected = (*this)->getParentOp()->getResultTypes(), found = getValues().getTypes();
  if (found.size() != expected.size())
    return emitOpError() << "yields " << found.size() << " values, but its 'dash.walk' has "
                         << expected.size() << " results";
  for (unsigned i = 0; i < found.size(); ++i)
    if (found[i] != expected[i])
      return emitOpError() << "value " << i << " must have the type of the result, " << expected[i]
                           << ", got " << found[i];
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceOp, OrderedReduceOp
//===----------------------------------------------------------------------===//

/// Whoever owns q tiles has their sums to itself.
static LogicalResult verifyAddsAcross(Operation *op) {
  ItemsOp items = getItems(op);
  if (!items || !items.ownsQ())
    return success();
  auto diagnostic = op->emitOpError("adds across items, but items that own q tiles finish their "
                                    "sums: carry it through the walk and use 'dash.store'");
  return diagnostic.attachNote(items.getLoc()) << "the items";
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyAddsAcross(*this)))
    return failure();
  return verifyTileOf(*this, getValue().getType(), getTarget().getType(), /*mayBeWider=*/false);
}

/// The op that rounds the sums must know that they are not sums yet.
static LogicalResult verifyApart(OrderedReduceOp op) {
  for (Operation *user : op.getTarget().getUsers())
    if (auto convert = dyn_cast<ConvertOp>(user);
        convert && convert.getSource() == op.getTarget() && convert.getApart() != op.getApart()) {
      auto diagnostic =
          op.emitOpError(op.getApart() ? "is kept apart, but 'dash.convert' does not add "
                                         "contributions up"
                                       : "adds to a sum, but 'dash.convert' adds contributions up "
                                         "that are kept apart");
      return diagnostic.attachNote(convert.getLoc()) << "the 'dash.convert' of its target";
    }
  return success();
}

/// The add that signals and the rounding that awaits agree: else a launch would not end, or round
/// an incomplete sum.
static LogicalResult verifyTells(OrderedReduceOp op) {
  if (op.getSignalsCompletion() && op.getApart())
    return op.emitOpError("is kept apart, so there is no sum that it could tell of");
  for (Operation *user : op.getTarget().getUsers())
    if (auto convert = dyn_cast<ConvertOp>(user);
        convert && convert.getSource() == op.getTarget() &&
        convert.getAwaitsCompletion() != op.getSignalsCompletion()) {
      auto diagnostic = op.emitOpError(
          op.getSignalsCompletion()
              ? "signals that a sum is complete, but 'dash.convert' does not await it"
              : "does not signal that a sum is complete, but 'dash.convert' awaits it");
      return diagnostic.attachNote(convert.getLoc()) << "the 'dash.convert' of its target";
    }
  return success();
}

LogicalResult OrderedReduceOp::verify() {
  if (failed(verifyAddsAcross(*this)))
    return failure();
  if (failed(verifyApart(*this)) || failed(verifyTells(*this)))
    return failure();
  if (std::optional<int64_t> piece = getPiece()) {
    int64_t pieces = *getPieces();
    if (*piece < 0 || *piece >= pieces || pieces < 2)
      return emitOpError() << "adds piece " << *piece << " of " << pieces
                           << ", expected a piece from 0 to " << pieces - 1 << " of at least 2";
  }
  ItemsOp items = getItems(*this);
  if (!items) // loops over the order
    return verifyTileOf(*this, getValue().getType(), getTarget().getType(), /*mayBeWider=*/false);
  if (!items.isScheduled()) {
    auto diagnostic = emitOpError("needs a turn, which unscheduled 'dash.items' does not give: "
                                  "use 'dash.reduce'");
    return diagnostic.attachNote(items.getLoc()) << "unscheduled here";
  }
  if (failed(
          verifyTileOf(*this, getValue().getType(), getTarget().getType(), /*mayBeWider=*/false)))
    return failure();
  // The proof is about these; another turn or tile would not be part of it.
  auto walk = (*this)->getParentOfType<WalkOp>();
  SmallVector<Value, 4> expected = {items.getSequence(), items.getHead(), items.getTile(),
                                    items.getTurn()};
  if (walk)
    expected = {items.getSequence(), walk.getHead(), walk.getTile(), walk.getTurn()};
  if (llvm::equal(expected, ValueRange{getSequence(), getHead(), getTile(), getTurn()}))
    return success();
  return emitOpError() << "must add to the tile and at the turn of the enclosing '"
                       << (walk ? "dash.walk" : "dash.items")
                       << "', which its order is proven for: use its arguments as they are";
}
