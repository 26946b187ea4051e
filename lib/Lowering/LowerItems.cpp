//===- LowerItems.cpp - scheduled items, as loops -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for each item, in issue order
//     for each of its tasks, in visit order
//       compute; store each contribution in its slot
//   for each chain
//     sum its slots in the order of its turns
//
// A task never waits, so any order of the items would do for the bits; this one keeps every list.
//
//===----------------------------------------------------------------------===//

#include "LowerItems.h"
#include "ChainSums.h"
#include "CheckItems.h"
#include "OrderTables.h"
#include "TileLoops.h"
#include "Visibility.h"
#include "dash/Lowering/Arguments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

static Operation *topLevelOf(Operation *op, SymbolTable &symbols) {
  while (op->getParentOp() != symbols.getOp())
    op = op->getParentOp();
  return op;
}

namespace {

class ItemsLowering {
public:
  ItemsLowering(ItemsOp items, const Schedule &schedule, const TensorNames &names,
                SymbolTable &symbols, const ItemsLoweringOptions &options)
      : items(items), schedule(schedule), names(names), symbols(symbols), options(options),
        order(schedule), b(items.getLoc(), items) {}

  FailureOr<int64_t> run() {
    if (failed(verifyAdds(items)) || failed(emitSizeChecks(b, items, schedule.problem, names)))
      return failure();
    Operation *before = topLevelOf(items, symbols);
    auto emit = [&](const NumberTable &table, StringRef name) {
      return table.emit(b, name, symbols, before);
    };
    sequenceTable = emit(order.sequences, "dash_sequences");
    Value itemTable = emit(order.items, "dash_items");
    visitTable = emit(order.visits, "dash_visits");
    if (failed(makeWorkspaces()))
      return failure();

    itemLoop = scf::ForOp::create(b, b.index(0), b.index(order.items.size()), b.index(1));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(itemLoop.getBody());
      if (failed(lowerItem(itemTable)))
        return failure();
    }
    emitSums(before);
    for (Value buffer : buffers)
      memref::DeallocOp::create(b, buffer);
    items.erase();
    return numSlots;
  }

private:
  bool isList() { return bool(items.getSequencesAttr()); }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// A buffer for the whole run of the items.
  Value allocate(ArrayRef<int64_t> shape) {
    OpBuilder::InsertionGuard guard(b);
    if (itemLoop)
      b.setInsertionPoint(itemLoop);
    buffers.push_back(b.allocate(shape));
    return buffers.back();
  }
  Value allocateFor(Value tile) {
    return allocate(cast<RankedTensorType>(tile.getType()).getShape());
  }

  LogicalResult makeWorkspaces() {
    LogicalResult result = success();
    items.walk([&](OrderedReduceOp add) {
      if (failed(result))
        return;
      int64_t slots = add->getParentOfType<WalkOp>() ? order.visits.size()
                                                     : order.partChains.size() * schedule.parts;
      numSlots += slots;
      auto tile = cast<RankedTensorType>(add.getValue().getType());
      if (!cast<MemRefType>(add.getTarget().getType()).isLastDimUnitStride())
        result = add.emitError() << "needs a sum with an innermost stride of 1, got "
                                 << add.getTarget().getType();
      else
        result = makeWorkspace(
            add, {std::max<int64_t>(slots, 1), tile.getDimSize(0), tile.getDimSize(1)});
    });
    return result;
  }

  LogicalResult makeWorkspace(OrderedReduceOp add, ArrayRef<int64_t> shape) {
    if (!options.contributionsAreArguments) {
      workspaces[add] = allocate(shape);
      return success();
    }
    auto function = items->getParentOfType<func::FuncOp>();
    auto name = names.find(add.getTarget());
    if (!function || name == names.end())
      return add.emitError() << "has contributions without a name: only dQ, dK and dV, computed as "
                                "--dash-tile does, can be given to a caller";
    auto attributes = b.getDictionaryAttr(
        {b.getNamedAttr(argumentNameAttr, b.getStringAttr("contributions-" + name->second)),
         b.getNamedAttr(argumentShapeAttr, b.getDenseI64ArrayAttr(shape))});
    unsigned number = function.getNumArguments();
    auto type = MemRefType::get(shape, b.getF32Type());
    LogicalResult inserted = function.insertArgument(number, type, attributes, add.getLoc());
    assert(succeeded(inserted) && "a func.func takes any argument");
    (void)inserted;
    workspaces[add] = function.getArgument(number);
    return success();
  }

