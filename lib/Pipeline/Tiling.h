//===- Tiling.h - how a problem may be cut into tiles -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tiling is a plain object apart from IR, as a schedule is: candidates are checked, priced, and
// one is chosen. IR carries it as `#dash.tiling`.
//===----------------------------------------------------------------------===//

#ifndef DASH_LIB_PIPELINE_TILING_H
#define DASH_LIB_PIPELINE_TILING_H

#include "dash/IR/DashOps.h"
#include "dash/IR/Problem.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Pipeline/Passes.h"
#include <array>

namespace mlir::dash {

/// Channels by what their slots hold, and a number for each. Where products overlap, Q and dO share
/// slots. P and results that leave have slots in parts of the gradients.
enum class TilingChannel { K, V, Q, DOut, Ds, Dq, P, Out };
constexpr llvm::StringLiteral tilingChannels[] = {"k", "v", "q", "do", "ds", "dq", "p", "out"};
inline llvm::StringRef nameOf(TilingChannel channel) { return tilingChannels[size_t(channel)]; }
/// The channels of a backward of all gradients.
constexpr TilingChannel wholeChannels[] = {TilingChannel::K,  TilingChannel::V,
                                           TilingChannel::Q,  TilingChannel::DOut,
                                           TilingChannel::Ds, TilingChannel::Dq};
struct SlotCounts : std::array<int64_t, std::size(tilingChannels)> {
  int64_t &of(TilingChannel channel) { return (*this)[size_t(channel)]; }
  int64_t of(TilingChannel channel) const { return (*this)[size_t(channel)]; }
};

/// Slots of both Q and dO, as --dash-assign-roles calls them where products overlap.
constexpr llvm::StringLiteral sharedChannel = "q_do";

struct Tiling;

/// What the options ask of a tiling; what is 0, or `Fitting`, they leave to the choice.
struct TilingConstraints {
  TileShape tiles = {0, 0};
  StructureChoice structure = StructureChoice::Fitting;
  SlotCounts slots = {};

  /// Reads `q:3,k:1`.
  LogicalResult readSlots(StringRef text, llvm::function_ref<InFlightDiagnostic()> emitError);
  bool isMetBy(const Tiling &tiling) const;
  /// Fails, naming the channel, if slots are asked for one that `of` has not.
  LogicalResult verifyChannels(ArrayRef<TilingChannel> known, StringRef of,
                               llvm::function_ref<InFlightDiagnostic()> emitError) const;
};

/// A product of a task, as the tiling has it. Sizes are those of the result, and of what is summed
/// over.
struct TiledProduct {
  StringRef name;
  int64_t rows, columns, depth;
  bool isLeftTransposed, isRightTransposed;
  StringRef left;  ///< the tensor, if it is loaded once an item
  StringRef maker; ///< the product whose sums become the left factor; "" for a loaded one
  bool isCarried;  ///< sums stay from task to task
};

/// How one backward of attention is cut into tiles.
struct Tiling {
  TileShape tiles;
  int64_t columns = 0, warpgroups = 0;
  WarpStructure structure = WarpStructure::Alternating;
  bool holdsK = false, holdsV = false;
  SlotCounts slots = {};
  bool isCapped = false; ///< what is tiled has a softcap; no part of the choice

  /// The five products of a task, in the order in which they are needed.
  SmallVector<TiledProduct> getProducts() const;
  bool holds(StringRef tensor) const {
    return tensor == "k" ? holdsK : tensor == "v" ? holdsV : false;
  }
  /// How warpgroups split a product: each has 64 rows, so they split rows where there are 64 for
  /// each, else columns. Null where neither is possible.
  SplitAttr getSplit(const TiledProduct &product, MLIRContext *context) const;

  /// As IR has it. The tiling has passed `check`.
  TilingAttr getAttr(MLIRContext *context) const;
  /// What IR has of a backward; what it has else is lost, and seen when it is written again.
  static Tiling read(TilingAttr attr);
  /// That this is all that `attr` says.
  LogicalResult verify(TilingAttr attr, MLIRContext *context,
                       llvm::function_ref<InFlightDiagnostic()> emitError) const;
};

/// What a task of a tiling needs, by count.
struct TilingNeeds {
  int64_t sums = 0, held = 0, inFlight = 0, capped = 0,
          mostRegisters = 0;                    ///< of a thread that multiplies
  int64_t sharedBytes = 0;                      ///< of a block
  int64_t tensorCycles = 0;                     ///< of the tensor core, a task
  int64_t sharedTraffic = 0, memoryTraffic = 0; ///< bytes of shared memory, and of L2, a task

  int64_t registers() const;
};
TilingNeeds countNeeds(const Tiling &tiling, const TargetDescription &target, MLIRContext *context);

/// Cycles that 64 x 128 scores are expected to take: of the unit that is needed longest, with what
/// warpgroups wait for the tensor core where they alternate. It orders tilings; it predicts no
/// time.
double priceOf(const Tiling &tiling, const TargetDescription &target, MLIRContext *context);

/// Why a block or a thread has no room for so much; "" where it has. `advice` is what else to take.
std::string refusalOfRoom(int64_t sharedBytes, int64_t registers, int64_t mostRegisters,
                          StringRef advice, const TargetDescription &target);

/// Why kernels cannot have the tiling; "" where they can.
std::string check(const Tiling &tiling, const TargetDescription &target, MLIRContext *context);

/// All tilings of a problem that the constraints leave, whether they fit or not.
SmallVector<Tiling> enumerateTilings(AttentionBwdOp op, const TilingConstraints &constraints);

/// The tensors that stay in registers, and the slots of each channel, for people.
std::string describeHeld(TilingAttr tiling);
std::string describeSlots(const Tiling &tiling);

} // namespace mlir::dash

#endif // DASH_LIB_PIPELINE_TILING_H
