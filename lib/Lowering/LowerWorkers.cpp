//===- LowerWorkers.cpp - the main kernel ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One entry from one `dash.workers`: shared memory, barriers, and a branch for each role. What a role does is
// emitted from its ops: LoadRole.cpp, ReduceRole.cpp, ComputeRole.cpp.
//
//===----------------------------------------------------------------------===//

#include "MaskEmitter.h"
#include "TmaDescriptors.h"
#include "WorkerEntry.h"
#include "dash/IR/Arguments.h"
#include "dash/IR/TargetDescription.h"
#include "dash/Lowering/Passes.h"
#include "dash/Lowering/ProgramAttrs.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dash {
#define GEN_PASS_DEF_LOWERWORKERS
#include "dash/Lowering/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

Value WorkerEntry::tileIndex(Value sequence, Value head, Value qTile) const {
  return b.add(b.mul(b.add(b.mul(sequence, heads), head), qTiles), qTile);
}

Value WorkerEntry::descriptor(StringRef name) const {
  SmallVector<TensorMap> maps = tensorMaps(facts);
  auto found = llvm::find_if(maps, [&](const TensorMap &map) { return map.tensor == name; });
  assert(found != maps.end() && "dash-outline-program has checked the tensors");
  return b.offset(b.parameter("workspace.descriptors"), (found - maps.begin()) * descriptorBytes);
}

Value dash::maskLead(WorkerEntry &entry, Value qTile, Value kvTile) {
  PtxBuilder &b = entry.b;
  Value offset = b.sub(entry.kvRows, entry.qRows);
  Value last = MaskEmitter(b, entry.facts.band, offset).lastVisible(qTile, kvTile);
  return last ? last : b.i32(fullLead);
}

static TensorNames namesOf(FunctionOpInterface function) {
  TensorNames names;
  for (BlockArgument argument : function.getArguments())
    if (auto name =
            function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), argumentNameAttr))
      names[argument] = name.getValue();
  return names;
}

namespace {

struct LowerWorkers : public dash::impl::LowerWorkersBase<LowerWorkers> {
  using LowerWorkersBase::LowerWorkersBase;

  void runOnOperation() override {
    SmallVector<WorkersOp> found;
    getOperation()->walk([&](WorkersOp op) { found.push_back(op); });
    for (WorkersOp workers : found) {
      if (failed(lower(workers)))
        return signalPassFailure();
      workers.erase();
      ++numLowered;
    }
  }

private:
  LogicalResult lower(WorkersOp workers) {
    FailureOr<Kernels> kernels = findKernels(workers);
    if (failed(kernels))
      return failure();
    auto program = kernels->module->getAttrOfType<DictionaryAttr>(programAttr);
    auto facts = program.getAs<DictionaryAttr>(programFactsKey);
    auto minWorkers = facts.getAs<IntegerAttr>(factMinWorkersKey);
    if (!minWorkers)
      return kernels->module->emitError()
             << "does not say how many workers must run at once ('" << factMinWorkersKey
             << "'); run --dash-outline-program to make it";
    TensorNames names = namesOf(workers->getParentOfType<FunctionOpInterface>());
    if (failed(checkWorkers(workers, names)))
      return failure();
    if (contributions && !kernels->facts.isOrdered)
      return workers.emitError() << "adds in no order, so contributions have no turns to be kept "
                                    "by; use a schedule whose kind is not 'unordered'";
    if (contributions)
      addContributions(*kernels);
    emitEntry(workers, *kernels, minWorkers.getInt() > 1, names);
    return emitted;
  }

  /// A region with a slot for each contribution: as many for each q tile as there are kv tiles.
  static void addContributions(const Kernels &kernels) {
    Operation *module = kernels.module;
    Builder b(module->getContext());
    std::string bytes = "batch*heads*q_tiles*kv_tiles*" +
                        std::to_string(4 * kernels.facts.qTile * kernels.facts.headDim);
    DictionaryAttr region =
        b.getDictionaryAttr({b.getNamedAttr("name", b.getStringAttr("contributions")),
                             b.getNamedAttr("bytes", b.getStringAttr(bytes)),
                             b.getNamedAttr("alignment", b.getI64IntegerAttr(128)),
                             b.getNamedAttr("initial", b.getStringAttr("any")),
                             b.getNamedAttr("after", b.getStringAttr("any"))});
    NamedAttrList program(module->getAttrOfType<DictionaryAttr>(programAttr));
    auto regions = llvm::to_vector(cast<ArrayAttr>(program.get(programWorkspaceKey)));
    regions.push_back(region);
    program.set(programWorkspaceKey, b.getArrayAttr(regions));
    module->setAttr(programAttr, program.getDictionary(module->getContext()));
  }