  /// The buffer of a tile; one that comes from outside is filled before the first item.
  Value bufferOf(Value tile) {
    if (Value known = tiles.lookup(tile))
      return known;
    Value buffer = allocateFor(tile);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(itemLoop);
    DenseElementsAttr elements;
    if (matchPattern(tile, m_Constant(&elements)) && elements.isSplat()) {
      emitFill(b, buffer, b.f32(elements.getSplatValue<APFloat>().convertToDouble()));
    } else {
      ArrayRef<int64_t> shape = shapeOf(buffer);
      b.forEach(shape[0], [&](Value row) {
        b.forEach(shape.size() == 2 ? shape[1] : 1, [&](Value column) {
          SmallVector<Value> at = {row, column};
          at.resize(shape.size());
          b.store(b.toF32(tensor::ExtractOp::create(b, tile, at)), buffer, at);
        });
      });
    }
    return tiles[tile] = buffer;
  }

  Value lookup(Value value) { return value ? scalars.lookupOrDefault(value) : Value(); }

  TileRows rowsOf(Value sequence, Value head, Value tile, bool isQuery) {
    auto entry = [&](int64_t column) { return tableEntry(b, sequenceTable, sequence, column); };
    int64_t tileRows = isQuery ? schedule.problem.tiles.q : schedule.problem.tiles.kv;
    Value length = entry(isQuery ? OrderTables::QRows : OrderTables::KvRows);
    Value first = b.mul(tile, b.index(tileRows));
    Value count = b.min(b.index(tileRows), b.sub(length, first));
    if (!isList())
      return {sequence, head, first, count};
    Value offset = entry(isQuery ? OrderTables::QOffset : OrderTables::KvOffset);
    return {b.index(0), head, b.add(offset, first), count};
  }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  LogicalResult lowerItem(Value itemTable) {
    Value item = itemLoop.getInductionVar();
    auto entry = [&](int64_t column) { return tableEntry(b, itemTable, item, column); };
    scalars.map(items.getSequence(), entry(OrderTables::Sequence));
    scalars.map(items.getKvHead(), entry(OrderTables::KvHead));
    scalars.map(items.getKvTile(), entry(OrderTables::KvTile));
    scalars.map(items.getTurn(), entry(OrderTables::PartTurn));
    itemSlot = entry(OrderTables::PartSlot);
    firstVisit = entry(OrderTables::FirstVisit);
    endVisit = entry(OrderTables::EndVisit);
    return lowerBlock(items.getBody().front());
  }

  LogicalResult lowerBlock(Block &block) {
    for (Operation &op : block) {
      b.setLoc(op.getLoc());
      if (failed(lowerOp(&op)))
        return failure();
    }
    b.setLoc(items.getLoc());
    return success();
  }

  LogicalResult lowerWalk(WalkOp walk) {
    for (auto [carried, init, result] :
         llvm::zip_equal(walk.getCarried(), walk.getInits(), walk.getResults())) {
      Value buffer = allocateFor(carried);
      tiles[carried] = tiles[result] = buffer;
      emitCopy(b, bufferOf(init), buffer);
    }
    LogicalResult result = success();
    b.forEach(firstVisit, endVisit, 1, [&](Value visit) {
      auto entry = [&](int64_t column) { return tableEntry(b, visitTable, visit, column); };
      scalars.map(walk.getHead(), entry(OrderTables::Head));
      scalars.map(walk.getQTile(), entry(OrderTables::QTile));
      scalars.map(walk.getTurn(), entry(OrderTables::Turn));
      taskSlot = entry(OrderTables::Slot);
      result = lowerBlock(walk.getBody().front());
    });
    return result;
  }

