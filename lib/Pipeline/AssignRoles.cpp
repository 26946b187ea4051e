//===- AssignRoles.cpp - who loads, who multiplies, who adds --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op is says who does it; what uses a value says whether it has to cross. Nothing here knows
// an attention backward: S, dP, dS are what they are by the products that they go into.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/IR/TensorNames.h"
#include "dash/Pipeline/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dash {
#define GEN_PASS_DEF_ASSIGNROLES
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Rows of a tile that one warpgroup multiplies: those of its instruction.
static constexpr int64_t rowsOfWarpgroup = 64;

namespace {

/// Who does an op. The order is that of roles in a worker. Shared is what is cheap enough for all:
/// numbers that tiles are found by.
enum class Role { LoadStep, Reduce, LoadItem, Compute, Shared };

/// The tiles of a slot of a channel, before they are cut.
struct Slot {
  std::string name;
  SmallVector<Value, 2> tiles;
  Role from, to;
};

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

bool isRow(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 1; }

/// Finds roles and channels of one problem, and checks that it has a form that roles can take.
class Cutter {
public:
  explicit Cutter(ItemsOp items) : items(items), names(nameTensors(items)) {}

  LogicalResult run() {
    if (failed(findWalk()) || failed(assign()) || failed(checkCrossings()) ||
        failed(cutItemLoads()) || failed(cutStepLoads()))
      return failure();
    cutExchanges();
    return cutSums();
  }

  /// The role of an op in the items; Shared for the walk and its end.
  Role roleOf(Operation *op) const {
    auto it = roles.find(op);
    return it == roles.end() ? Role::Shared : it->second;
  }

  ItemsOp items;
  WalkOp walk;
  SmallVector<Slot> slots;

private:
  LogicalResult findWalk() {
    auto walks = items.getBody().getOps<WalkOp>();
    if (!llvm::hasSingleElement(walks))
      return items.emitError() << "roles overlap the steps of one 'dash.walk', got "
                               << llvm::range_size(walks);
    walk = *walks.begin();
    if (int64_t rows = items.getTiles().getKv(); rows % rowsOfWarpgroup != 0)
      return items.emitError() << "warpgroups share a kv tile in pieces of " << rowsOfWarpgroup
                               << " rows, which do not divide its " << rows
                               << ": tile with a multiple";
    return success();
  }

  LogicalResult assign() {
    for (Block *block : {&items.getBody().front(), &walk.getBody().front()})
      for (Operation &op : *block)
        if (!isa<WalkOp, YieldOp>(op) && failed(assign(op)))
          return failure();
    return success();
  }

  LogicalResult assign(Operation &op) {
    bool inStep = op.getParentOp() == walk;
    if (isa<LoadOp>(op)) {
      roles[&op] = inStep ? Role::LoadStep : Role::LoadItem;
    } else if (isa<ReduceOp, OrderedReduceOp>(op)) {
      if (!inStep)
        return op.emitError() << "adds to a tile of its item, which no role does: order the "
                                 "problem with parts=1";
      roles[&op] = Role::Reduce;
    } else if (isa<StoreOp>(op)) {
      if (inStep)
        return op.emitError()
               << "stores in each step, which no role does: results leave at the end "
                  "of an item, through slots that are free by then";
      roles[&op] = Role::Compute;
    } else if (op.getNumRegions() == 0 && isMemoryEffectFree(&op)) {
      bool hasTile =
          llvm::any_of(op.getOperands(), isTile) || llvm::any_of(op.getResults(), isTile);
      roles[&op] = hasTile ? Role::Compute : Role::Shared;
    } else {
      return op.emitError() << "no role does this: roles load, compute with, add and store tiles";
    }
    return success();
  }

  /// The role that a value of the items comes from; Shared if it comes from outside of them, or is
  /// an index of theirs.
  Role roleOf(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner()->getParentOp() == walk && isTile(value) ? Role::Compute
                                                                         : Role::Shared;
    Operation *op = value.getDefiningOp();
    return op == walk ? Role::Compute : items->isProperAncestor(op) ? roleOf(op) : Role::Shared;
  }

