//===- Tiling.cpp - how a problem may be cut into tiles -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of it is arithmetic on shapes. What kernels need in the end is counted again on their IR
// (--dash-check-resources), and what they take is measured; a test holds the first against this
// file.
//
//===----------------------------------------------------------------------===//

#include "Tiling.h"
#include "RegisterEstimate.h"
#include "dash/IR/TileSplits.h"
#include "dash/Pipeline/BufferPlan.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr int64_t bytesOfHalf = 2, bytesOfSum = 4;

//===----------------------------------------------------------------------===//
// The object
//===----------------------------------------------------------------------===//

SmallVector<TiledProduct> Tiling::getProducts() const {
  return {{"s", tiles.kv, tiles.q, columns, false, true, "k", "", false},
          {"dp", tiles.kv, tiles.q, columns, false, true, "v", "", false},
          {"dv", tiles.kv, columns, tiles.q, false, false, "", "s", true},
          {"dk", tiles.kv, columns, tiles.q, false, false, "", "dp", true},
          {"dq", tiles.q, columns, tiles.kv, true, false, "", "dp", false}};
}

SplitAttr Tiling::getSplit(const TiledProduct &product, MLIRContext *context) const {
  constexpr int64_t rowsOfWarpgroup = FragmentAttr::rowsOfWarpgroup, columnsOfStep = 8;
  if (product.rows == rowsOfWarpgroup * warpgroups)
    return SplitAttr::get(context, warpgroups, 1);
  if (product.rows == rowsOfWarpgroup && product.columns % (columnsOfStep * warpgroups) == 0)
    return SplitAttr::get(context, 1, warpgroups);
  return nullptr;
}

TilingAttr Tiling::getAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> splits, named;
  for (const TiledProduct &product : getProducts())
    splits.push_back(b.getNamedAttr(product.name, getSplit(product, context)));
  auto addSlots = [&](StringRef channel, int64_t number) {
    named.push_back(b.getNamedAttr(channel, b.getI64IntegerAttr(number)));
  };
  for (TilingChannel channel : wholeChannels) {
    bool mayBeShared = channel == TilingChannel::Q || channel == TilingChannel::DOut;
    if (structure == WarpStructure::Alternating || !mayBeShared)
      addSlots(nameOf(channel), slots.of(channel));
  }
  if (structure == WarpStructure::Overlapping)
    addSlots(sharedChannel, slots.of(TilingChannel::Q));
  SmallVector<Attribute> hold;
  for (StringRef tensor : {"k", "v"})
    if (holds(tensor))
      hold.push_back(b.getStringAttr(tensor));
  return TilingAttr::get(context, TilesAttr::get(context, tiles.q, tiles.kv), columns,
                         /*columns_v=*/0, structure, b.getDictionaryAttr(splits),
                         b.getArrayAttr(hold), b.getDictionaryAttr(named));
}

Tiling Tiling::read(TilingAttr attr) {
  Tiling tiling;
  tiling.tiles = {attr.getTiles().getQ(), attr.getTiles().getKv()};
  tiling.columns = attr.getColumns();
  tiling.warpgroups = attr.getWarpgroups();
  tiling.structure = attr.getStructure();
  tiling.holdsK = attr.holds("k");
  tiling.holdsV = attr.holds("v");
  for (TilingChannel channel : wholeChannels) {
    bool isShared = tiling.structure == WarpStructure::Overlapping &&
                    (channel == TilingChannel::Q || channel == TilingChannel::DOut);
    tiling.slots.of(channel) =
        attr.getSlotsOf(isShared ? StringRef(sharedChannel) : nameOf(channel)).value_or(0);
  }
  return tiling;
}

LogicalResult Tiling::verify(TilingAttr attr, MLIRContext *context,
                             function_ref<InFlightDiagnostic()> emitError) const {
  for (const TiledProduct &product : getProducts())
    if (!attr.getSplit(product.name))
      return emitError() << "a backward has a product '" << product.name
                         << "', expected its split, got " << attr;
  for (TilingChannel channel : wholeChannels)
    if (slots.of(channel) == 0)
      return emitError() << "a backward has a channel for '" << nameOf(channel)
                         << "', expected its slots, got " << attr;
  for (const TiledProduct &product : getProducts())
    if (!getSplit(product, context))
      return emitError() << warpgroups << " warpgroups cannot split '" << product.name << "', "
                         << product.rows << "x" << product.columns;
  if (TilingAttr expected = getAttr(context); expected != attr)
    return emitError() << "expected one of a backward, " << expected << ", got " << attr;
  return success();
}

std::string dash::describeHeld(TilingAttr tiling) {
  std::string held;
  llvm::raw_string_ostream os(held);
  llvm::interleave(tiling.getHold().getAsValueRange<StringAttr>(), os, " ");
  return held.empty() ? "-" : held;
}