  /// Values for the next task. One that is itself a carried value is saved before any is replaced.
  void lowerYield(YieldOp yield) {
    auto walk = cast<WalkOp>(yield->getParentOp());
    SmallVector<Value> next;
    for (Value value : yield.getValues()) {
      next.push_back(bufferOf(value));
      if (auto argument = dyn_cast<BlockArgument>(value);
          argument && argument.getOwner() == &walk.getBody().front()) {
        next.back() = allocateFor(value);
        emitCopy(b, bufferOf(value), next.back());
      }
    }
    for (auto [carried, buffer] : llvm::zip_equal(walk.getCarried(), next))
      emitCopy(b, buffer, bufferOf(carried));
  }

  LogicalResult lowerOp(Operation *op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](WalkOp walk) { return lowerWalk(walk); })
        .Case([&](YieldOp yield) {
          lowerYield(yield);
          return success();
        })
        .Case([&](LoadOp load) {
          return lowerMove(load, load.getSequence(), load.getHead(), load.getTile(),
                           [&](const TileRows &rows) {
                             Value buffer = tiles[load.getResult()] = allocateFor(load.getResult());
                             emitLoad(b, lookup(load.getSource()), rows, buffer);
                           });
        })
        .Case([&](StoreOp store) {
          return lowerMove(store, store.getSequence(), store.getHead(), store.getTile(),
                           [&](const TileRows &rows) {
                             emitStore(b, bufferOf(store.getValue()), lookup(store.getTarget()),
                                       rows, lookup(store.getScale()));
                           });
        })
        .Case([&](OrderedReduceOp add) {
          Value slot = add->getParentOfType<WalkOp>() ? taskSlot : itemSlot;
          emitCopyToSlot(b, bufferOf(add.getValue()), workspaces.lookup(add), slot);
          return success();
        })
        .Case([&](ProbabilityOp probability) { return lowerProbability(probability); })
        .Case<MatmulOp, RoundOp, ScoreGradientOp>([&](auto compute) {
          lowerCompute(compute);
          return success();
        })
        .Default([&](Operation *other) { return cloneScalarOp(other); });
  }

  /// A load or a store; whether of query or of key rows, its tile says.
  LogicalResult lowerMove(Operation *op, Value sequence, Value head, Value tile,
                          llvm::function_ref<void(const TileRows &)> emit) {
    auto walk = op->getParentOfType<WalkOp>();
    bool isQuery = walk && tile == walk.getQTile();
    if (!isQuery && tile != items.getKvTile())
      return op->emitError() << "must name its tile by a block argument of 'dash.items' or "
                                "'dash.walk', which says whether its rows are query or key rows";
    emit(rowsOf(lookup(sequence), lookup(head), lookup(tile), isQuery));
    return success();
  }

  void lowerCompute(MatmulOp op) {
    Product product{bufferOf(op.getA()),
                    op.getTransposeA(),
                    bufferOf(op.getB()),
                    op.getTransposeB(),
                    Value(),
                    Value(),
                    Value()};
    if (op.getAccumulate())
      product.accumulate = bufferOf(op.getAccumulate());
    product.result = tiles[op.getResult()] = allocateFor(op.getResult());
    if (op.getTransposeB()) {
      ArrayRef<int64_t> shape = shapeOf(product.b);
      product.transposed = allocate({shape[1], shape[0]});
    }
    emitProduct(b, product);
  }

  LogicalResult lowerProbability(ProbabilityOp op) {
    // The order says of a task's own tiles that the mask's rules show them.
    auto walk = op->getParentOfType<WalkOp>();
    if (!walk || op.getSequence() != items.getSequence() || op.getKvTile() != items.getKvTile() ||
        op.getQTile() != walk.getQTile())
      return op.emitError() << "must be at the sequence, kv tile and q tile of its task: block "
                               "arguments of its 'dash.items' and 'dash.walk'";
    Value scores = bufferOf(op.getScores()), lse = bufferOf(op.getLse());
    Value result = tiles[op.getResult()] = allocateFor(op.getResult());
    const Problem &problem = schedule.problem;
    Value sequence = lookup(op.getSequence());
    Value qRows = tableEntry(b, sequenceTable, sequence, OrderTables::QRows);
    Value kvRows = tableEntry(b, sequenceTable, sequence, OrderTables::KvRows);
    Value firstRow = b.mul(lookup(op.getQTile()), b.index(problem.tiles.q));
    Value firstColumn = b.mul(lookup(op.getKvTile()), b.index(problem.tiles.kv));
    emitProbability(b, scores, lse, lookup(op.getScale()), result, [&](Value qRow, Value kvRow) {
      return isVisible(b, problem.mask, b.add(firstRow, qRow), b.add(firstColumn, kvRow), qRows,
                       kvRows);
    });
    return success();
  }

  void lowerCompute(RoundOp op) {
    Value value = bufferOf(op.getValue());
    Value result = tiles[op.getResult()] = allocateFor(op.getResult());
    emitRound(b, value, op.getType().getElementType(), result);
  }

  void lowerCompute(ScoreGradientOp op) {
    Value probability = bufferOf(op.getProbability()), gradient = bufferOf(op.getGradient());
    Value delta = bufferOf(op.getDelta());
    Value result = tiles[op.getResult()] = allocateFor(op.getResult());
    emitScoreGradient(b, probability, gradient, delta, op.getType().getElementType(), result);
  }

  /// Index arithmetic and the like, as a user may write between ops on tiles.
  LogicalResult cloneScalarOp(Operation *op) {
    auto isTensor = [](Type type) { return isa<TensorType>(type); };
    if (op->hasTrait<OpTrait::ConstantLike>() && llvm::any_of(op->getResultTypes(), isTensor))
      return success(); // bufferOf reads it
    if (op->getNumRegions() != 0 || llvm::any_of(op->getOperandTypes(), isTensor) ||
        llvm::any_of(op->getResultTypes(), isTensor))
      return op->emitError() << "cannot be lowered to loops inside 'dash.items': only ops of dash "
                                "may have tiles or regions there";
    b.clone(*op, scalars);
    return success();
  }

  void emitSums(Operation *before) {
    Value chainTable, partChainTable;
    items.walk([&](OrderedReduceOp add) {
      b.setLoc(add.getLoc());
      bool isQuery = bool(add->getParentOfType<WalkOp>());
      const NumberTable &chains = isQuery ? order.chains : order.partChains;
      Value &table = isQuery ? chainTable : partChainTable;
      if (!table)
        table = chains.emit(b, isQuery ? "dash_chains" : "dash_part_chains", symbols, before);
      emitChainSums(b, workspaces.lookup(add), table, chains.size(), add.getTarget(),
                    [&](Value sequence, Value head, Value tile) {
                      return rowsOf(sequence, head, tile, isQuery);
                    });
    });
    b.setLoc(items.getLoc());
  }

  ItemsOp items;
  const Schedule &schedule;
  const TensorNames &names;
  SymbolTable &symbols;
  const ItemsLoweringOptions &options;
  OrderTables order;
  LoopBuilder b;
  scf::ForOp itemLoop;
  SmallVector<Value> buffers;
  // Looked up only.
  llvm::DenseMap<Value, Value> tiles;
  llvm::DenseMap<Operation *, Value> workspaces;
  IRMapping scalars;
  Value sequenceTable, visitTable;
  // Of the item and the task at hand.
  Value firstVisit, endVisit, itemSlot, taskSlot;
  int64_t numSlots = 0;
};

} // namespace

FailureOr<int64_t> dash::lowerItems(ItemsOp items, const Schedule &schedule,
                                    const TensorNames &names, SymbolTable &symbols,
                                    const ItemsLoweringOptions &options) {
  return ItemsLowering(items, schedule, names, symbols, options).run();
}