  /// Loads give tiles to the computing role, which gives its own to itself and to the adding one.
  LogicalResult checkCrossings() {
    for (auto [op, role] : roles)
      for (Value operand : op->getOperands()) {
        Role from = roleOf(operand);
        if (from == Role::Shared || from == role || role == Role::Compute)
          continue;
        if (role == Role::Reduce && from == Role::Compute && isTile(operand) &&
            operand.getDefiningOp() && operand.getDefiningOp()->getParentOp() == walk)
          continue;
        return op->emitError() << "takes a value that another role makes, and only what products "
                                  "give in the same step crosses to where it is added";
      }
    return success();
  }

  Slot &addSlot(StringRef name, Value tile, Role from, Role to) {
    std::string unique = name.str();
    for (int64_t i = 1; !taken.insert(unique).second; ++i)
      unique = (name + Twine(i)).str();
    slots.push_back({unique, {tile}, from, to});
    return slots.back();
  }

  StringRef nameOf(LoadOp load) const {
    StringRef name = names.lookup(load.getSource());
    return name.empty() ? "tile" : name;
  }

  LogicalResult cutItemLoads() {
    for (LoadOp load : items.getBody().getOps<LoadOp>()) {
      if (isRow(load.getResult()))
        return load.emitError() << "loads a row vector for a whole item, but row vectors belong to "
                                   "tiles of a step";
      if (!load->use_empty())
        addSlot(nameOf(load), load.getResult(), Role::LoadItem, Role::Compute);
    }
    return success();
  }

  /// A slot for each tile, in the order in which they are needed; a row vector goes with the tile
  /// whose product it is first used with, because that is what it is waited for with.
  LogicalResult cutStepLoads() {
    llvm::MapVector<Value, SmallVector<Value, 2>> rows;
    for (LoadOp load : walk.getBody().getOps<LoadOp>()) {
      if (!isRow(load.getResult()) || load->use_empty())
        continue;
      Value tile = findTileOfRows(load.getResult());
      if (!tile)
        return load.emitError()
               << "loads a row vector that is not used with a product of a tile of "
                  "its step, so it has no slot to travel in";
      rows[tile].push_back(load.getResult());
    }
    for (Operation &op : walk.getBody().front())
      if (roleOf(&op) == Role::Compute)
        for (Value operand : op.getOperands()) {
          auto load = operand.getDefiningOp<LoadOp>();
          if (!load || load->getParentOp() != walk || isRow(operand) ||
              llvm::any_of(slots, [&](Slot &slot) { return slot.tiles.front() == operand; }))
            continue;
          Slot &slot = addSlot(nameOf(load), operand, Role::LoadStep, Role::Compute);
          llvm::append_range(slot.tiles, rows.lookup(operand));
        }
    return success();
  }

  Value findTileOfRows(Value row) {
    for (Operation *user : row.getUsers())
      for (Value operand : user->getOperands())
        if (auto product = operand.getDefiningOp<MatmulOp>())
          for (Value factor : {product.getA(), product.getB()})
            if (auto load = factor.getDefiningOp<LoadOp>(); load && load->getParentOp() == walk)
              return factor;
    return Value();
  }

  /// Warpgroups split tiles by rows. A factor whose rows are the rows of the product is theirs; one
  /// whose rows are summed over is needed whole by each of them.
  void cutExchanges() {
    for (MatmulOp product : walk.getBody().getOps<MatmulOp>())
      for (auto [factor, isWhole] :
           {std::pair<Value, bool>(product.getA(), product.getTransposeA()),
            std::pair<Value, bool>(product.getB(), true)}) {
        Operation *op = factor.getDefiningOp();
        if (!isWhole || !op || op->getParentOp() != walk || roleOf(op) != Role::Compute ||
            llvm::any_of(slots, [&, tile = factor](Slot &slot) { return slot.tiles[0] == tile; }))
          continue;
        addSlot(isa<ScoreGradientOp>(op) ? "ds" : "whole", factor, Role::Compute, Role::Compute);
      }
  }

  LogicalResult cutSums() {
    for (Operation &op : walk.getBody().front()) {
      if (roleOf(&op) != Role::Reduce)
        continue;
      Value tile = op.getOperand(0);
      if (roleOf(tile) != Role::Compute)
        return op.emitError() << "adds a tile that no product gives: there is nothing to hand on";
      StringRef name = names.lookup(op.getOperand(1));
      addSlot(name.empty() ? "sum" : name, tile, Role::Compute, Role::Reduce);
    }
    return success();
  }

