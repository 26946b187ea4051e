//===- ComputeOps.cpp - checks of the ops on whole tensors ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_bwd is what users write by hand, so its messages name operands, not their numbers.
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"
#include "dash/Support/Limits.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

//===----------------------------------------------------------------------===//
// AttentionBwdOp: text
//===----------------------------------------------------------------------===//

ParseResult dash::parseInputs(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &q,
                              OpAsmParser::UnresolvedOperand &k, OpAsmParser::UnresolvedOperand &v,
                              OpAsmParser::UnresolvedOperand &dOut,
                              OpAsmParser::UnresolvedOperand &lse, MaybeOperand &o,
                              MaybeOperand &delta, Type &qType, Type &kType, Type &vType,
                              Type &dOutType, Type &lseType, Type &oType, Type &deltaType) {
  for (auto *operand : {&q, &k, &v, &dOut, &lse})
    if (parser.parseOperand(*operand) || parser.parseComma())
      return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word, {"o", "delta"})))
    return parser.emitError(loc, "expected 'o = %value' or 'delta = %value'");
  MaybeOperand &last = word == "o" ? o : delta;
  Type &lastType = word == "o" ? oType : deltaType;
  if (parser.parseEqual() || parser.parseOperand(last.emplace()) || parser.parseColon())
    return failure();
  for (Type *type : {&qType, &kType, &vType, &dOutType, &lseType})
    if (parser.parseType(*type) || parser.parseComma())
      return failure();
  return parser.parseType(lastType);
}

void dash::printInputs(OpAsmPrinter &printer, Operation *, Value q, Value k, Value v, Value dOut,
                       Value lse, Value o, Value delta, Type qType, Type kType, Type vType,
                       Type dOutType, Type lseType, Type oType, Type deltaType) {
  printer << ValueRange{q, k, v, dOut, lse} << (o ? ", o = " : ", delta = ") << (o ? o : delta)
          << " : " << TypeRange{qType, kType, vType, dOutType, lseType, o ? oType : deltaType};
}

//===----------------------------------------------------------------------===//
// What tensors are
//===----------------------------------------------------------------------===//

SmallVector<TensorOfOp> AttentionBwdOp::getTensors() {
  constexpr TensorSide q = TensorSide::Q, kv = TensorSide::KV;
  constexpr TensorAccess read = TensorAccess::Read, write = TensorAccess::Write;
  SmallVector<TensorOfOp> tensors;
  auto add = [&](StringRef name, Value value, TensorSide side, TensorAccess access,
                 TensorKind kind) {
    if (!value)
      return;
    auto memref = dyn_cast<MemRefType>(value.getType());
    tensors.push_back(
        {value, TensorRoleAttr::get(getContext(), name, side, access, kind,
                                    memref ? memref.getElementType() : value.getType(),
                                    kind == TensorKind::Tile ? memref.getShape().back() : 1)});
  };
  add("q", getQ(), q, read, TensorKind::Tile);
  add("k", getK(), kv, read, TensorKind::Tile);
  add("v", getV(), kv, read, TensorKind::Tile);
  add("do", getDOut(), q, read, TensorKind::Tile);
  add("o", getO(), q, read, TensorKind::Tile);
  add("delta", getDelta(), q, read, TensorKind::Row);
  add("lse", getLse(), q, read, TensorKind::LogRow);
  add("dq", getDq(), q, write, TensorKind::Tile);
  add("dk", getDk(), kv, write, TensorKind::Tile);
  add("dv", getDv(), kv, write, TensorKind::Tile);
  add("scale", getScale(), q, read, TensorKind::Number);
  add("sink", getSink(), q, read, TensorKind::Head);
  add("dsink", getDsink(), q, write, TensorKind::SequenceHead);
  return tensors;
}

TensorRoleAttr DeltaOp::getRole() {
  return TensorRoleAttr::get(getContext(), "delta", TensorSide::Q, TensorAccess::Read,
                             TensorKind::Row, getDelta().getType().getElementType(),
                             /*columns=*/1);
}

//===----------------------------------------------------------------------===//
// AttentionBwdOp: checks
//===----------------------------------------------------------------------===//

namespace {
/// The operands that are there, by name, in the groups in which the rules speak of them.
struct Operands {
  explicit Operands(AttentionBwdOp op) {
    auto add = [&](StringRef name, Value value) {
      values.push_back({name, value});
      return NamedMemRef{name, op.typeOf(value)};
    };
    q = add("q", op.getQ()), k = add("k", op.getK()), v = add("v", op.getV());
    dOut = add("d_out", op.getDOut());
    perRow.push_back(add("lse", op.getLse()));
    if (op.getO())
      o = add("o", op.getO());
    if (op.getDelta())
      perRow.push_back(add("delta", op.getDelta()));
    if (op.getSink())
      sink = add("sink", op.getSink());
    numInputs = values.size();
    dq = add("dq", op.getDq()), dk = add("dk", op.getDk()), dv = add("dv", op.getDv());
    if (op.getDsink())
      dsink = add("dsink", op.getDsink());
  }

