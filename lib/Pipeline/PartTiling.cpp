//===- PartTiling.cpp - tilings of a part of the gradients ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PartTiling.h"
#include "RegisterEstimate.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/KernelCoverage.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t bytesOfHalf = 2, bytesOfSum = 4;

/// The channels that a part has. Where products of steps overlap, Q and dO of a step share slots.
static constexpr TilingChannel partChannels[] = {
    TilingChannel::K, TilingChannel::V,  TilingChannel::Q,  TilingChannel::DOut,
    TilingChannel::P, TilingChannel::Ds, TilingChannel::Out};

static int64_t registersOfTile(int64_t columns, int64_t bytes) {
  return registersOf(FragmentAttr::rowsOfWarpgroup * columns * bytes,
                     FragmentAttr::threadsOfWarpgroup);
}

int64_t PartTiling::getWarpgroups() const {
  return (ownsQ ? tiles.q : tiles.kv) / FragmentAttr::rowsOfWarpgroup;
}

int64_t PartTiling::countConsumers() const {
  int64_t sums = registersOfTile(widths.ofQ + widths.ofV, bytesOfSum);
  return !ownsQ && sums > mostRegistersOfSums ? 2 : 1;
}

bool PartTiling::sharesSlots() const { return !ownsQ && structure == WarpStructure::Overlapping; }

TilingAttr PartTiling::getAttr(MLIRContext *context) const {
  Builder b(context);
  auto split = SplitAttr::get(context, getWarpgroups(), 1);
  SmallVector<NamedAttribute> splits, named;
  for (StringRef product : ownsQ ? SmallVector<StringRef>{"dp", "dq", "s"}
                                 : SmallVector<StringRef>{"dk", "dp", "dv", "s"})
    splits.push_back(b.getNamedAttr(product, split));
  auto addSlots = [&](StringRef channel, int64_t number) {
    if (number > 0 || channel == TilingAttr::channelOfResults)
      named.push_back(b.getNamedAttr(channel, b.getI64IntegerAttr(number)));
  };
  for (TilingChannel channel : partChannels)
    if (!sharesSlots() || (channel != TilingChannel::Q && channel != TilingChannel::DOut))
      addSlots(nameOf(channel), slots.of(channel));
  if (sharesSlots())
    addSlots(sharedChannel, slots.of(TilingChannel::Q));
  SmallVector<Attribute> hold;
  if (holdsK)
    hold.push_back(b.getStringAttr("k"));
  if (holdsV)
    hold.push_back(b.getStringAttr("v"));
  return TilingAttr::get(context, TilesAttr::get(context, tiles.q, tiles.kv), widths.ofQ,
                         widths.getOwnOfV(), structure, b.getDictionaryAttr(splits),
                         b.getArrayAttr(hold), b.getDictionaryAttr(named));
}

int64_t PartTiling::countRegisters() const {
  int64_t walked = ownsQ ? tiles.kv : tiles.q;
  int64_t ofScores = registersOfTile(walked, bytesOfSum),
          ofRows = ownsQ ? FragmentAttr::registersPerRow : registersOfRows(walked * bytesOfSum);
  // A rounded factor: P or dS of the step before, where products overlap.
  bool overlaps = structure == WarpStructure::Overlapping;
  int64_t ofRounded = registersOfTile(walked, bytesOfHalf), ofFactor = overlaps ? ofRounded : 0;
  int64_t ofDq = registersOfTile(widths.ofQ, bytesOfSum), ofDk = ofDq,
          ofDv = registersOfTile(widths.ofV, bytesOfSum);
  // S or P, and dP; the rows of both.
  int64_t both = 2 * ofScores + 2 * ofRows + registersForAddresses;
  if (ownsQ)
    return ofDq + both + ofFactor;
  if (countConsumers() == 1)
    return ofDk + ofDv + both + 2 * ofFactor;
  int64_t ofK = holdsK ? registersOfTile(widths.ofQ, bytesOfHalf) : 0,
          ofV = holdsV ? registersOfTile(widths.ofV, bytesOfHalf) : 0;
  // The role of dV has S of the next step beside P, rounded; that of dK has dP beside P or S. Where
  // P is passed, that of dK needs no LSE.
  int64_t ofLse = slots.of(TilingChannel::P) > 0 ? 0 : ofRows;
  int64_t forDv = ofDv + ofScores + ofRounded + ofRows + registersForAddresses + ofK,
          forDk = ofDk + both - ofRows + ofLse + ofFactor + ofV;
  return std::max(forDv, forDk);
}