std::string dash::describeSlots(const Tiling &tiling) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      wholeChannels, os,
      [&](TilingChannel channel) { os << nameOf(channel) << ' ' << tiling.slots.of(channel); },
      ", ");
  return text;
}

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

LogicalResult TilingConstraints::readSlots(StringRef text,
                                           function_ref<InFlightDiagnostic()> emitError) {
  if (text.empty())
    return success();
  for (StringRef entry : llvm::split(text, ',')) {
    auto [name, number] = entry.split(':');
    auto *channel = llvm::find(tilingChannels, name);
    if (channel == std::end(tilingChannels))
      return emitError() << "slots: expected one of " << llvm::join(ArrayRef(tilingChannels), ", ")
                         << " and a number, as in 'q:3,do:3', got '" << entry << "'";
    int64_t &slots = this->slots[channel - std::begin(tilingChannels)];
    if (number.getAsInteger(10, slots) || slots < 1 || slots > maxDepth)
      return emitError() << "slots of '" << name << "' must be from 1 to " << maxDepth << ", got '"
                         << number << "'";
  }
  return success();
}

LogicalResult
TilingConstraints::verifyChannels(ArrayRef<TilingChannel> known, StringRef of,
                                  function_ref<InFlightDiagnostic()> emitError) const {
  auto names = llvm::map_to_vector(known, nameOf);
  for (auto [channel, asked] : llvm::zip_equal(tilingChannels, slots))
    if (asked && !llvm::is_contained(names, channel))
      return emitError() << "slots: " << of << " has channels "
                         << llvm::join(ArrayRef(names).drop_back(), ", ") << " and " << names.back()
                         << ", got '" << channel << "'";
  return success();
}

bool TilingConstraints::isMetBy(const Tiling &tiling) const {
  auto meets = [](int64_t asked, int64_t found) { return asked == 0 || asked == found; };
  bool hasSlots = llvm::all_of(llvm::zip_equal(slots, tiling.slots), [&](auto entry) {
    return meets(std::get<0>(entry), std::get<1>(entry));
  });
  bool hasStructure =
      structure == StructureChoice::Fitting || (structure == StructureChoice::Overlapping) ==
                                                   (tiling.structure == WarpStructure::Overlapping);
  return hasSlots && hasStructure && meets(tiles.q, tiling.tiles.q) &&
         meets(tiles.kv, tiling.tiles.kv);
}

//===----------------------------------------------------------------------===//
// What it needs
//===----------------------------------------------------------------------===//

int64_t TilingNeeds::registers() const {
  return sums + held + inFlight + capped + registersForAddresses;
}

/// Registers of a thread: tiles are split evenly, rows are held by every warpgroup.
static void countRegisters(const Tiling &tiling, const TargetDescription &target,
                           TilingNeeds &needs) {
  int64_t threads = tiling.warpgroups * warpsOfWarpgroup * threadsOfWarp;
  auto registersOfTile = [&](int64_t rows, int64_t columns, int64_t bytes) {
    return registersOf(rows * columns * bytes, threads);
  };
  for (const TiledProduct &product : tiling.getProducts()) {
    if (product.isCarried)
      needs.sums += registersOfTile(product.rows, product.columns, bytesOfSum);
    if (tiling.holds(product.left))
      needs.held += registersOfTile(product.rows, product.depth, bytesOfHalf);
  }
  // S and dP with their rows; where products overlap P and dS of the step before, too.
  int64_t q = tiling.tiles.q, kv = tiling.tiles.kv;
  needs.inFlight = 2 * registersOfTile(kv, q, bytesOfSum) + 2 * registersOfRows(q * bytesOfSum);
  if (tiling.structure == WarpStructure::Overlapping) {
    needs.inFlight += 2 * registersOfTile(kv, q, bytesOfHalf);
    needs.capped = tiling.isCapped ? registersOfTile(kv, q, bytesOfSum) : 0; // until dS
  }
  int64_t multiplying = tiling.warpgroups * warpsOfWarpgroup;
  // Two load, as many as there are slots of dQ add.
  int64_t moving = llvm::alignTo(2 + tiling.slots.of(TilingChannel::Dq), warpsOfWarpgroup);
  needs.mostRegisters = dealRegisters(target, moving + multiplying, multiplying).multiplying;
}

