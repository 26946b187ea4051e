//===- EmitPromela.cpp - the protocol of a worker as a model for SPIN -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PromelaModel.h"
#include "dash/Protocol/Passes.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dash {
#define GEN_PASS_DEF_EMITPROMELA
#include "dash/Protocol/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

/// The effects of ops.
static constexpr StringLiteral rules =
#include "protocol_rules.inc"
    ;
/// Workers reduced to the turns that they take and pass on.
static constexpr StringLiteral grid =
#include "protocol_grid.inc"
    ;

namespace {

/// Each warp of a reducer runs the role; other roles run once.
struct Role {
  const RoleProgram *program;
  std::string name;
  int64_t processes;
};

class Model {
public:
  Model(WorkersOp workers, ArrayRef<RoleProgram> programs)
      : workers(workers), layout(workers), needed(programs, layout) {
    for (auto [number, program] : llvm::enumerate(programs)) {
      RoleOp role = program.role;
      std::string name = formatv("role{0}_{1}", number, role.getName());
      for (char &c : name)
        c = llvm::isAlnum(c) ? c : '_';
      int64_t count = role.isReducer() ? role.getWarps() : 1;
      roles.push_back({&program, name, count});
      processes += count;
      if (program.takesTurns) {
        takesTurns = true;
        warps = count;
        readTurns(program);
      }
    }
  }

  void print(raw_ostream &os) {
    os << "/* The roles of a worker against each other, as dash-opt --dash-emit-promela has read "
          "them. */\n";
    auto define = [&](StringRef name, int64_t value) {
      os << formatv("#define {0} {1}\n", name, value);
    };
    define("SLOTS", layout.slots);
    define("CELLS", layout.cells);
    define("WARPGROUPS", layout.multiplying);
    define("WARPS", warps);
    define("AHEAD", ahead);
    define("SUMS", sums);
    define("PIECES", piecesOfSum);
    define("TAKES_TURNS", takesTurns);
    define("PROCESSES", processes);
    define("END", 32767);
    printReducedWorker(os);
    os << "\n#ifdef GRID\n" << grid << "\n#else\n" << rules;
    os << formatv("\nshort word[{0}];\nhidden short old[16];\n",
                  std::max<int64_t>(layout.words, 1));
    for (const Role &role : roles)
      printRole(os, role.name, *role.program, layout, needed);
    printEngine(os);
    printBegin(os);
    os << "#endif\n";
  }

private:
  /// Determines how many slots the role adds from, and to which sums an item with several parts
  /// adds.
  void readTurns(const RoleProgram &program) {
    SumNumbers numbers(program);
    sums = numbers.size() - 1;
    int64_t pieces = 0;
    for (const Instruction &instruction : program.code) {
      if (instruction.opcode == Opcode::Access && instruction.sum)
        ahead = layout.channels[instruction.place->channel].depth;
      pieces += instruction.is(SumAction::Give) && numbers.of(instruction) > 0;
    }
    piecesOfSum = std::max<int64_t>(pieces / std::max<int64_t>(sums, 1), 1);
  }

  /// A warp takes the turn of a step after it has passed on its last one. It passes the turn on
  /// once the turns of all steps at least `AHEAD` before it are taken: their slots have been read
  /// then.
  void printReducedWorker(raw_ostream &os) {
    os << "\n/* A worker reduced to takes and gives: warp w has every WARPS-th step of the list. "
          "It takes a step's turn when it "
          "has given\n   its last, and gives it when the turns of all steps that are AHEAD or more "
          "before it are taken. */\n"
          "#define UNTAKEN(v) (next[AT(v)] + (holds[AT(v)] -> WARPS : 0))\n"
          "#define MAY_GIVE(v) (UNTAKEN(v) + AHEAD > next[AT(w)])\n"
          "#define EACH_WARP(is) (";
    llvm::interleave(
        llvm::seq(warps), os, [&](int64_t warp) { os << formatv("is({0})", warp); }, " && ");
    os << ")\n";
  }

  /// Copies complete at any time.
  void printEngine(raw_ostream &os) {
    os << "\nproctype engine() {\nend:\n  do\n";
    forEachSlot([&](const ModelLayout::Channel &channel, int64_t slot) {
      int64_t count = channel.cellsOfSlot(layout.rowParts);
      os << formatv("  :: d_step {{ flying[{0}] > 0 -> land({0}, {1}, {2}) }\n",
                    channel.slot + slot, channel.cell + slot * count, count);
    });
    os << "  od\n}\n";
  }

  void printBegin(raw_ostream &os) {
    os << "\ninit {\n  byte item, count;\n  d_step {\n";
    forEachSlot([&](const ModelLayout::Channel &channel, int64_t slot) {
      ChannelOp op = channel.op;
      for (auto [side, count] : llvm::enumerate(*op.getArrivals()))
        os << formatv("    arrivals[{0}] = {1};\n", 2 * (channel.slot + slot) + side, count);
    });
    os << "    begin_model()\n  };\n  choose_list(item, count);\n  atomic {\n";
    for (const Role &role : roles)
      for (int64_t warp = 0; warp < role.processes; ++warp)
        os << formatv("    run {0}({1});\n", role.name, warp);
    os << "#ifdef LANDING\n    run engine();\n#endif\n    run others()\n  }\n}\n";
  }

  void forEachSlot(llvm::function_ref<void(const ModelLayout::Channel &, int64_t)> print) {
    for (const ModelLayout::Channel &channel : layout.channels)
      for (int64_t slot = 0; slot < channel.depth; ++slot)
        print(channel, slot);
  }

  WorkersOp workers;
  ModelLayout layout;
  NeededNumbers needed;
  SmallVector<Role> roles;
  int64_t processes = 0, warps = 1, ahead = 1, sums = 0, piecesOfSum = 1;
  bool takesTurns = false; ///< false also if it keeps contributions apart, or adds without order
};

struct EmitPromela : public dash::impl::EmitPromelaBase<EmitPromela> {
  using EmitPromelaBase::EmitPromelaBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    SmallVector<WorkersOp> all;
    getOperation()->walk([&](WorkersOp workers) { all.push_back(workers); });
    if (all.size() != 1) {
      getOperation()->emitError() << "expected one 'dash.workers' to make a model of, found "
                                  << all.size();
      return signalPassFailure();
    }
    FailureOr<SmallVector<RoleProgram>> programs = readRoles(all.front());
    if (failed(programs))
      return signalPassFailure();
    const RoleProgram *taker = nullptr;
    for (const RoleProgram &program : *programs) {
      RoleOp role = program.role;
      if (program.takesTurns && taker) {
        role.emitError() << "takes turns, and so does role '" << RoleOp(taker->role).getName()
                         << "'; a model has one role that does";
        return signalPassFailure();
      }
      if (!program.takesTurns)
        continue;
      taker = &program;
      WalkResult result = role.walk([](SumAccessInterface op) {
        auto counts = [](const SumAccess &sum) { return sum.action == SumAction::Count; };
        if (llvm::none_of(op.getSumAccesses(), counts))
          return WalkResult::advance();
        op.emitError("is of contributions that are kept apart, in a role that takes turns at other "
                     "sums; a model has turns at all sums or at none");
        return WalkResult::interrupt();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
    Model model(all.front(), *programs);
    std::string text;
    llvm::raw_string_ostream os(text);
    model.print(os);
    if (llvm::Error error = writeFile(output, text)) {
      getOperation()->emitError() << "cannot write the model to '" << output.getValue()
                                  << "': " << llvm::toString(std::move(error));
      return signalPassFailure();
    }
  }
};

} // namespace
