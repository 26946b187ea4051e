//===- PromelaRole.cpp - a role as a process of Promela -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PromelaModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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
  /// How far a step has come.
  struct Step {
    size_t begin;
    bool isNumbers;          ///< it only computes
    bool isReleased = false; ///< others may go on already
  };
  void printFrom(size_t at, Step step, unsigned indent);
  void printStep(size_t begin);
  void printNumbers();
  void printIf(StringRef condition, size_t then, size_t otherwise, Step step, unsigned indent);
  void printCopies(const Instruction &instruction, unsigned indent);
  bool has(Opcode opcode) const {
    return llvm::any_of(program.code, [&](const Instruction &one) { return one.opcode == opcode; });
  }
  std::string effectOf(const Instruction &instruction);
  std::string effectOnSlot(const Instruction &instruction);
  std::string effectOnList(const Instruction &instruction);
  std::string waitedFor(const Instruction &instruction);

  bool blocks(const Instruction &instruction) const {
    return instruction.opcode == Opcode::Wait || instruction.opcode == Opcode::AcquireTurn ||
           (instruction.opcode == Opcode::TakeTensorCore && layout.warpgroups > 1);
  }

  std::string number(unsigned reg) const;
  std::string in(const Instruction &instruction, size_t i) const {
    return number(instruction.in[i]);
  }
  std::string slot(const SlotPlace &place) const;
  std::string barrier(const SlotPlace &place, BarrierSide side) const;
  /// First cell and count, as arguments: of the place, or of its slot.
  std::string cells(const SlotPlace &place, bool isSlot = false) const;
  std::string word(const SlotPlace &place, size_t index) const;
  /// Sum, sequence, head and tile, as arguments.
  std::string tile(const Instruction &instruction) const {
    return formatv("{0}, {1}, {2}, {3}", sums.of(instruction), in(instruction, 0),
                   in(instruction, 1), in(instruction, 2));
  }
  int64_t warpgroup() const { return RoleOp(program.role).getWarpgroup().value_or(0); }
  raw_ostream &line(unsigned indent) { return os.indent(2 * indent); }

  raw_ostream &os;
  StringRef name;
  const RoleProgram &program;
  const ModelLayout &layout;
  const NeededNumbers &needed;
  const SumNumbers sums;
  std::vector<const Instruction *> definitions; ///< the last of each register
  std::vector<bool> isVariable;                 ///< more than an expression of others
  SmallVector<size_t> stops = {0};              ///< in the order in which they are found
};

} // namespace

