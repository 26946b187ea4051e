//===- Parameters.cpp - parameters of an entry ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Entries/Parameters.h"
#include "dash/IR/TensorRoles.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dash;

using Kind = EntryBuilder::Kind;

static std::string strideOf(TensorRoleAttr tensor, StringRef dim) {
  return (tensor.getName() + ".stride." + dim).str();
}

ParameterList &ParameterList::tensor(TensorRoleAttr tensor) {
  pointer(tensor.getName()).stride(tensor, "batch").stride(tensor, "head");
  return tensor.isPerRow() ? *this : stride(tensor, "row");
}
ParameterList &ParameterList::pointer(StringRef name) {
  parameters.push_back({name.str(), Kind::Pointer});
  return *this;
}
ParameterList &ParameterList::stride(TensorRoleAttr tensor, StringRef dim) {
  parameters.push_back({strideOf(tensor, dim), Kind::I64});
  return *this;
}
ParameterList &ParameterList::sizes(ArrayRef<StringRef> names) {
  for (StringRef name : names)
    parameters.push_back({name.str(), Kind::I32});
  return *this;
}
ParameterList &ParameterList::workspace(StringRef region) {
  parameters.push_back({("workspace." + region).str(), Kind::Pointer});
  return *this;
}
ParameterList &ParameterList::number(StringRef name) {
  parameters.push_back({name.str(), Kind::F32});
  return *this;
}
ParameterList &ParameterList::list() { return sizes({"sequences", "q_tiles"}).workspace("order"); }

Value dash::scaleFactor(EntryBuilder &b, Value stated) {
  FloatAttr number;
  if (matchPattern(stated, m_Constant(&number)))
    return b.f32(number.getValueAsDouble());
  return b.parameter(roleOf(stated).getName());
}