/// Bytes of all slots, as --dash-plan-buffers places them.
static int64_t countSharedBytes(const Tiling &tiling) {
  int64_t q = tiling.tiles.q, kv = tiling.tiles.kv;
  auto tile = [](int64_t rows, int64_t columns, int64_t bytes) {
    return int64_t(llvm::alignTo(rows * columns * bytes, tileAlignment));
  };
  int64_t ofKv = tile(kv, tiling.columns, bytesOfHalf);
  int64_t ofQ = tile(q, tiling.columns, bytesOfHalf) + llvm::alignTo(q * bytesOfSum, rowAlignment);
  int64_t bytes[] = {
      ofKv, ofKv, ofQ, ofQ, tile(kv, q, bytesOfHalf), tile(q, tiling.columns, bytesOfSum)};
  int64_t sum = reservedBytes;
  for (auto [channel, ofSlot] : llvm::zip_equal(wholeChannels, bytes))
    sum += tiling.slots.of(channel) * ofSlot;
  return sum;
}

/// Bytes of shared memory that a product reads: each warpgroup its part of the right factor, and of
/// the left one unless registers hold it.
static int64_t countProductBytes(const Tiling &tiling, const TiledProduct &product,
                                 MLIRContext *context) {
  SplitAttr split = tiling.getSplit(product, context);
  int64_t left = product.rows / split.getRows() * product.depth * bytesOfHalf;
  int64_t right = product.columns / split.getColumns() * product.depth * bytesOfHalf;
  bool isHeld = tiling.holds(product.left);
  for (const TiledProduct &maker : tiling.getProducts())
    if (maker.name == product.maker)
      isHeld = !needsExchange(tiling.getSplit(maker, context), split, /*isLeft=*/true,
                              product.isLeftTransposed);
  return split.getWarpgroups() * (right + (isHeld ? 0 : left));
}

static void countTraffic(const Tiling &tiling, MLIRContext *context, TilingNeeds &needs) {
  constexpr int64_t columnsOfAccess = 8, bytesOfAccess = 128; // of a row vector, by a warp
  int64_t q = tiling.tiles.q, kv = tiling.tiles.kv;
  int64_t loaded = 2 * q * (tiling.columns * bytesOfHalf + bytesOfSum);
  int64_t added = q * tiling.columns * bytesOfSum;
  int64_t readsOfRows =
      2 * (q / columnsOfAccess) * tiling.warpgroups * warpsOfWarpgroup * bytesOfAccess;
  for (const TiledProduct &product : tiling.getProducts()) {
    // A wgmma of N columns and a depth of 16 takes N / 2 cycles.
    constexpr int64_t depthOfStep = 16;
    needs.tensorCycles += product.rows / FragmentAttr::rowsOfWarpgroup * product.columns / 2 *
                          product.depth / depthOfStep;
    needs.sharedTraffic += countProductBytes(tiling, product, context);
  }
  // What is loaded and exchanged is written once; a contribution to dQ is written, and read by the
  // add.
  needs.sharedTraffic += loaded + readsOfRows + kv * q * bytesOfHalf + 2 * added;
  needs.memoryTraffic = loaded + added;
}

TilingNeeds dash::countNeeds(const Tiling &tiling, const TargetDescription &target,
                             MLIRContext *context) {
  TilingNeeds needs;
  countRegisters(tiling, target, needs);
  needs.sharedBytes = countSharedBytes(tiling);
  countTraffic(tiling, context, needs);
  return needs;
}

