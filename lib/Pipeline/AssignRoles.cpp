//===- AssignRoles.cpp - split items among loading, multiplying and adding roles -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RoleCut decides which role does what and what crosses between them; RoleBuilder writes it.
//
//===----------------------------------------------------------------------===//

#include "RoleBuilder.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Pipeline/Passes.h"

namespace mlir::dash {
#define GEN_PASS_DEF_ASSIGNROLES
#include "dash/Pipeline/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

/// Items of such a forward wait for nothing, and their lengths are known in a launch only. Pieces
/// of keys are about as long as each other, so lists deal them well enough.
static bool isOfOpenList(ItemsOp items) {
  SequencesAttr list = items.getSequencesAttr();
  return list && list.isOpen() && !items.getCut();
}

namespace {

struct AssignRoles : public dash::impl::AssignRolesBase<AssignRoles> {
  using AssignRolesBase::AssignRolesBase;

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
      RoleCut cut;
      if (failed(cutRoles(items, consumers, cut)))
        return signalPassFailure();
      numChannels += cut.slots.size();
      // Tiles behind all rows of a list cannot be loaded: descriptors begin in front of tensors.
      bool beginsAhead = beginAhead && isForward(items) && !items.getSequencesAttr();
      buildRoles(cut, beginsAhead, handOut && isForward(items) && isOfOpenList(items));
      ++numSplit;
    }
  }
};

} // namespace
