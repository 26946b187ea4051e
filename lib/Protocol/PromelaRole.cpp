//===- PromelaRole.cpp - a role as a Promela process ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PromelaModel.h"
#include "dash/IR/Consumers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

namespace {

class RolePrinter {
public:
  RolePrinter(raw_ostream &os, StringRef name, const RoleProgram &program,
              const ModelLayout &layout, const NeededNumbers &needed)
      : os(os), name(name), program(program), layout(layout), needed(needed), sums(program),
        definitions(program.registers.size()), isVariable(program.registers.size()) {
    for (const Instruction &instruction : program.code)
      for (unsigned out : instruction.out) {
        isVariable[out] = definitions[out] || !isPure(instruction.opcode);
        definitions[out] = &instruction;
      }
  }

  void print();

private:
  /// The state of a step while it is printed.
  struct Step {
    size_t begin;
    bool isNumbers;          ///< it only computes numbers
    bool isReleased = false; ///< other processes may already continue
  };
  void printFrom(size_t at, Step step, unsigned indent);
  void printStep(size_t begin);
  void printNumbers();
  void printIf(StringRef condition, size_t then, size_t otherwise, Step step, unsigned indent);
  void printCopies(const Instruction &instruction, unsigned indent);
  bool has(llvm::function_ref<bool(const Instruction &)> is) const {
    return llvm::any_of(program.code, is);
  }
  bool has(SyncKind kind) const {
    return has([&](const Instruction &one) { return one.is(kind); });
  }
  bool addsToSums() const {
    return has([](const Instruction &one) { return one.opcode == Opcode::Access && one.sum; });
  }
  std::string effectOf(const Instruction &instruction);
  std::string effectOfSync(const Instruction &instruction);
  std::string effectOfAccess(const Instruction &instruction);
  std::string effectOnIndices(const Instruction &instruction);
  std::string effectOnList(const Instruction &instruction);
  std::string waitedFor(const Instruction &instruction);

  bool blocks(const Instruction &instruction) const {
    return instruction.is(SyncKind::WaitForSlot) || instruction.is(SumAction::Take) ||
           (instruction.is(SyncKind::TakeTensorCore) && warpgroups() > 1);
  }

  std::string number(unsigned reg) const;
  std::string in(const Instruction &instruction, size_t i) const {
    return number(instruction.in[i]);
  }
  std::string slot(const SlotPlace &place) const;
  std::string barrier(const SlotPlace &place, BarrierSide side) const;
  /// First cell and count, as arguments: of the element, or of its whole slot.
  std::string cells(const SlotPlace &place, bool isSlot = false) const;
  std::string word(const SlotPlace &place, size_t index) const;
  /// Sum, sequence, head and tile, as arguments.
  std::string tile(const Instruction &instruction) const {
    return formatv("{0}, {1}, {2}, {3}", sums.of(instruction), number(instruction.memory[0]),
                   number(instruction.memory[1]), number(instruction.memory[2]));
  }
  int64_t warpgroup() const { return RoleOp(program.role).getWarpgroup().value_or(0); }
  int64_t warpgroups() const { return RoleOp(program.role).getWarpgroups().value_or(1); }
  /// The number of a warpgroup of this consumer among those of all.
  int64_t multiplying(int64_t warpgroup) const {
    return getFirstMultiplying(program.role) + warpgroup;
  }
  raw_ostream &line(unsigned indent) { return os.indent(2 * indent); }

  raw_ostream &os;
  StringRef name;
  const RoleProgram &program;
  const ModelLayout &layout;
  const NeededNumbers &needed;
  const SumNumbers sums;
  std::vector<const Instruction *> definitions; ///< the last definition of each register
  /// needs a variable: it is not just an expression of other registers
  std::vector<bool> isVariable;
  SmallVector<size_t> stops = {0}; ///< in order of discovery
};

} // namespace

