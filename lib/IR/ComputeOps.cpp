//===- ComputeOps.cpp - checks of the ops on whole tensors ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attention_bwd is what users write by hand, so its messages name operands, not their numbers.
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "Checks.h"
#include "dash/IR/TaskTiles.h"

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

/// `%dq, %dk, %dv`, or a part of them by name: `dk = %dk, dv = %dv`.
ParseResult dash::parseOutputs(OpAsmParser &parser, MaybeOperand &dq, MaybeOperand &dk,
                               MaybeOperand &dv, Type &dqType, Type &dkType, Type &dvType) {
  std::pair<MaybeOperand *, Type *> all[] = {{&dq, &dqType}, {&dk, &dkType}, {&dv, &dvType}};
  ArrayRef<std::pair<MaybeOperand *, Type *>> given = all;
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  bool isPart = succeeded(parser.parseOptionalKeyword(&word, {"dq", "dk", "dv"}));
  if (isPart) {
    given = word == "dq" ? given.take_front() : given.drop_front();
    if (word == "dv")
      return parser.emitError(loc, "expected all gradients, dk and dv, or dq");
  }
  for (auto [number, one] : llvm::enumerate(given)) {
    if (number > 0 && parser.parseComma())
      return failure();
    if (isPart && number > 0 && parser.parseKeyword("dv"))
      return failure();
    if ((isPart && parser.parseEqual()) || parser.parseOperand(one.first->emplace()))
      return failure();
  }
  if (parser.parseColon())
    return failure();
  for (auto [number, one] : llvm::enumerate(given))
    if ((number > 0 && parser.parseComma()) || parser.parseType(*one.second))
      return failure();
  return success();
}

void dash::printOutputs(OpAsmPrinter &printer, Operation *, Value dq, Value dk, Value dv,
                        Type dqType, Type dkType, Type dvType) {
  if (dq && dk && dv)
    printer << ValueRange{dq, dk, dv} << " : " << TypeRange{dqType, dkType, dvType};
  else if (dq)
    printer << "dq = " << dq << " : " << dqType;
  else
    printer << "dk = " << dk << ", dv = " << dv << " : " << TypeRange{dkType, dvType};
}

//===----------------------------------------------------------------------===//
// What tensors are
//===----------------------------------------------------------------------===//

TensorOfOp dash::makeTensor(StringRef name, Value value, TensorSide side, TensorAccess access,
                            TensorKind kind) {
  auto memref = dyn_cast<MemRefType>(value.getType());
  return {value, TensorRoleAttr::get(value.getContext(), name, side, access, kind,
                                     memref ? memref.getElementType() : value.getType(),
                                     kind == TensorKind::Tile || kind == TensorKind::Tasks
                                         ? memref.getShape().back()
                                         : 1)};
}

int64_t AttentionBwdOp::getHeadDim() { return typeOf(getQ()).getDimSize(HeadDim); }
int64_t AttentionBwdOp::getHeadDimV() { return typeOf(getV()).getDimSize(HeadDim); }

