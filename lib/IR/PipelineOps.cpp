//===- PipelineOps.cpp - roles and channels -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks what holds for roles and channels at any time. Whether a whole program of them ends, and
// fits a chip, is known only when all buffers are planned: `dash-check-resources` checks it.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"
#include "dash/IR/Consumers.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

#define GET_TYPEDEF_CLASSES
#include "dash/IR/DashTypes.cpp.inc"

void DashDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dash/IR/DashTypes.cpp.inc"
      >();
}

/// Limits above those of any chip. Below them, no sum or product of a plan overflows;
/// `dash-check-resources` compares with the actual chip.
static constexpr int64_t maxCount = int64_t(1) << 16, maxBytes = (int64_t(1) << 31) - 1;

static LogicalResult verifyRange(Operation *op, StringRef name, int64_t value, int64_t least,
                                 int64_t most) {
  if (value >= least && value <= most)
    return success();
  return op->emitOpError() << name << " must be from " << least << " to " << most << ", got "
                           << value;
}

static bool fitsBytes(RankedTensorType tile) {
  int64_t bits = tile.getElementTypeBitWidth();
  for (int64_t size : tile.getShape())
    if (llvm::MulOverflow(bits, size, bits))
      return false;
  return bits <= 8 * maxBytes;
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<Type> elements) {
  unsigned numIndices = 0;
  for (Type element : elements) {
    numIndices += element.isIndex();
    auto tensor = dyn_cast<RankedTensorType>(element);
    bool isTile = tensor && tensor.hasStaticShape() && numIndices == 0;
    if (!isTile && !element.isIndex())
      return emitError() << "a slot holds ranked tensors of static shape, then indices, got "
                         << element;
    if (isTile && !tensor.getElementType().isIntOrFloat())
      return emitError() << "a slot holds tiles of integers or floats, got " << element;
    if (isTile && !fitsBytes(tensor))
      return emitError() << "a tile of a slot has at most " << maxBytes << " bytes, got "
                         << element;
  }
  if (numIndices > maxIndices)
    return emitError() << "a slot holds at most " << maxIndices << " indices, got " << numIndices;
  return success();
}

int64_t ChannelType::getElementBytes(unsigned element) const {
  if (getElements()[element].isIndex())
    return 4;
  auto tensor = cast<RankedTensorType>(getElements()[element]);
  return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
}

unsigned ChannelType::getNumTiles() const {
  return llvm::count_if(getElements(), llvm::IsaPred<RankedTensorType>);
}

int64_t ChannelType::getTilesBytes() const {
  int64_t bytes = 0;
  for (unsigned tile = 0, count = getNumTiles(); tile < count; ++tile)
    bytes += getElementBytes(tile);
  return bytes;
}

LogicalResult dash::detail::verifyInsideRole(Operation *op) {
  if (op->getParentOfType<RoleOp>())
    return success();
  return op->emitOpError("stands inside 'dash.role' only: channels connect roles");
}

//===----------------------------------------------------------------------===//
// WorkersOp
//===----------------------------------------------------------------------===//

/// The first warp of a role with `warps` warps that follows roles that end at `end`.
static int64_t startBehind(int64_t end, int64_t warps) {
  return warps < 4 ? end : llvm::alignTo(end, 4);
}

int64_t WorkersOp::getNumWarps() {
  int64_t end = 0;
  for (RoleOp role : getRoles())
    end = startBehind(end, role.getWarps()) + role.getWarps();
  return llvm::alignTo(end, 4);
}

int64_t WorkersOp::getFirstWarp(RoleOp role) {
  int64_t end = 0;
  for (RoleOp other : getRoles()) {
    int64_t start = startBehind(end, other.getWarps());
    if (other == role)
      return start;
    end = start + other.getWarps();
  }
  llvm_unreachable("a role of another worker");
}

static int64_t numLanes(RoleOp role) {
  return role.isConsumer() ? role.getNumWarpgroups() : role.getWarps();
}

SmallVector<std::string> WorkersOp::getLanes() {
  SmallVector<std::string> lanes;
  for (RoleOp role : getRoles()) {
    int64_t first = role.getWarpgroup().value_or(0);
    StringRef name = role.getName();
    if (role.getWarpgroup())
      name.consume_back(std::to_string(first)); // the copy's number
    for (int64_t lane : llvm::seq(first, first + numLanes(role)))
      lanes.push_back(name.str() + (lane ? " " + std::to_string(lane) : ""));
  }
  return lanes;
}

int64_t WorkersOp::getFirstLane(RoleOp role) {
  int64_t first = 0;
  for (RoleOp other : getRoles()) {
    if (other == role)
      return first;
    first += numLanes(other);
  }
  llvm_unreachable("a role of another worker");
}