  SmallVector<NamedMemRef> of(ArrayRef<NamedMemRef> some) const {
    return llvm::filter_to_vector(some, [](NamedMemRef memref) { return bool(memref.type); });
  }

  NamedMemRef q, k, v, dOut, o, dq, dk, dv, sink, dsink;
  SmallVector<NamedMemRef, 2> perRow;
  SmallVector<std::pair<StringRef, Value>> values;
  unsigned numInputs;
};
} // namespace

static LogicalResult verifyForm(Operation *op, NamedMemRef memref, unsigned rank) {
  static constexpr StringRef dimensions[] = {"heads", "batch, heads", "batch, heads, q rows",
                                             "batch, heads, rows, head dim"};
  if (memref.type.getRank() != rank)
    return op->emitOpError() << "'" << memref.name << "' must be a memref of rank " << rank << " ["
                             << dimensions[rank - 1] << "], got " << memref.type;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.type.getStridesAndOffset(strides, offset)))
    return op->emitOpError() << "'" << memref.name << "' must have a strided layout, got "
                             << memref.type;
  if (strides.back() == 1)
    return success();
  auto diagnostic = op->emitOpError()
                    << "'" << memref.name << "' must have an innermost stride of 1, got ";
  if (ShapedType::isDynamic(strides.back()))
    return diagnostic << "a dynamic one";
  return diagnostic << strides.back();
}

static LogicalResult verifyForms(Operation *op, const Operands &operands) {
  auto [q, k, v, dOut, o, dq, dk, dv, sink, dsink, perRow, values, numInputs] = operands;
  SmallVector<NamedMemRef> tensors = operands.of({q, k, v, dOut, o, dq, dk, dv});
  SmallVector<NamedMemRef> numbers = operands.of({sink, dsink});
  llvm::append_range(numbers, perRow);
  for (NamedMemRef memref : tensors)
    if (failed(verifyForm(op, memref, 4)))
      return failure();
  for (NamedMemRef memref : perRow)
    if (failed(verifyForm(op, memref, 3)))
      return failure();
  if ((sink.type && failed(verifyForm(op, sink, 1))) ||
      (dsink.type && failed(verifyForm(op, dsink, 2))))
    return failure();
  std::string element;
  llvm::raw_string_ostream(element) << q.type.getElementType();
  if (!llvm::is_contained(matrixElements, element))
    return op->emitOpError() << "'q' must have "
                             << llvm::join(llvm::ArrayRef(matrixElements), " or ")
                             << " elements, got " << q.type.getElementType();
  for (NamedMemRef memref : tensors)
    if (failed(verifySameElements(op, memref, q)))
      return failure();
  for (NamedMemRef memref : numbers)
    if (!memref.type.getElementType().isF32())
      return op->emitOpError() << "'" << memref.name << "' must have f32 elements, got "
                               << memref.type.getElementType();
  return success();
}

static LogicalResult verifyHeadDims(AttentionBwdOp op) {
  int64_t dim = op.getHeadDim(), dimV = op.getHeadDimV();
  constexpr int64_t step = 8, most = 256; // a row is whole chunks of 16 bytes
  for (auto [name, size] : {std::pair<StringRef, int64_t>("q", dim), {"v", dimV}}) {
    if (ShapedType::isDynamic(size))
      return op.emitOpError() << "'" << name << "' must have a static head dim";
    if (size < step || size > most || size % step != 0)
      return op.emitOpError() << "head dim of '" << name << "' must be a multiple of " << step
                              << " up to " << most << ", got " << size;
  }
  return success();
}

static LogicalResult verifySizes(AttentionBwdOp op, const Operands &operands) {
  auto [q, k, v, dOut, o, dq, dk, dv, sink, dsink, perRow, values, numInputs] = operands;
  SmallVector<NamedMemRef> likeQ = operands.of({q, dOut, o, dq}), likeKv = {k, v, dk, dv};
  llvm::append_range(likeQ, perRow);
  SmallVector<NamedMemRef> all = likeQ;
  llvm::append_range(all, likeKv);
  SmallVector<NamedMemRef> withHeads = likeQ;
  llvm::append_range(withHeads, operands.of({dsink}));
  if (!op.getSequencesAttr())
    llvm::append_range(all, operands.of({dsink}));
  return failure(
      failed(verifySameSize(op, HeadDim, {q, k, dq, dk})) ||
      failed(verifySameSize(op, HeadDim, operands.of({v, dOut, o, dv}))) ||
      failed(verifySameSize(op, Batch, all)) || failed(verifySameSize(op, Heads, withHeads)) ||
      failed(verifySameSize(op, Heads, likeKv)) || failed(verifySameSize(op, Rows, likeQ)) ||
      failed(verifySameSize(op, Rows, likeKv)));
}

/// A number of each head, of which `other` has its heads in dimension 1.
static LogicalResult verifyHeadsOf(Operation *op, NamedMemRef perHead, NamedMemRef other) {
  int64_t found = perHead.type.getDimSize(0), expected = other.type.getDimSize(Heads);
  if (found == expected || ShapedType::isDynamic(found) || ShapedType::isDynamic(expected))
    return success();
  return op->emitOpError() << "'" << perHead.name << "' must have the heads of '" << other.name
                           << "', " << expected << ", got " << found;
}