  void emitEntry(WorkersOp workers, const Kernels &kernels, bool isCooperative,
                 const TensorNames &names) {
    EntryLaunch launch;
    launch.role = "main";
    launch.grid[0] = "workers";
    launch.threads = workers.getNumWarps() * threadsOfWarp;
    launch.sharedBytes = *workers.getSharedBytes();
    launch.cooperative = isCooperative;
    ParameterList parameters;
    for (StringRef region : {"descriptors", "lse2", "delta", "dq_sum", "turns", "order"})
      parameters.workspace(region);
    parameters.sizes({"heads", "q_rows", "kv_rows"});
    if (llvm::any_of(names, [](const auto &entry) { return entry.second == "scale"; }))
      parameters.scale();
    if (contributions)
      parameters.workspace("contributions");
    EntryBuilder b(workers.getLoc(), kernels.module, kernels.facts.name + "_main", launch,
                   parameters);

    SharedMemory shared(workers, threadsArrive ? threadsOfWarp : 1);
    Value base = b.sharedBase(), thread = b.special("tid.x");
    ItemsOp items = (*workers.getRoles().begin()).getItems();
    Value qRows = b.parameter("q_rows");
    WorkerEntry entry{b,
                      workers,
                      items,
                      shared,
                      names,
                      kernels.facts,
                      base,
                      b.parameter("heads"),
                      b.ceilDiv(qRows, items.getTiles().getQ()),
                      qRows,
                      b.parameter("kv_rows"),
                      b.uniform(b.shiftRight(thread, 5)),
                      contributions,
                      delays,
                      threadsArrive};
    b.ifThen(b.equal(thread, 0), [&] { shared.initialise(b, base); });
    b.syncBlock();
    emitted = success();
    emitRoles(entry, llvm::to_vector(workers.getRoles()));
    b.finish();
  }

  /// Registers belong to warpgroups, so the branch is on the warpgroup first.
  void emitRoles(WorkerEntry &entry, ArrayRef<RoleOp> roles) {
    EntryBuilder &b = entry.b;
    int64_t atLaunch = *entry.workers.getRegisters();
    while (!roles.empty()) {
      int64_t firstWarp = entry.workers.getFirstWarp(roles.front()), end = firstWarp;
      size_t number = 0;
      while (number < roles.size() &&
             (number == 0 || entry.workers.getFirstWarp(roles[number]) < end)) {
        RoleOp role = roles[number++];
        // With the warps of the last warpgroup that have no role: registers are set by all or none.
        end = llvm::alignTo(entry.workers.getFirstWarp(role) + role.getWarps(), warpsOfWarpgroup);
      }
      ArrayRef<RoleOp> group = roles.take_front(number);
      inWarps(b, entry.warp, firstWarp, end - firstWarp, [&] {
        RoleOp leader = group.front();
        int64_t registers = *leader.getRegisters();
        hopper::setRegisters(b, registers, /*isMore=*/registers > atLaunch);
        for (RoleOp role : group)
          emitRole(entry, role, entry.workers.getFirstWarp(role));
      });
      roles = roles.drop_front(number);
    }
  }

  static void inWarps(PtxBuilder &b, Value warp, int64_t first, int64_t number,
                      llvm::function_ref<void()> body) {
    Value place = b.sub(warp, b.i32(first));
    b.ifThen(b.compare(arith::CmpIPredicate::ult, place, b.i32(number)), body);
  }

  void emitRole(WorkerEntry &entry, RoleOp role, int64_t firstWarp) {
    EntryBuilder &b = entry.b;
    if (isCompute(role)) {
      // A copy for each warpgroup, so that where its part lies is a constant.
      for (int64_t warpgroup : llvm::seq(role.getWarps() / warpsOfWarpgroup))
        inWarps(b, entry.warp, firstWarp + warpgroup * warpsOfWarpgroup, warpsOfWarpgroup, [&] {
          if (failed(emitComputeRole(entry, role, warpgroup)))
            emitted = failure();
        });
      return;
    }
    inWarps(b, entry.warp, firstWarp, role.getWarps(), [&] {
      Value warpOfRole = b.sub(entry.warp, b.i32(firstWarp));
      if (isReduce(role))
        emitReduceRole(entry, role, warpOfRole);
      else
        emitLoadRole(entry, role);
    });
  }

  LogicalResult emitted = success();
};

} // namespace