double dash::priceOf(const Tiling &tiling, const TargetDescription &target, MLIRContext *context) {
  // What is measured at head dim 128: each turn waits so long for what the other warpgroup has
  // begun.
  constexpr double cyclesOfTurn = 390, tasksOfItem = 32, referenceScores = 64 * 128;
  TilingNeeds needs = countNeeds(tiling, target, context);
  bool alternates = tiling.structure == WarpStructure::Alternating && tiling.warpgroups > 1;
  double tensor = needs.tensorCycles + (alternates ? tiling.warpgroups * cyclesOfTurn : 0);
  double shared = double(needs.sharedTraffic) / target.sharedBytesOfCycle;
  double memory = double(needs.memoryTraffic) / target.memoryBytesOfCycle;
  // With one slot of K and V an item begins with their loads.
  double ofItem = 2.0 * tiling.tiles.kv * tiling.columns * bytesOfHalf / target.memoryBytesOfCycle;
  int64_t slots = std::min(tiling.slots.of(TilingChannel::K), tiling.slots.of(TilingChannel::V));
  double boundary = slots == 1 ? ofItem / tasksOfItem : 0;
  return (std::max({tensor, shared, memory}) + boundary) * referenceScores /
         (tiling.tiles.q * tiling.tiles.kv);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

std::string dash::refusalOfRoom(int64_t sharedBytes, int64_t registers, int64_t mostRegisters,
                                StringRef advice, const TargetDescription &target) {
  if (sharedBytes > target.sharedBytes)
    return llvm::formatv("slots take {0} bytes of shared memory, but a block has {1}: fewer slots, "
                         "or fewer rows of tiles",
                         sharedBytes, target.sharedBytes);
  if (registers > mostRegisters)
    return llvm::formatv("a thread needs about {0} registers, but has {1}: {2}", registers,
                         mostRegisters, advice);
  return "";
}

std::string dash::check(const Tiling &tiling, const TargetDescription &target,
                        MLIRContext *context) {
  for (const TiledProduct &product : tiling.getProducts())
    if (!tiling.getSplit(product, context))
      return llvm::formatv("{0} warpgroups cannot split {1}, {2}x{3}: each has 64 rows, or all 64 "
                           "and a multiple of 8 columns",
                           tiling.warpgroups, product.name, product.rows, product.columns);
  int64_t ofQ = tiling.slots.of(TilingChannel::Q), ofDOut = tiling.slots.of(TilingChannel::DOut);
  if (tiling.structure == WarpStructure::Overlapping && ofQ != ofDOut)
    return llvm::formatv("q and do share slots where products overlap, so they have as many, not "
                         "{0} and {1}",
                         ofQ, ofDOut);
  TilingNeeds needs = countNeeds(tiling, target, context);
  if (needs.sharedBytes > target.sharedBytes)
    return llvm::formatv("slots take {0} bytes of shared memory, but a block has {1}: fewer slots, "
                         "or fewer rows of tiles",
                         needs.sharedBytes, target.sharedBytes);
  if (needs.registers() > needs.mostRegisters)
    return llvm::formatv("a thread needs about {0} registers ({1} for what walks carry, {2} for "
                         "tiles in flight, {3} for addresses), but has {4}: another structure, or "
                         "fewer rows of tiles",
                         needs.registers(), needs.sums + needs.held, needs.inFlight + needs.capped,
                         registersForAddresses, needs.mostRegisters);
  // Two steps share copies of rows where they overlap, too: tiles may not fill the registers by
  // themselves.
  int64_t sideBySide = needs.sums + needs.inFlight + registersForAddresses;
  if (tiling.structure == WarpStructure::Overlapping && sideBySide >= needs.mostRegisters)
    return llvm::formatv("tiles of two steps take {0} registers of a thread side by side, all that "
                         "it has: another structure, or fewer rows of tiles",
                         sideBySide);
  return "";
}

/// Where products overlap, the next step is got before this one's slot is released, and dQ is
/// issued two steps behind the put of its dS.
static SlotCounts slotsOf(WarpStructure structure, int64_t ofItem, const SlotCounts &asked) {
  bool overlaps = structure == WarpStructure::Overlapping;
  int64_t ofStep = overlaps ? 4 : 2;
  SlotCounts wanted = {{ofItem, ofItem, ofStep, ofStep, ofStep, 2, 0, 0}};
  int64_t ofQ = asked.of(TilingChannel::Q), ofDOut = asked.of(TilingChannel::DOut);
  if (overlaps && (ofQ || ofDOut)) // they share slots: asking for one asks for both
    wanted.of(TilingChannel::Q) = wanted.of(TilingChannel::DOut) = std::max(ofQ, ofDOut);
  for (auto [number, other] : llvm::zip_equal(wanted, asked))
    number = other ? other : number;
  return wanted;
}

SmallVector<Tiling> dash::enumerateTilings(AttentionBwdOp op,
                                           const TilingConstraints &constraints) {
  auto orAll = [](int64_t asked, ArrayRef<int64_t> all) -> SmallVector<int64_t> {
    return asked ? SmallVector<int64_t>{asked} : llvm::to_vector(all);
  };
  SmallVector<WarpStructure> structures;
  if (constraints.structure != StructureChoice::Alternating)
    structures.push_back(WarpStructure::Overlapping);
  if (constraints.structure != StructureChoice::Overlapping)
    structures.push_back(WarpStructure::Alternating);
  SmallVector<Tiling> all;
  for (int64_t q : orAll(constraints.tiles.q, kernelQTiles))
    for (int64_t kv : orAll(constraints.tiles.kv, {kernelKvTile}))
      for (WarpStructure structure : structures)
        for (int64_t ofItem : {2, 1}) {
          SlotCounts slots = slotsOf(structure, ofItem, constraints.slots);
          if (ofItem == 1 && slots == slotsOf(structure, 2, constraints.slots))
            continue; // asked for
          // V first: its slot is free once it is held, and dQ reads that of K.
          for (auto [holdsK, holdsV] :
               {std::pair(true, true), {false, true}, {true, false}, {false, false}}) {
            Tiling tiling;
            tiling.tiles = {q, kv};
            tiling.columns =
                kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/false).ofQ;
            tiling.isCapped = bool(op.getSoftcapAttr());
            tiling.warpgroups = std::max<int64_t>(1, kv / FragmentAttr::rowsOfWarpgroup);
            tiling.structure = structure;
            tiling.holdsK = holdsK;
            tiling.holdsV = holdsV;
            tiling.slots = slots;
            all.push_back(tiling);
          }
        }
  return all;
}