/// For a list, the gradient of a sink has one row for each sequence.
static LogicalResult verifyRowOfEach(Operation *op, SequencesAttr list, NamedMemRef dsink) {
  int64_t found = dsink.type.getDimSize(0);
  if (!list || list.isOpen() || ShapedType::isDynamic(found) || found == int64_t(list.size()))
    return success();
  return op->emitOpError() << "'" << dsink.name << "' must have a row for each of the "
                           << list.size() << " sequences, got " << found;
}

static LogicalResult verifySink(AttentionBwdOp op, const Operands &operands) {
  if (!op.getSink() != !op.getDsink())
    return op.emitOpError("'sink' and 'dsink' come together, got '")
           << (op.getSink() ? "sink" : "dsink") << "' alone";
  if (!op.getSink())
    return success();
  return failure(failed(verifyHeadsOf(op, operands.sink, operands.q)) ||
                 failed(verifyRowOfEach(op, op.getSequencesAttr(), operands.dsink)));
}

LogicalResult AttentionBwdOp::verify() {
  if (!getO() == !getDelta())
    return emitOpError("needs exactly one of 'o' and 'delta', got ")
           << (getO() ? "both" : "neither");
  Operands operands(*this);
  if (failed(verifyForms(*this, operands)) || failed(verifyHeadDims(*this)) ||
      failed(verifySizes(*this, operands)) || failed(verifySink(*this, operands)) ||
      failed(verifyCap(*this, "softcap", getSoftcapAttr())) ||
      failed(verifyProblem(*this, operands.q.type, operands.k.type, operands.v.type,
                           getSequencesAttr())) ||
      failed(verifyMask(*this, getMask(), operands.q.type, operands.k.type, getSequencesAttr())))
    return failure();
  ArrayRef<std::pair<StringRef, Value>> values = operands.values;
  for (unsigned i = operands.numInputs; i < values.size(); ++i)
    for (auto [name, value] : values.take_front(i))
      if (value == values[i].second)
        return emitOpError() << "output '" << values[i].first << "' must not be the same value as '"
                             << name << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// DeltaOp, SinkGradientOp, ConvertOp
//===----------------------------------------------------------------------===//

LogicalResult DeltaOp::verify() {
  NamedMemRef o{"o", getO().getType()}, dOut{"d_out", getDOut().getType()},
      delta{"delta", getDelta().getType()};
  if (failed(verifySameElements(*this, dOut, o)) ||
      failed(verifySameSize(*this, HeadDim, {o, dOut})))
    return failure();
  for (Dim dim : {Batch, Heads, Rows})
    if (failed(verifySameSize(*this, dim, {o, dOut, delta})))
      return failure();
  return success();
}

LogicalResult SinkGradientOp::verify() {
  NamedMemRef lse{"lse", getLse().getType()}, delta{"delta", getDelta().getType()},
      dsink{"dsink", getDsink().getType()};
  SequencesAttr list = getSequencesAttr();
  SmallVector<NamedMemRef> ofBatch = {lse, delta};
  if (!list)
    ofBatch.push_back(dsink);
  if (failed(verifySameSize(*this, Batch, ofBatch)) ||
      failed(verifySameSize(*this, Heads, {lse, delta, dsink})) ||
      failed(verifySameSize(*this, Rows, {lse, delta})) ||
      failed(verifyBatchOfList(*this, list, {lse.type, delta.type})) ||
      failed(verifyRowOfEach(*this, list, dsink)) ||
      failed(verifyHeadsOf(*this, {"sink", getSink().getType()}, lse)))
    return failure();
  for (Operation *user : getDelta().getUsers()) {
    ItemsOp items = isa<LoadOp>(user) ? getItems(user) : ItemsOp();
    if (!items || items.getSequencesAttr() == list)
      continue;
    auto diagnostic =
        emitOpError("must have the sequences of the 'dash.items' that read its delta");
    return diagnostic.attachNote(items.getLoc()) << "these";
  }
  return success();
}

LogicalResult ConvertOp::verify() {
  MemRefType source = getSource().getType(), target = getTarget().getType();
  for (Dim dim : {Batch, Heads, Rows})
    if (failed(verifySameSize(*this, dim, {{"source", source}, {"target", target}})))
      return failure();
  if (!source.isDynamicDim(HeadDim) && !target.isDynamicDim(HeadDim) &&
      source.getDimSize(HeadDim) < target.getDimSize(HeadDim))
    return emitOpError() << "'source' must have the head dim of 'target', "
                         << target.getDimSize(HeadDim) << ", or more, got "
                         << source.getDimSize(HeadDim);
  if (FragmentAttr layout = getLayoutAttr();
      layout && layout.getKind() != FragmentKind::Accumulator)
    return emitOpError() << "'layout' must be an accumulator's, got " << layout;
  if (std::optional<int64_t> pieces = getPieces(); pieces && *pieces < 2)
    return emitOpError() << "'pieces' must be at least 2, got " << *pieces;
  return success();
}