/// An expression. Values belong to an iteration, and so do the variables they are made of.
std::string RolePrinter::number(unsigned reg) const {
  const Instruction *definition = definitions[reg];
  if (!definition)
    return std::to_string(program.registers[reg]);
  if (isVariable[reg])
    return "v" + std::to_string(reg);
  auto binary = [&](StringRef sign) {
    return formatv("({0} {1} {2})", in(*definition, 0), sign, in(*definition, 1)).str();
  };
  switch (definition->opcode) {
  case Opcode::Add:
    return binary("+");
  case Opcode::Subtract:
    return binary("-");
  case Opcode::Multiply:
    return binary("*");
  case Opcode::Divide:
    return binary("/");
  case Opcode::Remainder:
    return binary("%");
  case Opcode::Select:
    return formatv("({0} -> {1} : {2})", in(*definition, 0), in(*definition, 1),
                   in(*definition, 2));
  case Opcode::VisibleSteps: {
    HiddenSteps hidden = HiddenSteps::of(*definition);
    return formatv("({0} > {1} && {2} < {0} % {3} -> {0} - {1} : {0})", in(*definition, 0),
                   hidden.most, hidden.warpgroup, hidden.warpgroups);
  }
  case Opcode::Compare:
    switch (cast<arith::CmpIOp>(definition->op).getPredicate()) {
    case arith::CmpIPredicate::eq:
      return binary("==");
    case arith::CmpIPredicate::ne:
      return binary("!=");
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::ult:
      return binary("<");
    case arith::CmpIPredicate::sle:
    case arith::CmpIPredicate::ule:
      return binary("<=");
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::ugt:
      return binary(">");
    case arith::CmpIPredicate::sge:
    case arith::CmpIPredicate::uge:
      return binary(">=");
    }
    llvm_unreachable("a predicate of integers");
  default: { // of a ring
    auto ring = cast<RingOp>(definition->op);
    auto channel = ring.getChannel().getDefiningOp<ChannelOp>();
    StringRef form = definition->out[0] == reg ? "({0} % {1})" : "(({0} / {1}) % 2)";
    return formatv(false, form.data(), in(*definition, 0), channel.getDepth());
  }
  }
}

std::string RolePrinter::slot(const SlotPlace &place) const {
  const ModelLayout::Channel &channel = layout.channels[place.channel];
  if (channel.depth == 1)
    return std::to_string(channel.slot);
  return formatv("{0} + {1} % {2}", channel.slot, number(place.use), channel.depth);
}

std::string RolePrinter::barrier(const SlotPlace &place, BarrierSide side) const {
  return formatv("2 * ({0}) + {1}", slot(place), int64_t(side));
}

std::string RolePrinter::cells(const SlotPlace &place, bool isSlot) const {
  const ModelLayout::Channel &channel = layout.channels[place.channel];
  int64_t all = channel.cellsOfSlot(layout.rowParts), first = channel.cell, count = all;
  if (!isSlot) {
    count = layout.rowParts / (place.isWhole ? 1 : warpgroups());
    first += place.element * layout.rowParts + (place.isWhole ? 0 : warpgroup() * count);
  }
  if (channel.depth == 1)
    return formatv("{0}, {1}", first, count);
  return formatv("{0} + {1} % {2} * {3}, {4}", first, number(place.use), channel.depth, all, count);
}

std::string RolePrinter::word(const SlotPlace &place, size_t index) const {
  const ModelLayout::Channel &channel = layout.channels[place.channel];
  ChannelOp op = channel.op;
  return formatv("word[{0} + {1} % {2} * {3}]", channel.word + index, number(place.use),
                 channel.depth, op.getType().getNumIndices());
}

std::string RolePrinter::waitedFor(const Instruction &instruction) {
  if (instruction.is(SyncKind::TakeTensorCore))
    return formatv("given[{0}]", multiplying(warpgroup()));
  if (instruction.is(SumAction::Take))
    return formatv("!refused[warp] && COMES(TILE({0}), {1})", tile(instruction),
                   in(instruction, 0));
  bool isFull = instruction.sync->side == BarrierSide::Full;
  return formatv("{0}({1}, {2})", isFull ? "FULL" : "EMPTY", slot(*instruction.place),
                 in(instruction, 0));
}

