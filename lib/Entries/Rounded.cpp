//===- Rounded.cpp - sums that an entry rounds ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rounded.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TensorRoles.h"

using namespace mlir;
using namespace mlir::dash;

Rounded::Rounded(ConvertOp op, const Kernels &kernels)
    : op(op), tensor(roleOf(op.getTarget())), pieces(op.getPieces().value_or(1)),
      rows(kernels.qTile()), isApart(op.getApart()), waits(op.getAwaitsCompletion()),
      layout(op.getLayoutAttr()) {}

int64_t Rounded::threads() const {
  return layout.getWarpgroups() * FragmentAttr::threadsOfWarpgroup;
}

std::string Rounded::grid() const {
  int64_t blocks = pieces * shares();
  return (tensor.isKeyValue() ? "batch*kv_heads*kv_tiles" : queryTileGrid.str()) +
         (blocks == 1 ? "" : "*" + std::to_string(blocks));
}

/// The sums are in the layout in which they were added.
static LogicalResult checkLayout(const Rounded &one) {
  ConvertOp op = one.op;
  if (!one.layout)
    return op.emitError() << "does not say how tiles of the sums lie in memory; run "
                             "--dash-distribute-tiles first";
  if (failed(one.layout.verifyEncoding(one.shape(), Float32Type::get(op.getContext()),
                                       [&] { return op.emitError(); })))
    return failure();
  // Four lanes exchange chunks of eight columns, of at least two rows.
  constexpr int64_t fewestColumns = 16;
  if (int64_t columns = one.layout.getColumns(one.shape()); columns % fewestColumns)
    return op.emitError() << "sums must lie in multiples of " << fewestColumns
                          << " columns of a warpgroup, got " << columns << " by " << one.layout;
  return success();
}

static LogicalResult checkTensor(const Rounded &one) {
  ConvertOp op = one.op;
  if (!one.tensor)
    return op.emitError()
           << "rounds sums into memory without a '#dash.tensor_role': expected an argument with '"
           << tensorAttr << "', as --dash-tile leaves it";
  Value scale = op.getScale();
  TensorRoleAttr factor = isa_and_present<BlockArgument>(scale) ? roleOf(scale) : nullptr;
  if (isa_and_present<BlockArgument>(scale) && (!factor || factor.getKind() != TensorKind::Number))
    return op.emitError()
           << "has a scale without a '#dash.tensor_role': expected an argument with '" << tensorAttr
           << "' that is a number";
  if (one.tensor.isTile() && one.tensor.isWritten() && one.tensor.fits(op.getTarget().getType()))
    return success();
  return op.emitError() << "rounds sums into " << describeRole(one.tensor) << " of type "
                        << op.getTarget().getType() << ", expected a written tile of "
                        << one.tensor.getColumns() << " columns of " << one.tensor.getElement();
}

LogicalResult dash::checkRounded(ArrayRef<Rounded> all, const Kernels &kernels) {
  for (Rounded one : all) {
    if (failed(checkTensor(one)) || failed(checkLayout(one)))
      return failure();
    StringRef name = one.tensor.getName();
    if (one.isApart != kernels.program.isApart(one.tensor))
      return one.op.emitError() << (one.isApart ? "adds contributions up that are kept apart"
                                                : "rounds sums")
                                << ", but its kernels say that contributions to '" << name
                                << "' are " << (one.isApart ? "added in turns" : "kept apart")
                                << "; run --dash-outline-program behind --dash-keep-apart";
    if (one.waits != kernels.facts().getOverlapsRounding())
      return one.op.emitError() << (one.waits ? "waits for its sums" : "waits for no sum")
                                << ", but its kernels say that adds to '" << name << "' "
                                << (one.waits ? "do not tell" : "tell")
                                << " when one is complete; run --dash-outline-program behind "
                                   "--dash-overlap-rounding";
    if (one.threads() != all.front().threads())
      return one.op.emitError() << "rounds sums of " << one.threads() << " threads, expected "
                                << all.front().threads() << " as those of '"
                                << all.front().tensor.getName() << "'";
  }
  return success();
}
