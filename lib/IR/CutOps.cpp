//===- CutOps.cpp - checks of a forward whose keys are cut ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"

using namespace mlir;
using namespace mlir::dash;

LogicalResult CombineOp::verify() {
  NamedMemRef oPieces{"o_pieces", getOPieces().getType()},
      lsePieces{"lse_pieces", getLsePieces().getType()}, o{"o", getO().getType()},
      lse{"lse", getLse().getType()};
  for (Dim dim : {Batch, Rows})
    if (failed(verifySameSize(*this, dim, {o, oPieces, lse, lsePieces})))
      return failure();
  if (failed(verifySameSize(*this, Heads, {o, lse})) ||
      failed(verifySameSize(*this, Heads, {oPieces, lsePieces})) ||
      (getSink() && failed(verifyHeadsOf(*this, {"sink", getSink().getType()}, lse))))
    return failure();
  int64_t ofPieces = oPieces.type.getDimSize(Heads), heads = o.type.getDimSize(Heads);
  if (!ShapedType::isDynamic(ofPieces) && !ShapedType::isDynamic(heads) && ofPieces % heads != 0)
    return emitOpError() << "heads of 'o_pieces' must be a multiple of the heads of 'o', got "
                         << ofPieces << " and " << heads;
  if (!oPieces.type.isDynamicDim(HeadDim) && !o.type.isDynamicDim(HeadDim) &&
      oPieces.type.getDimSize(HeadDim) < o.type.getDimSize(HeadDim))
    return emitOpError() << "'o_pieces' must have the head dim of 'o', "
                         << o.type.getDimSize(HeadDim) << ", or more, got "
                         << oPieces.type.getDimSize(HeadDim);
  return success();
}