/// An expression. Values are of their iteration, and so are the variables that it is made of.
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
  RoleOp role = program.role;
  int64_t all = channel.cellsOfSlot(layout.warpgroups), first = channel.cell, count = all;
  if (!isSlot) {
    bool isOwn = !place.isWhole && role.getWarpgroup();
    first += place.element * layout.warpgroups + (isOwn ? warpgroup() : 0);
    count = isOwn ? 1 : layout.warpgroups;
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
  if (instruction.opcode == Opcode::TakeTensorCore)
    return formatv("given[{0}]", warpgroup());
  if (instruction.opcode == Opcode::AcquireTurn)
    return formatv("!refused[warp] && COMES(TILE({0}), {1})", tile(instruction),
                   in(instruction, 3));
  bool isFull = cast<MbarrierWaitOp>(instruction.op).getSide() == BarrierSide::Full;
  return formatv("{0}({1}, {2})", isFull ? "FULL" : "EMPTY", slot(instruction.places.front()),
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

std::string RolePrinter::effectOnSlot(const Instruction &instruction) {
  const SlotPlace &place = instruction.places.front();
  std::string use = number(place.use), where = cells(place);
  RoleOp role = program.role;
  switch (instruction.opcode) {
  case Opcode::Arrive: {
    auto op = cast<MbarrierArriveOp>(instruction.op);
    int64_t lanes = op.getScope() == ArriveScope::Warp ? 1 : 32;
    return formatv("arrive({0}, {1})", barrier(place, op.getSide()),
                   role.isConsumer() ? lanes * int64_t(role.getWarps()) : 1);
  }
  case Opcode::Expect:
    return formatv("expect({0}, {1})", barrier(place, BarrierSide::Full),
                   cast<MbarrierExpectOp>(instruction.op).getBytes());
  case Opcode::CopyIn: {
    ChannelOp channel = layout.channels[place.channel].op;
    return formatv("copy({0}, {1}, {2}, {3})", slot(place),
                   channel.getType().getElementBytes(place.element), where, use);
  }
  case Opcode::StoreFragment: {
    bool leaves = cast<StoreFragmentOp>(instruction.op).getPiece().has_value();
    return formatv("put({0}, {1}{2})", where, leaves ? "OUTPUT + " : "", use);
  }
  case Opcode::WriteIndices: {
    std::string text = formatv("put({0}, {1})", where, use);
    for (auto [i, source] : llvm::enumerate(instruction.in))
      if (needed.isWord(layout.wordOf(place, i)))
        text += formatv("; {0} = {1}", word(place, i), number(source));
    return text;
  }
  case Opcode::ReadIndices: {
    std::string text = formatv("get({0}, {1} + 1)", where, use);
    for (auto [i, target] : llvm::enumerate(instruction.out))
      if (needed.isRegister(program, target))
        text += formatv("; v{0} = {1}", target, word(place, i));
    return text;
  }
  case Opcode::CopyOut:
    return formatv("begin(copies, {0}, OUTPUT + {1} + 1); commit(copies, committed)", where, use);
  default:
    return formatv("get({0}, {1} + 1)", where, use);
  }
}

std::string RolePrinter::effectOf(const Instruction &instruction) {
  switch (instruction.opcode) {
  case Opcode::ComputeTile: // no tile has a value here
    return "";
  case Opcode::NumItems:
  case Opcode::ReadItem:
  case Opcode::ReadPart:
  case Opcode::ReadVisit:
  case Opcode::WarpOfRole:
    return effectOnList(instruction);
  case Opcode::Wait:
    if (cast<MbarrierWaitOp>(instruction.op).getSide() == BarrierSide::Empty)
      return "";
    return formatv("see({0}, {1}, {2})", slot(instruction.places.front()), in(instruction, 0),
                   cells(instruction.places.front(), /*isSlot=*/true));
  case Opcode::Issue: {
    std::string text;
    for (const SlotPlace &place : instruction.places)
      text += formatv("begin(products, {0}, {1} + 1); ", cells(place), number(place.use));
    return text + "commit(products, issued)";
  }
  case Opcode::WaitProducts:
    return formatv("finish(products, issued, {0})", cast<WgmmaWaitOp>(instruction.op).getPending());
  case Opcode::TakeTensorCore:
    return layout.warpgroups > 1 ? formatv("given[{0}] = 0", warpgroup()).str() : "";
  case Opcode::GiveTensorCore: {
    if (layout.warpgroups == 1)
      return "";
    int64_t next = (warpgroup() + 1) % layout.warpgroups;
    return formatv("assert(!given[{0}] || tensor_core_given_twice); given[{0}] = 1", next);
  }
  case Opcode::AcquireTurn:
    return formatv("take(warp, {0}, {1})", tile(instruction), in(instruction, 3));
  case Opcode::ReleaseTurn:
    return formatv("give(warp, {0}, {1})", tile(instruction), in(instruction, 3));
  case Opcode::AddTile: {
    const SlotPlace &place = instruction.places.front();
    std::string text = formatv("begin(copies, {0}, {1} + 1)", cells(place), number(place.use));
    auto store = dyn_cast<BulkStoreOp>(instruction.op);
    bool isKept = store && store.getTurn();
    if (program.takesTurns && !isKept)
      text += formatv("; add(warp, {0}, {1}, sums)", tile(instruction), store ? 1 : 0);
    return text;
  }
  case Opcode::CommitCopies:
    return "commit(copies, committed); commit(sums, summed)";
  case Opcode::WaitCopies: {
    auto op = cast<NVVM::CpAsyncBulkWaitGroupOp>(instruction.op);
    std::string text = formatv("finish(copies, committed, {0})", op.getGroup());
    bool lands = has(Opcode::CommitCopies) && !op.getRead();
    return lands ? text + formatv("; land_sums(sums, summed, {0})", op.getGroup()).str() : text;
  }
  default:
    return effectOnSlot(instruction);
  }
}

/// All at once: a loop may exchange what it carries.
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

/// The program from this place on, up to where others may come in between: in front of a wait, and behind what they wait for.
void RolePrinter::printFrom(size_t at, Step step, unsigned indent) {
  for (; at < program.code.size(); ++at) {
    const Instruction &instruction = program.code[at];
    Opcode opcode = instruction.opcode;
    bool isNumber = isPure(opcode) || opcode <= Opcode::WarpOfRole;
    bool isRelease = opcode == Opcode::Arrive || opcode == Opcode::GiveTensorCore ||
                     opcode == Opcode::ReleaseTurn;
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

/// From the head of a loop to the next, as part of the step that has come there.
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
  if (first && first->opcode == Opcode::Wait)
    os << " /* " << first->op->getName() << " */";
  os << "\n";
  printFrom(begin, {begin, /*isNumbers=*/false}, 3);
  line(2) << "}\n";
  if (first && first->opcode == Opcode::AcquireTurn) {
    line(1) << formatv(
        ":: d_step {{ at == {0} && !refused[warp] -> refused[warp] = 1; refusals++ }\n", begin);
  }
}

void RolePrinter::print() {
  printNumbers();
  os << formatv("\nproctype {0}(byte warp) {{\n", name);
  auto queue = [&](bool isUsed, StringRef queue, StringRef groups) {
    if (isUsed)
      line(1) << formatv("chan {0} = [16] of {{byte, byte}; byte {1};\n", queue, groups);
  };
  queue(has(Opcode::Issue), "products", "issued");
  queue(has(Opcode::CommitCopies) || has(Opcode::CopyOut), "copies", "committed");
  queue(has(Opcode::CommitCopies), "sums", "summed");
  line(1) << "short at";
  for (size_t i = 0; i < isVariable.size(); ++i)
    if (isVariable[i] && needed.isRegister(program, i))
      os << ", v" << i;
  os << ";\n";
  line(1) << "do\n";
  for (size_t i = 0; i < stops.size(); ++i) // steps find stops
    printStep(stops[i]);
  line(1) << ":: at == END -> break\n";
  line(1) << "od\n}\n";
}

void dash::printRole(raw_ostream &os, StringRef name, const RoleProgram &program,
                     const ModelLayout &layout, const NeededNumbers &needed) {
  RolePrinter(os, name, program, layout, needed).print();
}