std::string RolePrinter::effectOnList(const Instruction &instruction) {
  auto give = [&](ArrayRef<std::string> values) {
    std::string text;
    for (auto [target, value] : llvm::zip_equal(instruction.out, values))
      if (needed.isRegister(program, target))
        text += formatv("v{0} = {1}; ", target, value);
    return StringRef(text).rtrim("; ").str();
  };
  if (instruction.opcode == Opcode::NumItems)
    return give({"ITEMS"});
  if (instruction.opcode == Opcode::WarpOfRole)
    return give({"warp"});
  // The address of an item's first visit is the item's number.
  std::string item = in(instruction, 0);
  if (instruction.opcode == Opcode::ReadItem) {
    std::string given = give({"SEQUENCE(" + item + ")", "0", "KV_TILE(" + item + ")", "0", item,
                              "VISITS(" + item + ")", "ROUNDS(" + item + ")"});
    return given.empty() ? "skip" : given;
  }
  if (instruction.opcode == Opcode::ReadPart) {
    std::string given = give({"found_turn", "found_last"});
    return formatv("find_part({0}){1}", item, given.empty() ? given : "; " + given);
  }
  std::string found = give({in(instruction, 2) + " + " + in(instruction, 3), in(instruction, 1),
                            "found_turn", "found_last"});
  return formatv("find_visit({0}, {1}, {2}){3}", item, in(instruction, 1), in(instruction, 3),
                 found.empty() ? found : "; " + found);
}

/// Indices that are written or found. Indices that are read again are already known.
std::string RolePrinter::effectOnIndices(const Instruction &instruction) {
  const SlotPlace &place = *instruction.place;
  std::string text;
  for (const SlotIndex &index : instruction.access->indices) {
    if (index.isTold)
      continue;
    bool isWrite = instruction.access->kind == AccessKind::Write;
    if (isWrite && needed.isWord(layout.wordOf(place, index.number)))
      text += formatv("; {0} = {1}", word(place, index.number), in(instruction, index.number));
    if (!isWrite && needed.isRegister(program, instruction.out[index.number]))
      text += formatv("; v{0} = {1}", instruction.out[index.number], word(place, index.number));
  }
  return text;
}

std::string RolePrinter::effectOfAccess(const Instruction &instruction) {
  const SlotPlace &place = *instruction.place;
  const SlotAccess &access = *instruction.access;
  std::string use = (access.isBorrowed() ? "OUTPUT + " : "") + number(place.use);
  std::string where = cells(place);
  if (access.kind == AccessKind::Write && access.by == AccessAgent::CopyEngine) {
    ChannelOp channel = layout.channels[place.channel].op;
    return formatv("copy({0}, {1}, {2}, {3})", slot(place),
                   channel.getType().getElementBytes(place.element), where, use);
  }
  if (access.kind == AccessKind::Write)
    return formatv("put({0}, {1}){2}", where, use, effectOnIndices(instruction));
  if (access.by == AccessAgent::Threads)
    return formatv("get({0}, {1} + 1){2}", where, use, effectOnIndices(instruction));
  StringRef queue = access.by == AccessAgent::TensorCore ? "products" : "copies";
  std::string text = formatv("begin({0}, {1}, {2} + 1)", queue, where, use);
  if (program.takesTurns && instruction.sum && !instruction.is(SumAction::Keep))
    text += formatv("; add(warp, {0}, {1}, sums)", tile(instruction),
                    instruction.is(SumAction::Store) ? 1 : 0);
  return text;
}