  TensorNames names;
  llvm::MapVector<Operation *, Role> roles;
  llvm::StringSet<> taken;
};

/// Writes the roles of a problem that has been cut.
class RoleBuilder {
public:
  RoleBuilder(const Cutter &cut)
      : cut(cut), items(cut.items), walk(cut.walk), b(items.getLoc(), items) {}

  void run() {
    auto workers = WorkersOp::create(b, IntegerAttr(), IntegerAttr());
    Block &body = workers.getBody().emplaceBlock();
    b.setInsertionPointToEnd(&body);
    for (const Slot &slot : cut.slots) {
      auto types = llvm::map_to_vector(slot.tiles, [](Value tile) { return tile.getType(); });
      b.setLoc(slot.tiles.front().getLoc());
      channels.push_back(ChannelOp::create(b, ChannelType::get(b.getContext(), types), slot.name,
                                           /*depth=*/1, nullptr, nullptr));
    }
    int64_t computeWarps = 4 * (items.getTiles().getKv() / rowsOfWarpgroup);
    addRole(Role::LoadStep, "load-q", 1, [&] { buildLoads(Role::LoadStep); });
    addRole(Role::Reduce, "reduce", 1, [&] { buildSums(); });
    addRole(Role::LoadItem, "load-kv", 1, [&] { buildLoads(Role::LoadItem); });
    addRole(Role::Compute, "compute", computeWarps, [&] { buildCompute(); });
    items.erase();
  }

private:
  void addRole(Role role, StringRef name, int64_t warps, llvm::function_ref<void()> build) {
    if (llvm::none_of(cut.slots, [&](const Slot &s) { return s.from == role || s.to == role; }) &&
        role != Role::Compute)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setLoc(items.getLoc());
    auto op = RoleOp::create(b, name, warps, IntegerAttr());
    b.setInsertionPointToEnd(&op.getBody().emplaceBlock());
    auto clone = ItemsOp::create(b, items.getOrderAttr(), items.getQ(), items.getK(), items.getV(),
                                 items.getTiles(), items.getMask(), items.getLevel(),
                                 items.getSequencesAttr());
    clone->setDiscardableAttrs(items->getDiscardableAttrDictionary());
    mapping.clear();
    mapping.map(items.getBody().getArguments(), clone.getBody().getArguments());
    b.setInsertionPointToEnd(&clone.getBody().front());
    build();
  }

  /// A walk for this role, with what it carries.
  WalkOp cloneWalk(ValueRange inits) {
    b.setLoc(walk.getLoc());
    auto clone = WalkOp::create(b, /*scheduled=*/true, inits);
    clone->setDiscardableAttrs(walk->getDiscardableAttrDictionary());
    unsigned numIndices = walk.getNumIndices();
    mapping.map(walk.getBody().getArguments().take_front(numIndices),
                clone.getBody().getArguments().take_front(numIndices));
    return clone;
  }

  /// Builds at the end of a walk's body, in front of its end if it has one already.
  void enter(WalkOp clone) {
    Block &body = clone.getBody().front();
    if (body.mightHaveTerminator())
      b.setInsertionPoint(body.getTerminator());
    else
      b.setInsertionPointToEnd(&body);
  }

  /// The value in this role, with the ops that make it where every role makes it for itself.
  Value find(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !items->isProperAncestor(op))
      return value;
    assert(cut.roleOf(op) == Role::Shared && "tiles cross through channels only");
    clone(op);
    return mapping.lookup(value);
  }

  Operation *clone(Operation *op) {
    for (Value operand : op->getOperands())
      mapping.map(operand, find(operand));
    return b.clone(*op, mapping);
  }

  void put(const Slot &slot, ChannelOp channel) {
    b.setLoc(slot.tiles.front().getLoc());
    PutOp::create(b, llvm::map_to_vector(slot.tiles, [&](Value tile) { return find(tile); }),
                  channel);
  }

  void get(const Slot &slot, ChannelOp channel) {
    b.setLoc(slot.tiles.front().getLoc());
    auto types = channel.getType().getTiles();
    mapping.map(ValueRange(slot.tiles), GetOp::create(b, types, channel).getTiles());
  }

