//===- RoleBuilder.cpp - writes roles and channels ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleBuilder.h"
#include "dash/IR/SlotHeader.h"
#include "dash/Pipeline/BufferPlan.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Writes the roles of a problem that has been cut.
class RoleBuilder {
public:
  RoleBuilder(RoleCut &cut, bool beginsAhead, bool handsOut)
      : cut(cut), items(cut.items), walk(cut.walk), beginsAhead(beginsAhead), handsOut(handsOut),
        b(items.getLoc(), items) {}

  void run() {
    auto workers = WorkersOp::create(b, cut.tiling.getStructure(), IntegerAttr(), IntegerAttr(),
                                     IntegerAttr());
    workers.setHandsOut(handsOut);
    workers.setBeginsAhead(beginsAhead);
    Block &body = workers.getBody().emplaceBlock();
    b.setInsertionPointToEnd(&body);
    for (const Slot &slot : cut.slots) {
      auto types = llvm::map_to_vector(slot.tiles, [](Value tile) { return tile.getType(); });
      types.append(countIndices(slot.header, items.ownsQ()), b.getIndexType());
      b.setLoc(locOf(slot));
      channels.push_back(ChannelOp::create(b, ChannelType::get(b.getContext(), types), slot.name,
                                           cut.tiling.getSlotsOf(slot.name).value_or(slotsOfItems),
                                           nullptr, nullptr, nullptr, nullptr,
                                           cut.tiling.holds(slot.name)));
    }
    std::string out = TilingAttr::channelOfResults.str();
    for (const auto &[number, one] : llvm::enumerate(cut.consumers)) {
      if (!one.wayOut)
        continue;
      b.setLoc(items.getLoc());
      ChannelOp::create(b, ChannelType::get(b.getContext(), {one.wayOut}), out,
                        cut.tiling.getSlotsOf(TilingAttr::channelOfResults).value_or(slotsOfWayOut),
                        nullptr, nullptr, nullptr, nullptr, /*held=*/false);
      out = (TilingAttr::channelOfResults + Twine(number + 1)).str();
    }
    if (handsOut)
      addRole(Role::LoadItem, "load", RoleKind::Producer, 1, [&] { buildAllLoads(); });
    else
      addProducers();
    for (auto [number, one] : llvm::enumerate(cut.consumers)) {
      consumer = number;
      wholes.clear();
      addRole(Role::Compute, one.name, RoleKind::Consumer, cut.getComputeWarps(),
              [&] { buildCompute(); });
    }
    items.erase();
  }

private:
  Location locOf(const Slot &slot) {
    return slot.tiles.empty() ? items.getLoc() : slot.tiles.front().getLoc();
  }

  void addProducers() {
    StringRef loadsStep = items.ownsQ() ? "load-kv" : "load-q";
    StringRef loadsItem = items.ownsQ() ? "load-q" : "load-kv";
    addRole(Role::LoadStep, loadsStep, RoleKind::Producer, 1, [&] { buildLoads(Role::LoadStep); });
    bool keeps = llvm::any_of(cut.roles, [](auto one) { return isa<StoreTaskOp>(one.first); });
    addRole(Role::Reduce, keeps ? "keep" : "reduce", RoleKind::Reducer, 1, [&] { buildSums(); });
    addRole(Role::LoadItem, loadsItem, RoleKind::Producer, 1, [&] { buildLoads(Role::LoadItem); });
  }

  void addRole(Role role, StringRef name, RoleKind kind, int64_t warps,
               llvm::function_ref<void()> build) {
    if (llvm::none_of(cut.slots, [&](const Slot &s) { return s.from == role || s.to == role; }) &&
        role != Role::Compute)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setLoc(items.getLoc());
    auto op = RoleOp::create(b, name, kind, warps, /*registers=*/IntegerAttr(),
                             /*warpgroup=*/IntegerAttr(), /*warpgroups=*/IntegerAttr());
    b.setInsertionPointToEnd(&op.getBody().emplaceBlock());
    auto clone = ItemsOp::create(b, items.getOrderAttr(), items.getQ(), items.getK(), items.getV(),
                                 items.getTiles(), items.getMask(), items.getLevel(),
                                 items.getSequencesAttr(), items.getSide(), items.getCutAttr());
    clone->setDiscardableAttrs(items->getDiscardableAttrDictionary());
    mapping.clear();
    mapping.map(items.getBody().getArguments(), clone.getBody().getArguments());
    b.setInsertionPointToEnd(&clone.getBody().front());
    build();
  }

