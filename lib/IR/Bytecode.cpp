//===- Bytecode.cpp - attributes that have a binary form ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR writes a dialect's attributes into bytecode as text unless the dialect provides a binary
// form. Tables and bitmaps are the only long ones: as text they would be twice as large, and elided
// ones would come back under another name. An attribute that holds a bitmap is binary too.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashAttrs.h"
#include "dash/IR/DashDialect.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace mlir::dash;

namespace {
/// First number of an attribute in binary form. Numbers are never reused.
enum Code : uint64_t {
  Table = 0,
  Blocks = 1,
  Mask = 2,
  Problem = 3,
  ProblemOfSide = 4,
  CutProblem = 5,
};

struct DashBytecode : public BytecodeDialectInterface {
  explicit DashBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  LogicalResult writeAttribute(Attribute attribute, DialectBytecodeWriter &writer) const override {
    return llvm::TypeSwitch<Attribute, LogicalResult>(attribute)
        .Case<TableAttr, BlocksAttr, MaskAttr, ProblemAttr>(
            [&](auto found) { return write(found, writer); })
        .Default([](Attribute) { return failure(); }); // as text
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    switch (code) {
    case Code::Table:
      return readTable(reader);
    case Code::Blocks:
      return readBlocks(reader);
    case Code::Mask:
      return readMask(reader);
    case Code::Problem:
      return readProblem(reader, /*hasSide=*/false, /*isCut=*/false);
    case Code::ProblemOfSide:
      return readProblem(reader, /*hasSide=*/true, /*isCut=*/false);
    case Code::CutProblem:
      return readProblem(reader, /*hasSide=*/true, /*isCut=*/true);
    }
    reader.emitError() << "expected the code of a dash attribute, 0 to 4, got " << code;
    return {};
  }

private:
  static LogicalResult write(TableAttr table, DialectBytecodeWriter &writer) {
    writer.writeVarInt(Code::Table);
    writer.writeAttribute(table.getItems());
    writer.writeAttribute(table.getVisits());
    return success();
  }

  static LogicalResult write(BlocksAttr blocks, DialectBytecodeWriter &writer) {
    writer.writeVarInt(Code::Blocks);
    writer.writeSignedVarInt(blocks.getQ());
    writer.writeSignedVarInt(blocks.getKv());
    writer.writeAttribute(blocks.getBits());
    return success();
  }

  static LogicalResult write(MaskAttr mask, DialectBytecodeWriter &writer) {
    if (mask.getRules().empty())
      return failure();
    writer.writeVarInt(Code::Mask);
    writer.writeSignedVarInt(mask.getLeft());
    writer.writeSignedVarInt(mask.getRight());
    writer.writeAttributes(mask.getRules());
    return success();
  }

  static LogicalResult write(ProblemAttr problem, DialectBytecodeWriter &writer) {
    if (problem.getMask().getRules().empty())
      return failure();
    // Items that own kv tiles and have chains keep the form that they had before there were others.
    bool hasSide = !problem.hasChains(), isCut = problem.getCut() > 0;
    writer.writeVarInt(isCut ? Code::CutProblem : hasSide ? Code::ProblemOfSide : Code::Problem);
    writer.writeAttribute(problem.getTiles());
    writer.writeAttribute(problem.getMask());
    for (int64_t number :
         {problem.getHeads(), problem.getKvHeads(), problem.getHeadDim(), problem.getHeadDimV()})
      writer.writeSignedVarInt(number);
    writer.writeAttribute(problem.getSequences());
    if (hasSide)
      writer.writeVarInt(uint64_t(problem.getOwn()));
    if (isCut)
      writer.writeSignedVarInt(problem.getCut());
    return success();
  }

  template <typename T, typename... Fields>
  Attribute make(DialectBytecodeReader &reader, Fields... fields) const {
    auto emitHere = [&] { return reader.emitError(); };
    function_ref<InFlightDiagnostic()> emitError = emitHere;
    return T::getChecked(emitError, getContext(), fields...);
  }

  Attribute readTable(DialectBytecodeReader &reader) const {
    ElementsAttr items, visits;
    if (failed(reader.readAttribute(items)) || failed(reader.readAttribute(visits)))
      return {};
    return make<TableAttr>(reader, items, visits);
  }

  Attribute readBlocks(DialectBytecodeReader &reader) const {
    int64_t q, kv;
    ElementsAttr bits;
    if (failed(reader.readSignedVarInt(q)) || failed(reader.readSignedVarInt(kv)) ||
        failed(reader.readAttribute(bits)))
      return {};
    return make<BlocksAttr>(reader, q, kv, bits);
  }

  Attribute readMask(DialectBytecodeReader &reader) const {
    int64_t left, right;
    uint64_t count;
    if (failed(reader.readSignedVarInt(left)) || failed(reader.readSignedVarInt(right)) ||
        failed(reader.readVarInt(count)))
      return {};
    // Read one by one: `readAttributes` reserves room for as many as the input claims.
    SmallVector<MaskRule> rules;
    for (uint64_t i = 0; i < count; ++i)
      if (failed(reader.readAttribute(rules.emplace_back())))
        return {};
    return make<MaskAttr>(reader, left, right, ArrayRef<MaskRule>(rules));
  }

  Attribute readProblem(DialectBytecodeReader &reader, bool hasSide, bool isCut) const {
    TilesAttr tiles;
    MaskAttr mask;
    int64_t numbers[4], cut = 0;
    SequencesAttr sequences;
    if (failed(reader.readAttribute(tiles)) || failed(reader.readAttribute(mask)))
      return {};
    for (int64_t &number : numbers)
      if (failed(reader.readSignedVarInt(number)))
        return {};
    if (failed(reader.readAttribute(sequences)))
      return {};
    TensorSide own = TensorSide::KV;
    bool chains = true;
    if (hasSide) {
      uint64_t word;
      if (failed(reader.readVarInt(word)))
        return {};
      std::optional<TensorSide> side = symbolizeTensorSide(uint32_t(word));
      if (!side || word > std::numeric_limits<uint32_t>::max())
        return reader.emitError() << "expected the side that items own, 0 or 1, got " << word,
               Attribute();
      own = *side;
      chains = own == TensorSide::Q; // kv with a side: without chains
    }
    if (isCut && failed(reader.readSignedVarInt(cut)))
      return {};
    return make<ProblemAttr>(reader, tiles, mask, numbers[0], numbers[1], numbers[2], numbers[3],
                             sequences, own, chains, cut);
  }
};
} // namespace

void DashDialect::registerBytecode() { addInterfaces<DashBytecode>(); }