SmallVector<TensorOfOp> AttentionBwdOp::getTensors() {
  constexpr TensorSide q = TensorSide::Q, kv = TensorSide::KV;
  constexpr TensorAccess read = TensorAccess::Read, write = TensorAccess::Write;
  SmallVector<TensorOfOp> tensors;
  auto add = [&](StringRef name, Value value, TensorSide side, TensorAccess access,
                 TensorKind kind) {
    if (value)
      tensors.push_back(makeTensor(name, value, side, access, kind));
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
  add("ds", getDs(), q, getDk() ? write : read, TensorKind::Tasks);
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
      if (!value)
        return NamedMemRef{name, nullptr};
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
    if (op.getDs() && op.ownsQ())
      add("ds", op.getDs());
    numInputs = values.size();
    dq = add("dq", op.getDq()), dk = add("dk", op.getDk()), dv = add("dv", op.getDv());
    if (op.getDsink())
      dsink = add("dsink", op.getDsink());
    if (op.getDs() && !op.ownsQ())
      add("ds", op.getDs());
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

static LogicalResult verifySizes(AttentionBwdOp op, const Operands &operands) {
  auto [q, k, v, dOut, o, dq, dk, dv, sink, dsink, perRow, values, numInputs] = operands;
  SmallVector<NamedMemRef> likeQ = operands.of({q, dOut, o, dq}),
                           likeKv = operands.of({k, v, dk, dv});
  llvm::append_range(likeQ, perRow);
  SmallVector<NamedMemRef> all = likeQ;
  llvm::append_range(all, likeKv);
  SmallVector<NamedMemRef> withHeads = likeQ;
  llvm::append_range(withHeads, operands.of({dsink}));
  if (!op.getSequencesAttr())
    llvm::append_range(all, operands.of({dsink}));
  return failure(
      failed(verifySameSize(op, HeadDim, operands.of({q, k, dq, dk}))) ||
      failed(verifySameSize(op, HeadDim, operands.of({v, dOut, o, dv}))) ||
      failed(verifySameSize(op, Batch, all)) || failed(verifySameSize(op, Heads, withHeads)) ||
      failed(verifySameSize(op, Heads, likeKv)) || failed(verifySameSize(op, Rows, likeQ)) ||
      failed(verifySameSize(op, Rows, likeKv)));
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

static LogicalResult verifyLevel(AttentionBwdOp op) {
  if (op.getLevel() != DeterminismLevel::Row)
    return success();
  return op.emitOpError("level 'row' is of a forward only: dK and dV are sums over rows of q; "
                        "expected run, batch, machine or world");
}

/// dS goes from one program to another through tiles that a mask hides whole or not at all.
static LogicalResult verifyTasks(AttentionBwdOp op) {
  if (!op.getDs())
    return success();
  if (!op.isPart())
    return op.emitOpError("'ds' goes from a program of dk and dv to one of dq: a program of all "
                          "gradients has none");
  auto memref = dyn_cast<MemRefType>(op.getDs().getType());
  Type element = op.getElementType();
  if (!memref || memref.getRank() != 2 || memref.getShape().back() != numbersOfTaskTile ||
      memref.getElementType() != element)
    return op.emitOpError() << "'ds' must be tiles of " << numbersOfTaskTile << " numbers, as "
                            << MemRefType::get({ShapedType::kDynamic, numbersOfTaskTile}, element)
                            << ", got " << op.getDs().getType();
  if (op.getMask().getBand().left >= 0 || !op.getMask().getRules().empty() || op.getSequencesAttr())
    return op.emitOpError("'ds' goes with a mask that has no left side and no rules, and with no "
                          "list of sequences");
  return success();
}

LogicalResult AttentionBwdOp::verify() {
  if (!getO() == !getDelta())
    return emitOpError("needs exactly one of 'o' and 'delta', got ")
           << (getO() ? "both" : "neither");
  if (!getDk() != !getDv() || (!getDq() && !getDk()))
    return emitOpError("expected all gradients, dk and dv, or dq");
  if (!getDk() && getSink())
    return emitOpError("'sink' has its gradient beside dk and dv: a program of dq has none");
  Operands operands(*this);
  SmallVector<std::pair<NamedMemRef, unsigned>> numbers;
  for (NamedMemRef memref : operands.perRow)
    numbers.push_back({memref, 3});
  if (getSink())
    numbers.push_back({operands.sink, 1});
  if (getDsink())
    numbers.push_back({operands.dsink, 2});
  auto [q, k, v, dOut, o, dq, dk, dv, sink, dsink, perRow, values, numInputs] = operands;
  if (o.type && o.type.getElementType().isF32()) {
    numbers.push_back({o, 4});
    o.type = nullptr;
  }
  if (failed(verifyForms(*this, operands.of({q, k, v, dOut, o, dq, dk, dv}), numbers)) ||
      failed(verifyHeadDims(*this)) || failed(verifyLevel(*this)) ||
      failed(verifySizes(*this, operands)) || failed(verifySink(*this, operands)) ||
      failed(verifyCap(*this, "softcap", getSoftcapAttr())) || failed(verifyTasks(*this)) ||
      failed(verifyProblem(*this, operands.q.type, operands.k.type, operands.v.type,
                           getSequencesAttr())) ||
      failed(verifyMask(*this, getMask(), operands.q.type, operands.k.type, getSequencesAttr())))
    return failure();
  return verifyOutputs(*this, operands.values, operands.numInputs);
}

//===----------------------------------------------------------------------===//
// DeltaOp, SinkGradientOp, ConvertOp
//===----------------------------------------------------------------------===//

LogicalResult DeltaOp::verify() {
  NamedMemRef o{"o", getO().getType()}, dOut{"d_out", getDOut().getType()},
      delta{"delta", getDelta().getType()};
  bool isUnrounded = o.type.getElementType().isF32();
  if ((!isUnrounded && failed(verifySameElements(*this, dOut, o))) ||
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