  /// A walk for this role, with what it carries.
  WalkOp cloneWalk(ValueRange inits) {
    b.setLoc(walk.getLoc());
    auto clone = WalkOp::create(b, /*hasTurn=*/!items.ownsQ(), inits);
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
    b.setLoc(locOf(slot));
    auto elements = llvm::map_to_vector(slot.tiles, [&](Value tile) { return find(tile); });
    for (auto index : llvm::seq(countIndices(slot.header, items.ownsQ())))
      elements.push_back(makeIndex(slot.header, index));
    PutOp::create(b, elements, channel, /*use=*/Value(), /*stage=*/IntegerAttr());
  }

  Value makeIndex(SlotHeader header, unsigned index) {
    if (header == SlotHeader::Step) {
      Value own = find(items.getTile()), walked = find(walk.getTile());
      if (StepIndex(index) == StepIndex::Tile)
        return walked;
      return BandLeadOp::create(b, b.getIndexType(), find(items.getSequence()),
                                items.ownsQ() ? walked : own, items.ownsQ() ? own : walked,
                                items.getMask(), items.getTiles());
    }
    switch (ItemIndex(index)) {
    case ItemIndex::NumSteps:
      return NumStepsOp::create(b, b.getIndexType());
    case ItemIndex::Sequence:
      return find(items.getSequence());
    case ItemIndex::Head:
      return find(items.getWrittenHead());
    case ItemIndex::Tile:
      return find(items.getTile());
    }
    llvm_unreachable("all indices are above");
  }

  WaitOp makeWait(ChannelOp channel) {
    return WaitOp::create(b, channel.getType().getElements(), channel, /*use=*/Value(),
                          /*stage=*/IntegerAttr());
  }

