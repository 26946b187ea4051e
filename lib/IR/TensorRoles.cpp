//===- TensorRoles.cpp - which value is which tensor ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/TensorRoles.h"
#include "dash/IR/KernelAttrs.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// The attributes
//===----------------------------------------------------------------------===//

LogicalResult TensorRoleAttr::verify(EmitError emitError, StringRef name, TensorSide,
                                     TensorAccess access, TensorKind kind, Type element,
                                     int64_t columns, int64_t width) {
  auto isOfWord = [](char c) {
    return (llvm::isAlnum(c) && !llvm::isUpper(c)) || c == '_' || c == '-';
  };
  if (name.empty() || !llvm::all_of(name, isOfWord)) // the name becomes part of a file's name
    return emitError() << "a tensor's name must be of small letters, digits, '_' and '-', got \""
                       << name << "\"";
  if (columns < 1)
    return emitError() << "columns of '" << name << "' must be at least 1, got " << columns;
  bool isTile = kind == TensorKind::Tile;
  bool hasColumns = isTile || kind == TensorKind::Contributions || kind == TensorKind::Tasks;
  if (!hasColumns && columns != 1)
    return emitError() << "'" << name << "' has one number a " << stringifyTensorKind(kind)
                       << ", expected no columns, got " << columns;
  if (width && (!isTile || width <= columns))
    return emitError() << "tiles of '" << name << "' must be wider than its " << columns
                       << " columns where they state a width, got " << width;
  auto demand = [&](bool isRight, StringRef expected) -> LogicalResult {
    if (isRight)
      return success();
    return emitError() << "'" << name << "' must have elements of " << expected << ", got "
                       << element;
  };
  if (kind == TensorKind::Bounds)
    return demand(element.isSignlessInteger(32), "i32");
  if (kind == TensorKind::Tasks)
    return demand(isa<BFloat16Type, Float16Type>(element), "bf16 or f16");
  if (isTile && access != TensorAccess::Sum) // f32 is of an output that is not rounded
    return demand(isa<BFloat16Type, Float16Type, Float32Type>(element), "bf16, f16 or f32");
  return demand(element.isF32(), "f32");
}

unsigned TensorRoleAttr::getRank() const {
  switch (getKind()) {
  case TensorKind::Tile:
    return 4;
  case TensorKind::Row:
  case TensorKind::LogRow:
  case TensorKind::Contributions:
    return 3;
  case TensorKind::SequenceHead:
  case TensorKind::Tasks:
    return 2;
  case TensorKind::Head:
  case TensorKind::Bounds:
    return 1;
  case TensorKind::Number:
    return 0;
  }
  llvm_unreachable("all kinds are above");
}

TensorRoleAttr TensorRoleAttr::getSums() const {
  return get(getContext(), getName(), getSide(), TensorAccess::Sum, getKind(),
             Float32Type::get(getContext()), getTileColumns(), /*width=*/0);
}

TensorRoleAttr TensorRoleAttr::withTileColumns(int64_t columns) const {
  return get(getContext(), getName(), getSide(), getAccess(), getKind(), getElement(), getColumns(),
             columns == getColumns() ? 0 : columns);
}

bool TensorRoleAttr::fits(Type type) const {
  if (getKind() == TensorKind::Number)
    return type == getElement();
  auto memref = dyn_cast<MemRefType>(type);
  return memref && memref.getRank() == getRank() && memref.getElementType() == getElement() &&
         ((!isTile() && getKind() != TensorKind::Tasks) ||
          memref.getShape().back() == getColumns());
}

LogicalResult TensorMapAttr::verify(EmitError emitError, TensorRoleAttr tensor, int64_t rows,
                                    int64_t panels, int64_t bytes, int64_t fold) {
  if (!tensor.isTile())
    return emitError() << "descriptors are of tiles, got '" << tensor.getName() << "', a "
                       << stringifyTensorKind(tensor.getKind());
  if (rows < 1 || panels < 1)
    return emitError() << "a box must have at least 1 row and 1 panel, got " << rows << " and "
                       << panels;
  auto layout = SwizzledAttr::getChecked(emitError, tensor.getContext(), bytes);
  if (!layout)
    return failure();
  if (tensor.getColumns() % layout.getColumnsOfPanel() != 0 && panels != 1)
    return emitError() << "a box of '" << tensor.getName() << "', whose " << tensor.getColumns()
                       << " columns do not fill panels of " << layout.getColumnsOfPanel()
                       << ", must be one panel, got " << panels;
  if (fold > 1 && panels != 1)
    return emitError() << "a box of folded heads of '" << tensor.getName()
                       << "' must be one panel, got " << panels;
  return verifyFold(emitError, fold);
}

bool TensorMapAttr::fillsPanels() const {
  return getFold() == 1 && getTensor().getColumns() % getLayout().getColumnsOfPanel() == 0;
}

SwizzledAttr TensorMapAttr::getLayout() const {
  return SwizzledAttr::get(getContext(), getBytes());
}

