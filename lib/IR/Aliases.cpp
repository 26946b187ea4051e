//===- Aliases.cpp - short names for long texts in printed IR -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile that a role holds has its layout in its type, and ops name the type up to three times.
// Printed IR says each such type once, at its top, and then by a name that is made of what is in
// it: `!acc_128x64_rows2`, `!operand_128x64xbf16_rows2`, `!per_column_64_replicated2`,
// `!swizzled_64x128xbf16`, `!channel_64x128xbf16_64xf32_index`. It does the same with tensors,
// `#dq`, `#dq_sum`, and with tilings, `#tiling`.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashDialect.h"
#include "dash/IR/DashOps.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

void printShape(RankedTensorType tile, bool withElement, raw_ostream &os) {
  llvm::interleave(tile.getShape(), os, "x");
  if (withElement)
    os << 'x' << tile.getElementType();
}

struct AliasesOfDash : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const final {
    if (isa<TilingAttr>(attr)) {
      os << "tiling";
      return AliasResult::FinalAlias;
    }
    auto role = dyn_cast<TensorRoleAttr>(attr);
    if (!role)
      return AliasResult::NoAlias;
    os << role.getName() << (role.getAccess() == TensorAccess::Sum ? "_sum" : "");
    return AliasResult::FinalAlias;
  }

  AliasResult getAlias(Type type, raw_ostream &os) const final {
    return llvm::TypeSwitch<Type, AliasResult>(type)
        .Case<RankedTensorType>([&](RankedTensorType tile) { return nameTile(tile, os); })
        .Case<ChannelType>([&](ChannelType channel) { return nameChannel(channel, os); })
        .Default(AliasResult::NoAlias);
  }

private:
  static AliasResult nameTile(RankedTensorType tile, raw_ostream &os) {
    if (auto fragment = dyn_cast_or_null<FragmentAttr>(tile.getEncoding())) {
      bool isOperand = fragment.getKind() == FragmentKind::Operand;
      os << (fragment.getKind() == FragmentKind::Accumulator ? "acc"
                                                             : stringifyEnum(fragment.getKind()))
         << '_';
      printShape(tile, /*withElement=*/isOperand, os); // f32 otherwise
      os << '_' << stringifyEnum(fragment.getSplit()) << fragment.getWarpgroups();
      return AliasResult::FinalAlias;
    }
    auto layout = dyn_cast_or_null<SwizzledAttr>(tile.getEncoding());
    if (!layout)
      return AliasResult::NoAlias;
    os << "swizzled";
    if (layout.getBytes() != SwizzledAttr::mostBytes)
      os << layout.getBytes();
    os << '_';
    printShape(tile, /*withElement=*/true, os);
    return AliasResult::FinalAlias;
  }

  static AliasResult nameChannel(ChannelType channel, raw_ostream &os) {
    os << "channel";
    for (Type element : channel.getElements()) {
      os << '_';
      if (auto tile = dyn_cast<RankedTensorType>(element))
        printShape(tile, /*withElement=*/true, os);
      else
        os << element;
    }
    return AliasResult::FinalAlias;
  }
};

} // namespace

void DashDialect::registerAliases() { addInterfaces<AliasesOfDash>(); }
