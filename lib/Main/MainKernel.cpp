//===- MainKernel.cpp - the kernel around a pattern -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MainKernel.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/IR/Consumers.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/TargetDescription.h"
#include "dash/IR/TensorRoles.h"
#include "dash/Pipeline/BufferPlan.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dash;

bool dash::hasDescriptor(const MemoryRef &memory) { return roleOf(memory.tensor).isTile(); }

/// A lane whose records are those of items is told by their numbers where they go.
static bool countsRecords(RoleOp role) {
  bool counts = true;
  role.walk(
      [&](TraceOp op) { counts &= op.getEvent() != TraceEvent::End || op.getNumbers().empty(); });
  return counts;
}

/// The bodies of items with records and without, of a role that --dash-sample-trace has given both.
static SmallVector<Block *> sampledBodies(RoleOp role) {
  SmallVector<Block *> bodies;
  role.walk([&](TraceOp op) {
    if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
        branch && op.getEvent() == TraceEvent::Item)
      for (Region *body : branch.getRegions())
        if (!body->empty())
          bodies.push_back(&body->front());
  });
  return bodies;
}

MainKernel::MainKernel(WorkersOp workers, const Kernels &kernels)
    : workers(workers), entry(workers->getParentOp()), kernels(kernels) {
  PtxBuilder b(entry->getLoc(), entry->getContext());
  b.setInsertionPointToStart(&entry->getRegion(0).front());
  if (workers.getTrace())
    for (RoleOp role : workers.getRoles())
      if (countsRecords(role))
        counts[role] = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                              b.getI32Type(), b.i32(1));
  base = sharedMemoryBase(b, entry->getParentOp());
  heads = parameter("heads");
  qRows = parameter("q_rows");
  kvRows = parameter("kv_rows");
  qTiles = kernels.isList() ? parameter("q_tiles") : b.ceilDiv(qRows, kernels.qTile());
}

Value dash::findParameter(Operation *entry, StringRef name) {
  auto function = cast<FunctionOpInterface>(entry);
  for (BlockArgument argument : function.getArguments())
    if (auto known = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), parameterAttr);
        known && known.getValue() == name)
      return argument;
  return Value();
}

Value MainKernel::parameter(StringRef name) const {
  Value found = findParameter(entry, name);
  assert(found && "dash-outline-workers has made all parameters");
  return found;
}

Value MainKernel::list(PtxBuilder &b) const {
  return WorkersOp(workers).getHandsOut() ? b.i32(0) : worker(b);
}

Value MainKernel::worker(PtxBuilder &b) const {
  if (!findParameter(entry, "workspace.tickets"))
    return b.special("ctaid.x");
  return hopper::loadWord(b, b.add(base, ticketOffset));
}

/// Numbers of names count from 1: a record may have no name.
int64_t MainKernel::traceName(TraceOp op) const {
  if (!op.getOfAttr())
    return 0;
  ArrayRef<StringAttr> names = kernels.program.getTrace().getNames();
  const auto *found = llvm::find(names, op.getOfAttr());
  assert(found != names.end() && "dash-outline-workers has gathered the names");
  return found - names.begin() + 1;
}

/// The tensors that the role copies by descriptors, in order of first use.
static llvm::SetVector<TensorRoleAttr> copiedTensors(RoleOp role) {
  llvm::SetVector<TensorRoleAttr> tensors;
  role.walk([&](Operation *op) {
    for (const SlotAccess &copy : copiesOf(op))
      if (hasDescriptor(copy.memory))
        tensors.insert(roleOf(copy.memory.tensor));
  });
  return tensors;
}

std::optional<int64_t> ConsumerValues::getOnlyWarpgroup() const {
  APInt known;
  if (!matchPattern(warpgroup, m_ConstantInt(&known)))
    return std::nullopt;
  return known.getSExtValue();
}

Value ConsumerValues::ofWarpgroup(PtxBuilder &b,
                                  llvm::function_ref<int64_t(int64_t)> number) const {
  if (std::optional<int64_t> one = getOnlyWarpgroup())
    return b.i32(number(*one));
  int64_t first = number(0), step = number(1) - first;
  bool isLinear = llvm::all_of(llvm::seq(warpgroups),
                               [&](int64_t one) { return number(one) == first + one * step; });
  if (isLinear)
    return b.add(step ? b.mul(warpgroup, step) : b.i32(0), first);
  Value found = b.i32(first);
  for (int64_t one : llvm::seq<int64_t>(1, warpgroups))
    found = b.choose(b.equal(warpgroup, one), b.i32(number(one)), found);
  return found;
}

/// The index of a thread's warpgroup among those of the role.
static Value warpgroupOf(PtxBuilder &b, RoleOp role) {
  if (role.getNumWarpgroups() == 1)
    return b.i32(*role.getWarpgroup());
  int64_t first = cast<WorkersOp>(role->getParentOp()).getFirstWarp(role);
  return b.shiftRight(b.sub(b.uniform(b.warpOf(b.special("tid.x"))), b.i32(first)),
                      llvm::Log2_64(warpsOfWarpgroup));
}

