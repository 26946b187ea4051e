//===- SlotUse.h - the use of a channel behind an index ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_STEPS_SLOTUSE_H
#define DASH_STEPS_SLOTUSE_H

#include "dash/IR/DashOps.h"

namespace mlir::dash {

/// An index as a sum of values and a constant, so that `%step + 1` is known to follow `%step`.
class LinearIndex {
public:
  LinearIndex() = default;
  /// Looks through additions, subtractions and constants.
  static LinearIndex of(Value index);

  LinearIndex operator+(const LinearIndex &other) const { return plus(other, 1); }
  LinearIndex operator-(const LinearIndex &other) const { return plus(other, -1); }
  bool operator==(const LinearIndex &other) const {
    return constant == other.constant && terms == other.terms;
  }

  bool uses(Value value) const { return timesOf(value) != 0; }
  /// Whether one of its values satisfies the predicate.
  bool usesAny(function_ref<bool(Value)> predicate) const {
    return llvm::any_of(terms, [&](const auto &term) { return predicate(term.first); });
  }
  /// The constant, if the index is one.
  std::optional<int64_t> getNumber() const {
    return terms.empty() ? std::optional(constant) : std::nullopt;
  }
  /// Whether it may be a multiple of `number`.
  bool mayBeMultipleOf(int64_t number) const { return !terms.empty() || constant % number == 0; }
  /// The same index with `value` replaced.
  LinearIndex replace(Value value, const LinearIndex &by) const;

private:
  LinearIndex plus(const LinearIndex &other, int64_t times) const;
  int64_t timesOf(Value value) const;

  SmallVector<std::pair<Value, int64_t>, 2> terms; ///< sorted by address: compared, never printed
  int64_t constant = 0;
};

/// One use of a channel's slots.
struct SlotUse {
  Value channel;
  LinearIndex use;

  bool operator==(const SlotUse &other) const {
    return channel == other.channel && use == other.use;
  }
};

/// Whether two uses may have the same slot.
bool mayShareSlot(const SlotUse &one, const SlotUse &other);

/// The use whose `dash.ring` defines this slot; empty if there is no such op.
std::optional<SlotUse> slotUseOf(const SlotRef &slot);

/// Fails, with an error at the op, if it handles slots or sums in the form before
/// --dash-insert-waits: by the number of a use, or with a tile that lies in no slot.
LogicalResult verifyWaitsAreOps(Operation *op);

} // namespace mlir::dash

#endif // DASH_STEPS_SLOTUSE_H