/// Shared memory then gives S and dP half as much.
void PartTiling::holdWhatFits(const TargetDescription &target) {
  for (auto [k, v] : {std::pair(true, true), {true, false}, {false, false}}) {
    holdsK = k;
    holdsV = v;
    if (countRegisters() <= getMostRegisters(target))
      return;
  }
}

int64_t PartTiling::getMostRegisters(const TargetDescription &target) const {
  int64_t multiplying = countConsumers() * getWarpgroups() * warpsOfWarpgroup;
  return dealRegisters(target, warpsOfWarpgroup + multiplying, multiplying).multiplying;
}

int64_t PartTiling::countSharedBytes() const {
  auto tile = [](int64_t rows, int64_t columns, int64_t bytes = bytesOfHalf) {
    return int64_t(llvm::alignTo(rows * columns * bytes, tileAlignment));
  };
  int64_t ofRows = llvm::alignTo(tiles.q * bytesOfSum, rowAlignment);
  // Results leave by panels: those of q rows as wide as a panel, those of kv rows as a factor of q.
  constexpr int64_t columnsOfPanel = SwizzledAttr::mostBytes / bytesOfHalf;
  int64_t ofOut = ownsQ ? tile(tiles.q, columnsOfPanel) : tile(tiles.kv, tiles.q);
  return reservedBytes + slots.of(TilingChannel::Q) * (tile(tiles.q, widths.ofQ) + ofRows) +
         slots.of(TilingChannel::DOut) * (tile(tiles.q, widths.ofV) + ofRows) +
         slots.of(TilingChannel::K) * tile(tiles.kv, widths.ofQ) +
         slots.of(TilingChannel::V) * tile(tiles.kv, widths.ofV) +
         slots.of(TilingChannel::P) * tile(tiles.kv, tiles.q, bytesOfSum) +
         slots.of(TilingChannel::Ds) * tile(tiles.kv, tiles.q) +
         (countConsumers() - keepsDs) * slots.of(TilingChannel::Out) * ofOut;
}

/// What a part's slots may be, best first. What stays is loaded once an item. What is walked has a
/// slot more where there is room: dQ reads K a step behind S. Without slots of its own a result
/// holds up the next item's load.
static SmallVector<SlotCounts> listSlots(const PartTiling &tiling, bool passesP) {
  auto list = [&](std::initializer_list<std::array<int64_t, 6>> all) {
    SmallVector<SlotCounts> counts;
    for (auto [k, v, q, dOut, p, out] : all)
      counts.push_back({{k, v, q, dOut, tiling.keepsDs ? out : 0, 0, passesP ? p : 0, out}});
    return counts;
  };
  if (tiling.ownsQ) {
    auto counts =
        list({{3, 3, 1, 1, 0, 2}, {2, 2, 1, 1, 0, 2}, {2, 1, 1, 1, 0, 2}, {2, 1, 1, 1, 0, 1}});
    // dQ then takes the place of dO, which has to be as wide.
    if (tiling.widths.ofQ == tiling.widths.ofV)
      counts.append(list({{2, 1, 1, 1, 0, 0}}));
    return counts;
  }
  return list({{2, 2, 4, 4, 2, 2},
               {1, 1, 4, 4, 2, 2},
               {1, 1, 3, 4, 2, 1},
               {1, 1, 3, 3, 2, 2},
               {1, 1, 3, 3, 2, 1},
               {1, 1, 3, 3, 1, 1},
               {1, 1, 2, 2, 2, 2},
               {1, 1, 2, 2, 1, 1}});
}