void MainKernel::enter(RoleOp role) {
  PtxBuilder b(role.getLoc(), role.getContext());
  b.setInsertionPointToStart(&role.getBody().front());
  auto fenceDescriptors = [&] {
    for (TensorRoleAttr tensor : copiedTensors(role))
      hopper::fenceDescriptor(b, descriptor(b, tensor));
  };
  if (!role.isConsumer())
    return fenceDescriptors();
  auto values = std::make_unique<ConsumerValues>(ConsumerValues{
      ThreadPlace(b), warpgroupOf(b, role), int64_t(*role.getWarpgroups()),
      1 + barriersOfWarpgroup * getFirstMultiplying(role), b.f32(llvm::numbers::log2e)});
  // One problem has one scale, and it is defined before the workers.
  role.walk([&](LogProbabilityOp op) {
    if (op.getScale())
      values->exponentScale = b.mul(op.getScale(), values->exponentScale);
    return op.getScale() ? WalkResult::interrupt() : WalkResult::advance();
  });
  role.walk([&](RunningMaxOp op) {
    Value scale = values->exponentScale;
    if (op.getScale())
      scale = b.mul(op.getScale(), scale);
    Value isPositive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scale, b.f32(0));
    values->exponentScale =
        b.choose(isPositive, scale, b.f32(std::numeric_limits<double>::quiet_NaN()));
    return WalkResult::interrupt();
  });
  b.ifThen(b.equal(values->place.vector, 0), fenceDescriptors);
  // Records of steps take registers. What both bodies of a sampled item used would be spilled in
  // both.
  for (Block *body : counts.lookup(role) ? sampledBodies(role) : SmallVector<Block *>()) {
    b.setInsertionPointToStart(body);
    auto own = std::make_unique<ConsumerValues>(*values);
    own->place = ThreadPlace::readAnew(b);
    consumers[body] = std::move(own);
  }
  consumers[&role.getBody().front()] = std::move(values);
}

const ConsumerValues *MainKernel::consumerOf(Operation *op) const {
  for (Block *block = op->getBlock(); block;) {
    if (auto found = consumers.find(block); found != consumers.end())
      return found->second.get();
    Operation *around = block->getParentOp();
    block = around ? around->getBlock() : nullptr;
  }
  return nullptr;
}

Value MainKernel::tileIndex(PtxBuilder &b, Value sequence, Value head, Value tile) const {
  if (kernels.isList())
    return b.add(
        b.add(b.mul(head, qTiles), readSequence(b, sequence, /*isKeyValue=*/false).firstTile),
        tile);
  return b.add(b.mul(b.add(b.mul(sequence, heads), head), qTiles), tile);
}

Value MainKernel::pieceIndex(PtxBuilder &b, Value sequence, Value kvHead, Value piece) const {
  Value pieces = b.mul(b.ceilDiv(kvRows, kernels.kvTile()), kernels.numPieces());
  return b.add(b.mul(b.add(b.mul(sequence, parameter("kv_heads")), kvHead), pieces), piece);
}

SequenceRows MainKernel::readSequence(PtxBuilder &b, Value sequence, bool isKeyValue) const {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(sequence);
  return dash::readSequence(b, region("order"), sequence, isKeyValue);
}

SmallVector<Value> MainKernel::coordinates(PtxBuilder &b, bool isKeyValue, Value sequence,
                                           Value head, Value row, Value panel) const {
  Value last = sequence;
  if (kernels.isList()) {
    SequenceRows rows = readSequence(b, sequence, isKeyValue);
    row = b.add(b.sub(isKeyValue ? kvRows : qRows, rows.rows), row);
    last = rows.end;
  }
  if (!isKeyValue && fold() > 1)
    return {b.i32(0), b.i32(0), row, head, last};
  return {b.i32(0), row, panel, head, last};
}

/// The index of a tensor's map among the program's.
static int64_t numberOfMap(const Kernels &kernels, TensorRoleAttr tensor) {
  std::optional<int64_t> number = kernels.program.findMap(tensor);
  assert(number && "dash-convert-to-nvvm has checked the tensors");
  return *number;
}

Value MainKernel::descriptor(PtxBuilder &b, TensorRoleAttr tensor) const {
  return b.offset(region("descriptors"), numberOfMap(kernels, tensor) * descriptorBytes);
}

TensorMapAttr MainKernel::map(TensorRoleAttr tensor) const {
  return kernels.program.getMaps()[numberOfMap(kernels, tensor)];
}

/// base + first + slot * stride; a single slot is slot 0.
static Value slotAddress(PtxBuilder &b, Value base, ChannelOp channel, int64_t first,
                         int64_t stride, Value slot) {
  if (channel.getDepth() == 1)
    return b.add(base, first);
  return b.add(b.add(base, b.mul(slot, stride)), first);
}

Value MainKernel::element(PtxBuilder &b, ChannelOp channel, unsigned number, Value slot) const {
  return slotAddress(b, base, channel, (*channel.getOffsets())[number],
                     (*channel.getStrides())[number], slot);
}

Value MainKernel::barrier(PtxBuilder &b, ChannelOp channel, BarrierSide side, Value slot) const {
  return barrierAddress(b, base, channel, side, slot);
}

Value dash::barrierAddress(PtxBuilder &b, Value base, ChannelOp channel, BarrierSide side,
                           Value slot) {
  int64_t first = (*channel.getBarriers())[side == BarrierSide::Full ? 0 : 1];
  return slotAddress(b, base, channel, first, barrierBytes, slot);
}