  void buildLoads(Role role) {
    if (role == Role::LoadStep)
      enter(cloneWalk({}));
    for (auto [slot, channel] : llvm::zip(cut.slots, channels)) {
      if (slot.from != role)
        continue;
      for (Value tile : slot.tiles)
        clone(tile.getDefiningOp());
      put(slot, channel);
    }
  }

  void buildSums() {
    enter(cloneWalk({}));
    for (Operation &op : walk.getBody().front()) {
      if (cut.roleOf(&op) != Role::Reduce)
        continue;
      for (auto [slot, channel] : llvm::zip(cut.slots, channels))
        if (slot.to == Role::Reduce && slot.tiles[0] == op.getOperand(0))
          get(slot, channel);
      clone(&op);
    }
  }

  void buildCompute() {
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (slot.from == Role::LoadItem)
        get(slot, channel);
    for (Operation &op : items.getBody().front()) {
      if (&op == walk)
        buildSteps();
      else if (cut.roleOf(&op) == Role::Compute)
        clone(&op);
    }
  }

  void buildSteps() {
    SmallVector<Value> inits =
        llvm::map_to_vector(walk.getInits(), [&](Value init) { return find(init); });
    WalkOp steps = cloneWalk(inits);
    mapping.map(walk.getBody().getArguments(), steps.getBody().getArguments());
    OpBuilder::InsertionGuard guard(b);
    enter(steps);
    for (Operation &op : walk.getBody().front())
      if (cut.roleOf(&op) == Role::Compute && !isa<YieldOp>(op))
        buildStep(op);
    if (!inits.empty())
      clone(walk.getYield());
    mapping.map(walk.getResults(), steps.getResults());
  }

  /// An op between the gets that it is the first to need and the puts of what it makes.
  void buildStep(Operation &op) {
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (slot.from == Role::LoadStep && !mapping.contains(slot.tiles[0]) &&
          llvm::any_of(op.getOperands(), [&, &tiles = slot.tiles](Value operand) {
            return llvm::is_contained(tiles, operand);
          }))
        get(slot, channel);
    cloneWithWholes(op);
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (slot.from == Role::Compute && slot.tiles[0].getDefiningOp() == &op)
        put(slot, channel);
  }

  /// Products that need all rows of a tile get them from its exchange.
  void cloneWithWholes(Operation &op) {
    auto product = dyn_cast<MatmulOp>(op);
    for (auto [slot, channel] : llvm::zip(cut.slots, channels)) {
      if (!product || slot.from != Role::Compute || slot.to != Role::Compute)
        continue;
      Value tile = slot.tiles[0];
      if ((product.getA() != tile || !product.getTransposeA()) && product.getB() != tile)
        continue;
      b.setLoc(op.getLoc());
      if (!wholes.contains(tile))
        wholes[tile] = GetOp::create(b, channel.getType().getTiles(), channel).getTiles().front();
    }
    Operation *made = clone(&op);
    if (!product)
      return;
    auto copy = cast<MatmulOp>(made);
    if (Value tile = wholes.lookup(product.getA()); tile && product.getTransposeA())
      copy.getAMutable().assign(tile);
    if (Value tile = wholes.lookup(product.getB()))
      copy.getBMutable().assign(tile);
  }

  const Cutter &cut;
  ItemsOp items;
  WalkOp walk;
  ImplicitLocOpBuilder b;
  IRMapping mapping;
  SmallVector<ChannelOp> channels;
  llvm::DenseMap<Value, Value> wholes; // looked up only
};

struct AssignRoles : public dash::impl::AssignRolesBase<AssignRoles> {
  void runOnOperation() override {
    SmallVector<ItemsOp> all;
    getOperation()->walk([&](ItemsOp items) {
      if (!items->getParentOfType<RoleOp>())
        all.push_back(items);
    });
    if (all.empty())
      getOperation()->emitWarning() << "no 'dash.items' to split among roles; run --dash-tile and "
                                       "--dash-apply-schedule first";
    for (ItemsOp items : all) {
      if (!items.isScheduled()) {
        items.emitError() << "has no order for roles to follow; run --dash-apply-schedule first";
        return signalPassFailure();
      }
      Cutter cut(items);
      if (failed(cut.run()))
        return signalPassFailure();
      numChannels += cut.slots.size();
      RoleBuilder(cut).run();
      ++numSplit;
    }
  }
};

} // namespace