  void wait(const Slot &slot, ChannelOp channel) {
    b.setLoc(locOf(slot));
    WaitOp wait = makeWait(channel);
    mapping.map(ValueRange(slot.tiles), ValueRange(wait.getTiles()));
    auto told = [&](auto index) { return wait.getIndices()[unsigned(index)]; };
    if (slot.header == SlotHeader::Item) {
      numSteps = told(ItemIndex::NumSteps);
      mapping.map(items.getSequence(), told(ItemIndex::Sequence));
      mapping.map(items.getWrittenHead(), told(ItemIndex::Head));
      mapping.map(items.getTile(), told(ItemIndex::Tile));
    } else if (slot.header == SlotHeader::Step) {
      lead = told(StepIndex::Lead);
      if (items.ownsQ())
        mapping.map(walk.getTile(), told(StepIndex::Tile));
    }
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

  /// The item's own tiles first: its first step needs them.
  void buildAllLoads() {
    buildLoads(Role::LoadItem);
    buildLoads(Role::LoadStep);
  }

  void buildSums() {
    enter(cloneWalk({}));
    for (Operation &op : walk.getBody().front()) {
      if (cut.roleOf(&op) != Role::Reduce)
        continue;
      for (auto [slot, channel] : llvm::zip(cut.slots, channels))
        if (slot.to == Role::Reduce && slot.getTile() == op.getOperand(0))
          wait(slot, channel);
      clone(&op);
    }
    b.setInsertionPointAfter(b.getInsertionBlock()->getParentOp());
    for (auto reduce : items.getBody().getOps<OrderedReduceOp>())
      buildItemSum(reduce);
  }

  /// The add of an item's sum, piece by piece.
  void buildItemSum(OrderedReduceOp reduce) {
    int64_t pieces = RoleCut::countPieces(reduce.getValue(), *cut.sums);
    for (int64_t piece : llvm::seq(pieces)) {
      b.setLoc(reduce.getLoc());
      auto add =
          OrderedReduceOp::create(b, makeWait(sumsChannel()).getTiles().front(), reduce.getTarget(),
                                  find(reduce.getSequence()), find(reduce.getHead()),
                                  find(reduce.getTile()), find(reduce.getTurn()));
      if (pieces == 1)
        continue;
      add.setPiece(piece);
      add.setPieces(pieces);
    }
    if (pieces > 1)
      for (Operation *user : reduce.getTarget().getUsers())
        if (auto convert = dyn_cast<ConvertOp>(user))
          convert.setPieces(pieces);
  }

  /// What `buildItemSum` waits for.
  void putItemSum(OrderedReduceOp reduce) {
    Value tile = find(reduce.getValue());
    int64_t pieces = RoleCut::countPieces(tile, *cut.sums);
    ChannelOp channel = sumsChannel();
    for (int64_t piece : llvm::seq(pieces)) {
      b.setLoc(reduce.getLoc());
      Value part = pieces == 1 ? tile
                               : PieceOp::create(b, channel.getType().getElements().front(), tile,
                                                 b.getI64IntegerAttr(piece));
      PutOp::create(b, part, channel, /*use=*/Value(), /*stage=*/IntegerAttr());
    }
  }

  ChannelOp sumsChannel() { return channels[cut.sums - cut.slots.data()]; }

  void buildCompute() {
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (slot.from == Role::LoadItem && (current().reads(slot) || slot.header == SlotHeader::Item))
        wait(slot, channel);
    for (Operation &op : items.getBody().front()) {
      if (&op == walk)
        buildSteps();
      else if (auto reduce = dyn_cast<OrderedReduceOp>(op))
        putItemSum(reduce);
      else if (current().ops.contains(&op))
        clone(&op);
    }
  }

  const Consumer &current() const { return cut.consumers[consumer]; }

  void buildSteps() {
    SmallVector<Value> inits = llvm::map_to_vector(
        current().sums, [&](unsigned sum) { return find(walk.getInits()[sum]); });
    WalkOp steps = cloneWalk(inits);
    steps.getNumStepsMutable().assign(numSteps);
    for (auto [sum, carried] : llvm::zip_equal(current().sums, steps.getCarried()))
      mapping.map(walk.getCarried()[sum], carried);
    OpBuilder::InsertionGuard guard(b);
    enter(steps);
    for (Operation &op : walk.getBody().front())
      if (current().ops.contains(&op))
        buildStep(op);
    if (!inits.empty()) {
      b.setLoc(walk.getYield().getLoc());
      YieldOp::create(b, llvm::map_to_vector(current().sums, [&](unsigned sum) {
                        return find(walk.getYield()->getOperand(sum));
                      }));
    }
    for (auto [sum, result] : llvm::zip_equal(current().sums, steps.getResults()))
      mapping.map(walk.getResult(sum), result);
  }

  /// Whether a role loads the slot for the consumer, or another consumer passes it.
  bool comesFromOthers(const Slot &slot) const {
    bool isPassed = slot.from == Role::Compute && slot.to == Role::Compute;
    return slot.from == Role::LoadStep || (isPassed && slot.maker != consumer);
  }

  /// An op between the gets that it is the first to need and the puts of what it makes.
  void buildStep(Operation &op) {
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (comesFromOthers(slot) && !mapping.contains(slot.getTile()) &&
          llvm::any_of(op.getOperands(), [&, &tiles = slot.tiles](Value operand) {
            return llvm::is_contained(tiles, operand);
          }))
        wait(slot, channel);
    cloneWithWholes(op);
    for (auto [slot, channel] : llvm::zip(cut.slots, channels))
      if (slot.from == Role::Compute && slot.maker == consumer &&
          slot.getTile().getDefiningOp() == &op)
        put(slot, channel);
  }

  /// Products that need all rows of a tile get them from its exchange.
  void cloneWithWholes(Operation &op) {
    auto product = dyn_cast<MatmulOp>(op);
    for (auto [slot, channel] : llvm::zip(cut.slots, channels)) {
      if (!product || slot.from != Role::Compute || slot.to != Role::Compute ||
          slot.maker != consumer)
        continue;
      Value tile = slot.getTile();
      if (!reads(product.getAMutable(), tile) && !reads(product.getBMutable(), tile))
        continue;
      b.setLoc(op.getLoc());
      if (!wholes.contains(tile))
        wholes[tile] = makeWait(channel).getTiles().front();
    }
    Operation *made = cloneForConsumer(op);
    if (!product)
      return;
    auto copy = cast<MatmulOp>(made);
    for (auto [factor, ofCopy] : {std::pair(&product.getAMutable(), &copy.getAMutable()),
                                  {&product.getBMutable(), &copy.getBMutable()}})
      if (Value whole = wholes.lookup(factor->get()); whole && reads(*factor, factor->get()))
        ofCopy->assign(whole);
  }

  /// Whether a factor is read from the tile's exchange.
  bool reads(OpOperand &factor, Value tile) {
    return factor.get() == tile &&
           cut.splits.needsExchange(cast<MatmulOp>(factor.getOwner()), factor);
  }

  /// A consumer is told where the mask's edges run, and hides what lies behind it before the
  /// exponentials. Capped scores are hidden as they are, so that what computes their slope knows it
  /// too.
  Operation *cloneForConsumer(Operation &op) {
    b.setLoc(op.getLoc());
    if (auto visible = dyn_cast<VisibleOp>(op)) {
      Value shown = hide(find(visible.getScores()));
      mapping.map(visible.getResult(), shown);
      return shown.getDefiningOp();
    }
    auto probability = dyn_cast<ProbabilityOp>(op);
    if (!probability)
      return clone(&op);
    bool isCapped = bool(probability.getScores().getDefiningOp<SoftcapOp>());
    Value scores = find(probability.getScores());
    if (isCapped)
      mapping.map(probability.getScores(), scores = hide(scores));
    Value scale = probability.getScale();
    IntegerAttr stage;
    Value log = LogProbabilityOp::create(b, scores.getType(), scores, find(probability.getLse()),
                                         scale ? find(scale) : scale,
                                         /*q_rows=*/items.ownsQ(), stage);
    auto made = Exp2Op::create(b, log.getType(), isCapped ? log : hide(log), stage);
    mapping.map(probability.getResult(), made.getResult());
    return made;
  }

  Value hide(Value tile) {
    LeadEdges edges(items.getMask().getEdges());
    bool isOneEdge = !edges.width && edges.firstColumns == 0;
    MaskAttr mask = isOneEdge ? MaskAttr() : items.getMask();
    Value sequence = items.getSequencesAttr() ? find(items.getSequence()) : Value();
    Value kvTile = find(items.ownsQ() ? walk.getTile() : items.getTile());
    return HideOp::create(b, tile.getType(), tile, lead, kvTile, sequence, mask,
                          /*q_rows=*/items.ownsQ(), /*channel=*/Value(), /*slot=*/Value(),
                          /*indices=*/DenseI64ArrayAttr(),
                          /*stage=*/IntegerAttr());
  }

  RoleCut &cut;
  ItemsOp items;
  WalkOp walk;
  bool beginsAhead, handsOut;
  size_t consumer = 0;  ///< the one that is written
  Value numSteps, lead; ///< out of the slots' headers
  ImplicitLocOpBuilder b;
  IRMapping mapping;
  SmallVector<ChannelOp> channels;
  llvm::DenseMap<Value, Value> wholes; // looked up only
};

} // namespace

void dash::buildRoles(RoleCut &cut, bool beginsAhead, bool handsOut) {
  RoleBuilder(cut, beginsAhead, handsOut).run();
}