std::string RolePrinter::effectOfSync(const Instruction &instruction) {
  const Sync &sync = *instruction.sync;
  switch (sync.kind) {
  case SyncKind::WaitForSlot:
    if (sync.side == BarrierSide::Empty)
      return "";
    return formatv("see({0}, {1}, {2})", slot(*instruction.place), in(instruction, 0),
                   cells(*instruction.place, /*isSlot=*/true));
  case SyncKind::Arrive:
    return formatv("arrive({0}, {1})", barrier(*instruction.place, sync.side),
                   countArrivals(program.role, sync));
  case SyncKind::Expect:
    return formatv("expect({0}, {1})", barrier(*instruction.place, sync.side), sync.bytes);
  case SyncKind::IssueProduct:
    return "commit(products, issued)";
  case SyncKind::WaitForProducts:
    return formatv("finish(products, issued, {0})", sync.pending);
  case SyncKind::CommitCopies:
    return std::string("commit(copies, committed)") +
           (addsToSums() ? "; commit(sums, summed)" : "");
  case SyncKind::WaitForCopies: {
    std::string text = formatv("finish(copies, committed, {0})", sync.pending);
    bool lands = addsToSums() && !sync.isOnlyRead;
    return lands ? text + formatv("; land_sums(sums, summed, {0})", sync.pending).str() : text;
  }
  case SyncKind::TakeTensorCore:
    return warpgroups() > 1 ? formatv("given[{0}] = 0", multiplying(warpgroup())).str() : "";
  case SyncKind::GiveTensorCore: {
    if (warpgroups() == 1)
      return "";
    int64_t next = multiplying((warpgroup() + 1) % warpgroups());
    return formatv("assert(!given[{0}] || tensor_core_given_twice); given[{0}] = 1", next);
  }
  case SyncKind::FenceShared: // ignored: RoleProgram.cpp
  case SyncKind::FenceGlobal:
  case SyncKind::MeetWarpgroup:
    return "";
  }
  llvm_unreachable("a kind of synchronisation");
}

std::string RolePrinter::effectOf(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::ComputeTile: // tiles have no values here
    return "";
  case Opcode::Access:
    return effectOfAccess(instruction);
  case Opcode::Synchronize:
    return effectOfSync(instruction);
  case Opcode::Turn:
    return formatv("{0}(warp, {1}, {2})", instruction.is(SumAction::Take) ? "take" : "give",
                   tile(instruction), in(instruction, 0));
  default:
    return effectOnList(instruction);
  }
}

/// Copies all values at once: a loop may exchange the values it carries.
void RolePrinter::printCopies(const Instruction &instruction, unsigned indent) {
  SmallVector<std::pair<unsigned, std::string>> copies;
  for (auto [source, target] : llvm::zip_equal(instruction.in, instruction.out))
    if (needed.isRegister(program, target))
      copies.push_back({target, number(source)});
  bool exchanges = false;
  for (size_t i = 1; i < copies.size(); ++i)
    exchanges |= copies[i].second.find('v') != std::string::npos;
  for (auto [i, copy] : llvm::enumerate(copies))
    line(indent) << (exchanges ? formatv("old[{0}] = {1};\n", i, copy.second).str()
                               : formatv("v{0} = {1};\n", copy.first, copy.second).str());
  for (size_t i = 0; exchanges && i < copies.size(); ++i)
    line(indent) << formatv("v{0} = old[{1}];\n", copies[i].first, i);
}

void RolePrinter::printIf(StringRef condition, size_t then, size_t otherwise, Step step,
                          unsigned indent) {
  line(indent) << "if\n";
  line(indent) << ":: " << condition << " ->\n";
  printFrom(then, step, indent + 1);
  line(indent) << ":: else ->\n";
  printFrom(otherwise, step, indent + 1);
  line(indent) << "fi;\n";
}