static LogicalResult verifyNames(WorkersOp workers) {
  llvm::StringSet<> channels, roles;
  bool hasRole = false;
  for (Operation &op : workers.getBody().front()) {
    auto channel = dyn_cast<ChannelOp>(op);
    auto role = dyn_cast<RoleOp>(op);
    if ((!channel && !role) || (channel && hasRole))
      return workers.emitOpError() << "holds channels, then roles; got '" << op.getName() << "'";
    hasRole |= bool(role);
    StringAttr name = channel ? channel.getNameAttr() : role.getNameAttr();
    if (!name) // its verifier reports it
      continue;
    if (!(channel ? channels : roles).insert(name.getValue()).second)
      return workers.emitOpError() << "two " << (channel ? "channels" : "roles") << " are named '"
                                   << name.getValue() << "'";
  }
  return success();
}

ParseResult dash::parseStructure(OpAsmParser &parser, WarpStructureAttr &structure) {
  return parseWord(parser, symbolizeWarpStructure, "a structure (alternating or overlapping)",
                   structure);
}

void dash::printStructure(OpAsmPrinter &printer, Operation *, WarpStructureAttr structure) {
  printer << stringifyWarpStructure(structure.getValue());
}

LogicalResult WorkersOp::verify() {
  if (getRegisters() && failed(verifyRange(*this, "'registers'", *getRegisters(), 1, maxCount)))
    return failure();
  if (getSharedBytes() &&
      failed(verifyRange(*this, "'shared_bytes'", *getSharedBytes(), 0, maxBytes)))
    return failure();
  if (getTrace() && failed(verifyRange(*this, "'trace'", *getTrace(), TraceAttr::headRecords + 1,
                                       TraceAttr::maxRecords)))
    return failure();
  if (failed(verifyRange(*this, "'trace_every'", getTraceEvery(), 1, TraceAttr::maxEvery)))
    return failure();
  return verifyNames(*this);
}

static LogicalResult verifySlotsFit(WorkersOp workers) {
  for (ChannelOp channel : workers.getChannels()) {
    if (!workers.getSharedBytes() || !channel.getOffsets())
      continue;
    int64_t last = channel.getDepth() - 1, bytes = *workers.getSharedBytes();
    for (auto [i, offset, stride] : llvm::enumerate(*channel.getOffsets(), *channel.getStrides()))
      if (int64_t end = offset + last * stride + channel.getType().getElementBytes(i); end > bytes)
        return workers.emitOpError() << "'shared_bytes' is " << bytes << ", but slots of channel '"
                                     << channel.getName() << "' end at byte " << end;
  }
  return success();
}

/// One role draws items, and tells the others by what it loads.
static LogicalResult verifyHandsOut(WorkersOp workers) {
  if (!workers.getHandsOut())
    return success();
  auto refuse = [&] {
    return workers.emitOpError() << "hands out items, which one role loads and the others are "
                                    "told of; got ";
  };
  if (workers.getTrace())
    return workers.emitOpError() << "hands out items, and a trace says what each worker's own list "
                                    "has, so none is traced";
  RoleOp producer;
  for (RoleOp role : workers.getRoles()) {
    if (role.isReducer())
      return refuse() << "a reducer, '" << role.getName() << "'";
    if (role.isConsumer())
      continue;
    if (producer)
      return refuse() << "producers '" << producer.getName() << "' and '" << role.getName() << "'";
    producer = role;
  }
  return producer ? success() : refuse() << "no producer";
}

/// A tile behind all rows stands for steps that an item has not: of a list none can be loaded, and
/// where items own kv tiles its products would be added.
static LogicalResult verifyBeginsAhead(WorkersOp workers) {
  if (!workers.getBeginsAhead())
    return success();
  bool hasConsumer = false;
  for (RoleOp role : workers.getRoles()) {
    hasConsumer |= role.isConsumer();
    if (ItemsOp items = role.getItems(); items && (!items.ownsQ() || items.getSequencesAttr()))
      return workers.emitOpError() << "begins items ahead, which items of batches that own q tiles "
                                      "do; those of role '"
                                   << role.getName() << "' are of others";
  }
  return hasConsumer ? success()
                     : workers.emitOpError("begins items ahead, and has no consumer to do so");
}

LogicalResult WorkersOp::verifyRegions() {
  RoleOp first;
  for (RoleOp role : getRoles()) {
    if (!first)
      first = role;
    ItemsOp items = role.getItems(), expected = first.getItems();
    if (!items != !expected)
      return emitOpError() << "items of role '" << (items ? first : role).getName()
                           << "' are loops, and those of role '" << (items ? role : first).getName()
                           << "' are not";
    if (!items)
      continue;
    if (items->getAttrDictionary() != expected->getAttrDictionary() ||
        items->getOperands() != expected->getOperands())
      return emitOpError() << "role '" << role.getName() << "' must run the items of role '"
                           << first.getName() << "'";
  }
  if (failed(verifySlotsFit(*this)) || failed(verifyHandsOut(*this)) ||
      failed(verifyBeginsAhead(*this)))
    return failure();
  return first ? success() : emitOpError("needs a role");
}

