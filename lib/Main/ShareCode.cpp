//===- ShareCode.cpp - one code for all warpgroups of a consumer ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The warpgroups of a consumer are roles of their own as long as proofs follow them. In a kernel
// their code would stand there once for each, and instructions of three do not fit the cache. So
// copies of a forward become one role again, in which a warpgroup finds out which one it is.
// Backwards have two, whose steps fit; there this brought nothing at head dim 128, and cost 1 to 2
// percent at 64.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashOps.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Main/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::dash {
#define GEN_PASS_DEF_SHARECODE
#include "dash/Main/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The copies of a consumer, one for each of its warpgroups.
class Copies {
public:
  explicit Copies(ArrayRef<RoleOp> roles) : roles(roles) {}

  bool share() {
    bool takesTurns = isa<GiveTensorCoreOp>(bodyOf(roles.back()).front()) &&
                      isa<TakeTensorCoreOp>(bodyOf(roles.front()).back());
    if (takesTurns) {
      bodyOf(roles.back()).front().erase();
      bodyOf(roles.front()).back().erase();
    }
    bool areEqual = llvm::all_of(roles.drop_front(), [&](RoleOp other) {
      return OperationEquivalence::isRegionEquivalentTo(&RoleOp(roles.front()).getBody(),
                                                        &other.getBody(),
                                                        OperationEquivalence::IgnoreLocations);
    });
    if (!areEqual) {
      if (takesTurns)
        restoreTurns();
      return false;
    }
    RoleOp shared = roles.front();
    shared.setWarps(shared.getWarps() * roles.size());
    if (takesTurns)
      closeTurns(shared);
    for (RoleOp other : roles.drop_front())
      other.erase();
    return true;
  }

private:
  static Block &bodyOf(RoleOp role) { return role.getBody().front(); }

  void restoreTurns() {
    auto first = OpBuilder::atBlockBegin(&bodyOf(roles.back()));
    GiveTensorCoreOp::create(first, RoleOp(roles.back()).getLoc(), IntegerAttr());
    auto last = OpBuilder::atBlockEnd(&bodyOf(roles.front()));
    TakeTensorCoreOp::create(last, RoleOp(roles.front()).getLoc(), IntegerAttr());
  }

  /// What --dash-split-warpgroups has put into the last copy and into the first.
  void closeTurns(RoleOp shared) {
    ImplicitLocOpBuilder b(shared.getLoc(), shared.getContext());
    auto inWarps = [&](arith::CmpIPredicate predicate, int64_t warp) {
      Value mine = WarpOfRoleOp::create(b, b.getIndexType());
      Value isOne =
          arith::CmpIOp::create(b, predicate, mine, arith::ConstantIndexOp::create(b, warp));
      return scf::IfOp::create(b, isOne, /*withElseRegion=*/false).getThenBodyBuilder();
    };
    int64_t lastWarp = warpsOfWarpgroup * (roles.size() - 1);
    b.setInsertionPointToStart(&bodyOf(shared));
    OpBuilder inLast = inWarps(arith::CmpIPredicate::sge, lastWarp);
    GiveTensorCoreOp::create(inLast, b.getLoc(), IntegerAttr());
    b.setInsertionPointToEnd(&bodyOf(shared));
    OpBuilder inFirst = inWarps(arith::CmpIPredicate::slt, warpsOfWarpgroup);
    TakeTensorCoreOp::create(inFirst, b.getLoc(), IntegerAttr());
  }

  ArrayRef<RoleOp> roles;
};

struct ShareCode : public dash::impl::ShareCodeBase<ShareCode> {
  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp workers) {
      // Records of a trace say by their role which warpgroup they are of.
      bool isForward =
          workers.walk([](RunningMaxOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (isForward && !workers.getTrace())
        found.push_back(workers);
    });
    for (WorkersOp workers : found) {
      auto roles = llvm::to_vector(workers.getRoles());
      for (ArrayRef<RoleOp> left = roles; !left.empty();) {
        size_t count = countCopies(left);
        if (count > 1 && Copies(left.take_front(count)).share())
          ++numShared;
        left = left.drop_front(count);
      }
    }
  }

private:
  /// How many roles in front are the copies of one consumer, or 1.
  static size_t countCopies(ArrayRef<RoleOp> roles) {
    RoleOp first = roles.front();
    if (!first.getWarpgroup() || *first.getWarpgroup() != 0 || first.getNumWarpgroups() != 1 ||
        roles.size() < *first.getWarpgroups())
      return 1;
    for (auto [number, role] : llvm::enumerate(roles.take_front(*first.getWarpgroups())))
      if (RoleOp(role).getWarpgroup() != number ||
          RoleOp(role).getWarpgroups() != first.getWarpgroups() ||
          RoleOp(role).getRegisters() != first.getRegisters())
        return 1;
    return *first.getWarpgroups();
  }
};

} // namespace