/// Prints the program from here to the next point that other processes can observe: before a wait,
/// and after a signal.
void RolePrinter::printFrom(size_t at, Step step, unsigned indent) {
  for (; at < program.code.size(); ++at) {
    const Instruction &instruction = program.code[at];
    Opcode opcode = instruction.opcode;
    bool isNumber = isPure(opcode) || opcode <= Opcode::WarpOfRole;
    bool isRelease = instruction.is(SyncKind::Arrive) || instruction.is(SyncKind::GiveTensorCore) ||
                     instruction.is(SumAction::Give);
    bool isHead = opcode == Opcode::JumpAtEnd && at != step.begin;
    if ((blocks(instruction) && at != step.begin) ||
        (!isNumber && (step.isNumbers || (step.isReleased && !isRelease)))) {
      if (!llvm::is_contained(stops, at))
        stops.push_back(at);
      line(indent) << formatv("at = {0};\n", at);
      return;
    }
    if (isHead) {
      line(indent) << formatv("at = {0};\n", at);
      if (!step.isNumbers)
        line(indent) << name << "_numbers();\n";
      return;
    }
    step.isReleased |= isRelease;
    if (opcode == Opcode::Jump) {
      at = instruction.target - 1;
    } else if (opcode == Opcode::JumpIfZero) {
      return printIf(in(instruction, 0), at + 1, instruction.target, step, indent);
    } else if (opcode == Opcode::JumpAtEnd) {
      return printIf(in(instruction, 0) + " < " + in(instruction, 1), at + 1, instruction.target,
                     step, indent);
    } else if (opcode == Opcode::Copy) {
      printCopies(instruction, indent);
    } else if (isPure(opcode)) {
      unsigned target = instruction.out.front();
      if (opcode == Opcode::Add && isVariable[target] && needed.isRegister(program, target))
        line(indent) << formatv("v{0} = {1} + {2};\n", target, in(instruction, 0),
                                in(instruction, 1));
    } else if (std::string effect = effectOf(instruction); !effect.empty()) {
      line(indent) << effect << "; /* " << instruction.op->getName() << " */\n";
    }
  }
  line(indent) << "at = END; done();\n";
}

/// Prints the numbers from the head of a loop to the next head, as part of the step that arrives
/// there.
void RolePrinter::printNumbers() {
  os << "\ninline " << name << "_numbers() {\n";
  line(1) << "do\n";
  for (auto [at, instruction] : llvm::enumerate(program.code))
    if (instruction.opcode == Opcode::JumpAtEnd) {
      line(1) << formatv(":: at == {0} ->\n", at);
      printFrom(at, {at, /*isNumbers=*/true}, 2);
    }
  line(1) << ":: else -> break\n";
  line(1) << "od;\n";
  line(1) << "skip\n}\n"; // a break must not leave the step
}

void RolePrinter::printStep(size_t begin) {
  const Instruction *first = begin < program.code.size() ? &program.code[begin] : nullptr;
  line(1) << ":: d_step {\n";
  line(3) << "at == " << begin;
  if (first && blocks(*first))
    os << " && " << waitedFor(*first);
  os << " ->";
  if (first && first->is(SyncKind::WaitForSlot))
    os << " /* " << first->op->getName() << " */";
  os << "\n";
  printFrom(begin, {begin, /*isNumbers=*/false}, 3);
  line(2) << "}\n";
  if (first && first->is(SumAction::Take)) {
    line(1) << formatv(":: d_step {{ at == {0} && !refused[warp] -> refused[warp] = 1; refusals++; "
                       "assert(counter[TILE({1})] <= {2} || turn_is_over) }\n",
                       begin, tile(*first), in(*first, 0));
  }
}

void RolePrinter::print() {
  printNumbers();
  os << formatv("\nproctype {0}(byte warp) {{\n", name);
  auto queue = [&](bool isUsed, StringRef queue, StringRef groups) {
    if (isUsed)
      line(1) << formatv("chan {0} = [16] of {{byte, byte}; byte {1};\n", queue, groups);
  };
  queue(has(SyncKind::IssueProduct), "products", "issued");
  queue(has(SyncKind::CommitCopies), "copies", "committed");
  queue(addsToSums(), "sums", "summed");
  line(1) << "short at";
  for (size_t i = 0; i < isVariable.size(); ++i)
    if (isVariable[i] && needed.isRegister(program, i))
      os << ", v" << i;
  os << ";\n";
  line(1) << "do\n";
  for (size_t i = 0; i < stops.size(); ++i) // printing steps adds stops
    printStep(stops[i]);
  line(1) << ":: at == END -> break\n";
  line(1) << "od\n}\n";
}

void dash::printRole(raw_ostream &os, StringRef name, const RoleProgram &program,
                     const ModelLayout &layout, const NeededNumbers &needed) {
  RolePrinter(os, name, program, layout, needed).print();
}