TensorMapAttr TensorMapAttr::withLayout(SwizzledAttr layout) const {
  int64_t columns = getTensor().getColumns(), ofPanel = layout.getColumnsOfPanel();
  // For tiles wider than the tensor, a box of its panels would not be a part of them.
  bool isWhole = getFold() == 1 && !getTensor().isWritten() && columns % ofPanel == 0 &&
                 columns == getTensor().getTileColumns();
  return get(getContext(), getTensor(), getRows(), isWhole ? columns / ofPanel : 1,
             layout.getBytes(), getFold());
}

std::string dash::describeRole(TensorRoleAttr role) {
  return ("'" + role.getName() + "' (" + stringifyTensorAccess(role.getAccess()) + ", " +
          stringifyTensorKind(role.getKind()) + ")")
      .str();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The memory behind casts to other static sizes.
static Value withoutCasts(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>())
    value = cast.getSource();
  return value;
}

/// The function of which a value is an argument; null if there is none.
static FunctionOpInterface functionOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument
                      ? dyn_cast_if_present<FunctionOpInterface>(argument.getOwner()->getParentOp())
                      : nullptr;
  return function && argument.getOwner()->isEntryBlock() ? function : nullptr;
}

static SmallVector<TensorRoleAttr> rolesIn(Attribute attr) {
  if (auto role = dyn_cast_if_present<TensorRoleAttr>(attr))
    return {role};
  SmallVector<TensorRoleAttr> roles;
  if (auto several = dyn_cast_if_present<ArrayAttr>(attr))
    llvm::append_range(roles, several.getAsRange<TensorRoleAttr>());
  return roles;
}

LogicalResult dash::setRoles(AttentionOpInterface op,
                             function_ref<int64_t(int64_t columns)> tileColumnsOf) {
  llvm::MapVector<BlockArgument, SmallVector<Attribute>> found;
  SmallVector<Attribute> all;
  for (const TensorOfOp &tensor : op.getTensors()) {
    TensorRoleAttr role = tensor.role;
    if (role.isTile())
      role = role.withTileColumns(tileColumnsOf(role.getColumns()));
    all.push_back(role);
    if (Value value = withoutCasts(tensor.value); functionOf(value))
      found[cast<BlockArgument>(value)].push_back(role);
  }
  for (auto &[argument, roles] : found) {
    FunctionOpInterface function = functionOf(argument);
    if (!function->hasAttr(tensorsAttr)) // with several problems, that of the first
      function->setAttr(tensorsAttr, ArrayAttr::get(op->getContext(), all));
    Attribute attr = roles.size() == 1 ? roles.front() : ArrayAttr::get(op->getContext(), roles);
    Attribute known = function.getArgAttr(argument.getArgNumber(), tensorAttr);
    if (known && known != attr)
      return op->emitError() << "argument " << argument.getArgNumber() << " is stated to be "
                             << known << ", but is " << attr
                             << " here: hand over an argument for each";
    function.setArgAttr(argument.getArgNumber(), tensorAttr, attr);
  }
  return success();
}

/// The role of memory of pieces: that of what they become.
static TensorRoleAttr roleOfPieces(CombineOp combine, Value pieces) {
  Value whole = pieces == combine.getOPieces()     ? combine.getO()
                : pieces == combine.getLsePieces() ? combine.getLse()
                                                   : Value();
  TensorRoleAttr role = whole ? roleOf(whole) : TensorRoleAttr();
  return role ? role.getSums() : role;
}

SmallVector<TensorRoleAttr> dash::rolesOf(Value value) {
  value = withoutCasts(value);
  if (auto tensor = value.getDefiningOp<TensorOp>())
    return {tensor.getRole()};
  if (FunctionOpInterface function = functionOf(value))
    return rolesIn(function.getArgAttr(cast<BlockArgument>(value).getArgNumber(), tensorAttr));
  for (Operation *user : value.getUsers()) {
    if (auto convert = dyn_cast<ConvertOp>(user); convert && convert.getSource() == value) {
      if (TensorRoleAttr role = roleOf(convert.getTarget()))
        return {role.getSums()};
    } else if (auto delta = dyn_cast<DeltaOp>(user); delta && delta.getDelta() == value) {
      return {delta.getRole()};
    } else if (auto combine = dyn_cast<CombineOp>(user)) {
      if (TensorRoleAttr role = roleOfPieces(combine, value))
        return {role};
    }
  }
  return {};
}

TensorRoleAttr dash::roleOf(Value value) {
  SmallVector<TensorRoleAttr> roles = rolesOf(value);
  return roles.size() == 1 ? roles.front() : nullptr;
}

int64_t dash::tileColumnsOf(Value memref) {
  if (TensorRoleAttr role = roleOf(memref); role && role.isTile())
    return role.getTileColumns();
  return cast<MemRefType>(memref.getType()).getShape().back();
}

SinkGradientOp dash::findSinkGradient(ItemsOp items) {
  SinkGradientOp found;
  items.walk([&](ScoreGradientOp gradient) {
    if (auto load = gradient.getDelta().getDefiningOp<LoadOp>())
      for (Operation *user : load.getSource().getUsers())
        if (auto sink = dyn_cast<SinkGradientOp>(user))
          found = sink;
  });
  return found;
}