//===----------------------------------------------------------------------===//
// ChannelOp
//===----------------------------------------------------------------------===//

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), (getName() + "_tiles").str());
}

template <typename OpT> static RoleOp firstRoleWith(ChannelOp channel) {
  for (RoleOp role : cast<WorkersOp>(channel->getParentOp()).getRoles())
    for (Operation *user : channel.getResult().getUsers())
      if (isa<OpT>(user) && role->isProperAncestor(user))
        return role;
  return RoleOp();
}

RoleOp ChannelOp::getPutter() { return firstRoleWith<PutOp>(*this); }
RoleOp ChannelOp::getGetter() { return firstRoleWith<WaitOp>(*this); }

bool ChannelOp::isPerStep() {
  return llvm::any_of(getResult().getUsers(), [](Operation *user) {
    return isa<PutOp>(user) && user->getParentOfType<WalkOp>();
  });
}

int64_t ChannelOp::getNumItemUses() {
  int64_t count = 0;
  bool isOfSteps = false;
  for (Operation *user : getResult().getUsers()) {
    auto wait = dyn_cast<WaitOp>(user);
    bool isOfStep = wait && (wait->getParentOfType<WalkOp>() || wait.getUse());
    isOfSteps |= isOfStep;
    // All roles that wait do so as often.
    count += wait && !isOfStep && getGetter()->isProperAncestor(wait);
  }
  return isOfSteps ? count : 0;
}

bool ChannelOp::isLoaded() {
  return llvm::any_of(getResult().getUsers(), [](Operation *user) {
    auto put = dyn_cast<PutOp>(user);
    return isa<CopyInOp>(user) || (put && put.isLoad());
  });
}

bool ChannelOp::isExchange() {
  RoleOp putter = getPutter();
  return putter && llvm::is_contained(getReaders(*this), putter);
}

bool ChannelOp::isWayOut() {
  return llvm::none_of(getResult().getUsers(), [&](Operation *user) {
    return llvm::any_of(syncsOf(user), [&](const Sync &sync) {
      return sync.slot.channel == getResult() && !sync.borrows;
    });
  });
}

bool ChannelOp::passesRegisters() {
  ArrayRef<Type> tiles = getType().getTiles();
  auto isOfThreads = [](Type type) {
    auto tile = cast<RankedTensorType>(type);
    return tile.getRank() == 2 && WaitOp::isReadByThreads(tile);
  };
  // A wait names its tiles, whatever reads them; products read none of f32.
  auto isUsedByThreads = [](Operation *user) {
    auto role = user->getParentOfType<RoleOp>();
    return role && role.isConsumer() &&
           llvm::all_of(accessesOf(user), [](const SlotAccess &access) {
             return access.kind == AccessKind::Name || access.by == AccessAgent::Threads;
           });
  };
  return !tiles.empty() && llvm::all_of(tiles, isOfThreads) &&
         llvm::all_of(getResult().getUsers(), isUsedByThreads);
}

LogicalResult ChannelOp::verify() {
  if (failed(verifyRange(*this, "depth", getDepth(), 1, maxCount)))
    return failure();
  if (!getOffsets() != !getStrides())
    return emitOpError("needs both offsets and strides, or neither");
  if (getBarriers() && getBarriers()->size() != 2)
    return emitOpError() << "needs two barriers, full and empty, got " << getBarriers()->size();
  if (getArrivals() && (getArrivals()->size() != 2 ||
                        llvm::any_of(*getArrivals(), [](int64_t count) { return count < 1; })))
    return emitOpError() << "needs two numbers of arrivals, full and empty, each at least 1, got "
                         << getArrivalsAttr();
  if (!getOffsets())
    return success();
  size_t elements = getType().getElements().size();
  if (getOffsets()->size() != elements || getStrides()->size() != elements)
    return emitOpError() << "needs an offset and a stride for each of the " << elements
                         << " elements of a slot, got " << getOffsets()->size() << " and "
                         << getStrides()->size();
  for (int64_t place : llvm::concat<const int64_t>(*getOffsets(), *getStrides()))
    if (failed(verifyRange(*this, "offsets and strides", place, 0, maxBytes)))
      return failure();
  for (auto [i, stride] : llvm::enumerate(*getStrides()))
    if (int64_t bytes = getType().getElementBytes(i); bytes > stride)
      return emitOpError() << "element " << i << " has " << bytes
                           << " bytes, which do not fit a stride of " << stride;
  return success();
}

//===----------------------------------------------------------------------===//
// RoleOp
//===----------------------------------------------------------------------===//