/// Rows of a kv tile that dQ walks, best first. Blocks of a bitmap are whole tiles: where 48 rows
/// do not divide them, fewer may.
static SmallVector<int64_t> rowsOfPart(BlocksAttr blocks) {
  SmallVector<int64_t> rows = {64, leastPartKvTile};
  if (!blocks)
    return rows;
  rows.push_back(32);
  auto divides = [&](int64_t kv) { return blocks.getKv() % kv == 0; };
  auto fitting = llvm::to_vector(llvm::make_filter_range(rows, divides));
  return fitting.empty() ? rows : fitting;
}

FailureOr<PartTiling> dash::choosePartTiling(AttentionBwdOp op,
                                             const TilingConstraints &constraints,
                                             const TargetDescription &target) {
  PartTiling tiling;
  tiling.ownsQ = op.ownsQ();
  tiling.widths = kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/true);
  // The slope of a softcap needs the scores, so what computes dS has P, too.
  bool passesP = tiling.countConsumers() == 2 && !op.getSoftcapAttr();
  tiling.keepsDs = bool(op.getDs());
  auto hasChannel = [&](TilingChannel one) {
    return one == TilingChannel::P ? passesP : one == TilingChannel::Ds ? tiling.keepsDs : true;
  };
  auto known = llvm::to_vector(llvm::make_filter_range(partChannels, hasChannel));
  if (failed(constraints.verifyChannels(known, "this part of the gradients",
                                        [&] { return op.emitError(); })))
    return failure();
  auto orAll = [](int64_t asked, ArrayRef<int64_t> all) -> SmallVector<int64_t> {
    return asked ? SmallVector<int64_t>{asked} : llvm::to_vector(all);
  };
  // Warpgroups of one role hide each other's element-wise work where they alternate, and the role
  // of dK hides that of dV, which passes it P. Where both make P, the products of each run beside
  // its own.
  SmallVector<WarpStructure> structures = {WarpStructure::Alternating, WarpStructure::Overlapping};
  if (tiling.countConsumers() == 2 && !passesP)
    std::swap(structures[0], structures[1]);
  if (constraints.structure != StructureChoice::Fitting)
    structures = {constraints.structure == StructureChoice::Overlapping
                      ? WarpStructure::Overlapping
                      : WarpStructure::Alternating};
  SmallVector<int64_t> rowsOfQ = orAll(constraints.tiles.q, tiling.ownsQ ? 128 : 64);
  SmallVector<int64_t> rowsOfKv =
      tiling.ownsQ
          ? orAll(constraints.tiles.kv, rowsOfPart(op.getMask().getBlocks()))
          : orAll(constraints.tiles.kv,
                  tiling.countConsumers() == 2 ? FragmentAttr::rowsOfWarpgroup : kernelKvTile);
  std::string reason;
  for (int64_t kv : rowsOfKv)
    for (WarpStructure structure : structures)
      for (const SlotCounts &wanted : listSlots(tiling, passesP)) {
        tiling.tiles = {rowsOfQ.front(), kv};
        tiling.structure = structure;
        auto tiles = TilesAttr::get(op.getContext(), tiling.tiles.q, tiling.tiles.kv);
        if (failed(verifyCovered({op.getHeadDim(), op.getHeadDimV(), tiles,
                                  tiling.ownsQ ? TensorSide::Q : TensorSide::KV, /*isPart=*/true},
                                 [&] { return op.emitError(); })))
          return failure();
        tiling.slots = wanted;
        for (TilingChannel channel : partChannels)
          if (int64_t asked = constraints.slots.of(channel))
            tiling.slots.of(channel) = asked;
        if (tiling.sharesSlots())
          tiling.slots.of(TilingChannel::DOut) = tiling.slots.of(TilingChannel::Q);
        if (passesP)
          tiling.holdWhatFits(target);
        reason = refusalOfRoom(tiling.countSharedBytes(), tiling.countRegisters(),
                               tiling.getMostRegisters(target),
                               "another structure, or fewer rows of tiles", target);
        if (reason.empty())
          return tiling;
      }
  return op.emitError() << "has no tiling that the options leave and that fits: " << reason;
}