ItemsOp RoleOp::getItems() {
  Block &body = getBody().front();
  return body.empty() ? ItemsOp() : dyn_cast<ItemsOp>(body.front());
}

WalkOp RoleOp::getWalk() {
  ItemsOp items = getItems();
  if (!items)
    return WalkOp();
  auto walks = items.getBody().getOps<WalkOp>();
  return walks.empty() ? WalkOp() : *walks.begin();
}

/// A consumer's registers are for tiles: slots carry what it must know of the order.
static LogicalResult verifyReadsNoOrder(ItemsOp items) {
  SmallVector<BlockArgument> indices(items.getBody().getArguments());
  for (auto walk : items.getBody().getOps<WalkOp>())
    llvm::append_range(indices, walk.getBody().getArguments().take_front(walk.getNumIndices()));
  for (BlockArgument index : indices)
    if (!index.use_empty())
      return index.getUsers().begin()->emitOpError()
             << "reads the order in a consumer, which is told what to do by indices in slots";
  return success();
}

LogicalResult RoleOp::verify() {
  if (failed(verifyRange(*this, "warps", getWarps(), 1, maxCount)) ||
      (getRegisters() && failed(verifyRange(*this, "registers", *getRegisters(), 1, maxCount))))
    return failure();
  ItemsOp items = getItems();
  if (!items && getBody().getOps<ItemsOp>().empty() && !getBody().front().empty())
    return success(); // lowered to loops
  if (!items || !items.isScheduled() || !llvm::hasSingleElement(getBody().front()))
    return emitOpError("holds one scheduled 'dash.items' and nothing else, or loops");
  if (int64_t walks = llvm::range_size(items.getBody().getOps<WalkOp>()); walks > 1)
    return emitOpError() << "has " << walks << " 'dash.walk', expected one at most";
  return isConsumer() ? verifyReadsNoOrder(items) : success();
}

//===----------------------------------------------------------------------===//
// PutOp, WaitOp
//===----------------------------------------------------------------------===//

static LogicalResult verifyElements(Operation *op, TypeRange elements, ChannelType channel) {
  if (elements.size() == channel.getElements().size() &&
      llvm::all_of_zip(elements, channel.getElements(), fitsSlot))
    return success();
  return op->emitOpError() << "elements must be those of a slot of " << channel << ", got "
                           << elements;
}

bool PutOp::isLoad() { return getTiles().empty() || getTiles().front().getDefiningOp<LoadOp>(); }

LogicalResult PutOp::verify() {
  if (failed(verifyElements(*this, getElements().getTypes(), getChannel().getType())))
    return failure();
  for (Value tile : getTiles())
    if (bool(tile.getDefiningOp<LoadOp>()) != isLoad())
      return emitOpError("tiles must all come from 'dash.load', or none");
  return success();
}

//===----------------------------------------------------------------------===//
// PieceOp
//===----------------------------------------------------------------------===//

LogicalResult PieceOp::verify() {
  RankedTensorType tile = getTile().getType(), piece = getResult().getType();
  int64_t pieces = tile.getDimSize(0) / piece.getDimSize(0);
  if (tile.getDimSize(0) != pieces * piece.getDimSize(0) ||
      tile.getDimSize(1) != piece.getDimSize(1) || tile.getDimSize(1) % pieces != 0)
    return emitOpError() << "cuts tiles by rows: " << formatShape(tile.getShape())
                         << " is no multiple of " << formatShape(piece.getShape());
  if (int64_t(getPiece()) < 0 || int64_t(getPiece()) >= pieces)
    return emitOpError() << "piece must be from 0 to " << pieces - 1 << ", got "
                         << int64_t(getPiece());
  auto layout = dyn_cast_or_null<FragmentAttr>(tile.getEncoding());
  auto ofPiece = dyn_cast_or_null<FragmentAttr>(piece.getEncoding());
  if (!layout && !ofPiece)
    return success();
  if (layout && ofPiece && layout.isSplitByRows() && ofPiece.isSplitByColumns() &&
      layout.getWarpgroups() == pieces && ofPiece.getWarpgroups() == pieces)
    return success();
  return emitOpError() << "each warpgroup must hold the rows of one block: " << tile.getEncoding()
                       << " does not give " << piece.getEncoding();
}

/// Tiles get names from their channel's contents.
void WaitOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  auto channel = getChannel().getDefiningOp<ChannelOp>();
  if (!channel)
    return;
  for (Value element : getElements()) {
    auto tile = dyn_cast<RankedTensorType>(element.getType());
    StringRef what = !tile ? "_index" : tile.getRank() == 1 ? "_rows" : "_tile";
    setName(element, (channel.getName() + what).str());
  }
}

LogicalResult WaitOp::verify() {
  return verifyElements(*this, getElements().getTypes(), getChannel().getType());
}
