//===- DescribeProgram.cpp - a program as launchers see it ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions are of sizes (batch, heads, kv_heads, q_rows, kv_rows), derived sizes and workers.
//
//===----------------------------------------------------------------------===//

#include "DescribeProgram.h"
#include "OrderBuffer.h"
#include "dash/Lowering/ProgramAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;
using llvm::formatv;

/// Row counts beyond which an index of an order buffer's words might not fit 32 bits.
constexpr int64_t maxKernelRows = int64_t(1) << 21;
constexpr int64_t maxKernelHeads = (int64_t(1) << 16) - 1;

namespace {

class Describer {
public:
  Describer(StringRef name, const ProgramTensors &tensors, const Schedule &schedule,
            const ScheduleFacts &facts, int64_t numOrderWords)
      : name(name), tensors(tensors), schedule(schedule), problem(schedule.problem), facts(facts),
        numOrderWords(numOrderWords), b(tensors.tensors.front().getContext()) {}

  DictionaryAttr describe() {
    return dictionary({{programNameKey, text(name)},
                       {programFactsKey, describeFacts()},
                       {programSizesKey, describeSizes()},
                       {programConstraintsKey, describeConstraints()},
                       {programDerivedKey, describeDerived()},
                       {programTensorsKey, describeTensors()},
                       {programWorkspaceKey, describeWorkspace()},
                       {programOrderKey, describeOrder()}});
  }

private:
  using Entry = std::pair<StringRef, Attribute>;
  DictionaryAttr dictionary(ArrayRef<Entry> entries) {
    SmallVector<NamedAttribute> attributes;
    for (auto [key, value] : entries)
      attributes.push_back(b.getNamedAttr(key, value));
    return b.getDictionaryAttr(attributes);
  }
  Attribute text(const Twine &string) { return b.getStringAttr(string); }
  Attribute number(int64_t value) { return b.getI64IntegerAttr(value); }
  bool isTable() const { return schedule.isTable(); }

  Attribute describeFacts() {
    bool isOrdered = schedule.kind != "unordered";
    // Formulas are proven for the sizes that the schedule states and serve all: there every worker may
    // have to wait for every other.
    int64_t minWorkers = isTable() ? facts.minWorkers : !isOrdered ? 1 : schedule.workers;
    return dictionary({{factElementKey, text("bf16")},
                       {factHeadDimKey, number(problem.headDim)},
                       {factHeadDimVKey, number(problem.headDimV)},
                       {factMaskKey, text(problem.mask.isCausal() ? "causal" : "full")},
                       {factTilesKey, dictionary({{"q", number(problem.tiles.q)},
                                                  {"kv", number(problem.tiles.kv)}})},
                       {factKindKey, text(schedule.kind)},
                       {factLevelKey, text(stringifyDeterminismLevel(schedule.level))},
                       {factDeterministicKey, b.getBoolAttr(isOrdered)},
                       {factPartsKey, number(schedule.parts)},
                       {factWorkersKey, number(schedule.workers)},
                       {factWidthKey, number(schedule.width)},
                       {factMinWorkersKey, number(minWorkers)}});
  }

  /// The size that a dimension of the tensors' types states, or -1.
  int64_t statedSize(bool isOfKeyValue, bool isOfBoth, unsigned dim) {
    for (auto [role, argument] : llvm::zip_equal(tensorRoles(), tensors.tensors))
      if (auto type = cast<MemRefType>(argument.getType());
          (isOfBoth || role.isKeyValue == isOfKeyValue) && !type.isDynamicDim(dim))
        return type.getDimSize(dim);
    return -1;
  }

  Attribute describeSizes() {
    auto describe = [&](int64_t stated, int64_t tableSize, int64_t max) {
      if (isTable())
        stated = tableSize;
      return stated >= 0 ? dictionary({{"value", number(stated)}})
                         : dictionary({{"min", number(1)}, {"max", number(max)}});
    };
    const SequenceLengths &rows = problem.sequences.front();
    return dictionary(
        {{"batch", describe(statedSize(false, true, 0), problem.numSequences(), maxKernelHeads)},
         {"heads", describe(statedSize(false, false, 1), problem.heads, maxKernelHeads)},
         {"kv_heads", describe(statedSize(true, false, 1), problem.kvHeads, maxKernelHeads)},
         {"q_rows", describe(statedSize(false, false, 2), rows.q, maxKernelRows)},
         {"kv_rows", describe(statedSize(true, false, 2), rows.kv, maxKernelRows)}});
  }

  Attribute describeConstraints() {
    return b.getArrayAttr(
        {dictionary({{"expression", text("heads % kv_heads")},
                     {"equals", number(0)},
                     {"message", text("heads must be a multiple of kv_heads")}})});
  }

  Attribute describeDerived() {
    return dictionary(
        {{"q_tiles", text(formatv("ceildiv(q_rows, {0})", problem.tiles.q).str())},
         {"kv_tiles", text(formatv("ceildiv(kv_rows, {0})", problem.tiles.kv).str())}});
  }

  Attribute describeTensors() {
    SmallVector<Attribute> list;
    for (const TensorRole &role : tensorRoles()) {
      SmallVector<Attribute> shape = {text("batch"), text(role.isKeyValue ? "kv_heads" : "heads"),
                                      text(role.isKeyValue ? "kv_rows" : "q_rows")};
      if (!role.isPerRow)
        shape.push_back(text(Twine(problem.headDim)));
      // Rows of half precision move in pieces of 16 bytes.
      list.push_back(dictionary({{"name", text(role.name)},
                                 {"element", text(role.isPerRow ? "f32" : "bf16")},
                                 {"access", text(role.isWritten ? "write" : "read")},
                                 {"shape", b.getArrayAttr(shape)},
                                 {"alignment", number(role.isPerRow ? 4 : 16)},
                                 {"stride_multiple", number(role.isPerRow ? 1 : 8)}}));
    }
    return b.getArrayAttr(list);
  }

  Attribute region(StringRef region, const Twine &bytes, int64_t alignment,
                   StringRef initial = "any", StringRef after = "any") {
    return dictionary({{"name", text(region)},
                       {"bytes", text(bytes)},
                       {"alignment", number(alignment)},
                       {"initial", text(initial)},
                       {"after", text(after)}});
  }
  Attribute describeWorkspace() {
    constexpr int64_t descriptors = 6, descriptorBytes = 128;
    std::string perTile = "4*batch*heads*q_tiles";
    std::string perRow = perTile + "*" + std::to_string(problem.tiles.q);
    std::string orderBytes =
        isTable() ? std::to_string(4 * numOrderWords)
                  : formatv("4*(align({0} + workers, {1}) + {1}*batch*kv_heads*kv_tiles + "
                            "{2}*q_tiles*kv_tiles)",
                            orderHeaderWords + 1, orderItemWords, orderVisitWords)
                        .str();
    return b.getArrayAttr({region("descriptors", Twine(descriptors * descriptorBytes), 128),
                           region("lse2", perRow, 128), region("delta", perRow, 128),
                           region("dq_sum", perRow + "*" + std::to_string(problem.headDim), 128),
                           region("turns", perTile, 16, "zero", "zero"),
                           region("order", orderBytes, 16, isTable() ? "file" : "entry")});
  }

  Attribute describeOrder() {
    if (!isTable())
      return dictionary({{"source", text("entry")}, {"entry", text(name + "_order")}});
    const SequenceLengths &rows = problem.sequences.front();
    std::string command =
        formatv(
            "dash-opt PROGRAM --dash-tile='q={0} kv={1}' --dash-apply-schedule='kind={2} "
            "level={3} workers={4} form=table sizes=q:{5},kv:{6},batch:{7},heads:{8},kv-heads:{9}'",
            problem.tiles.q, problem.tiles.kv, schedule.kind,
            stringifyDeterminismLevel(schedule.level), schedule.workers, rows.q, rows.kv,
            problem.numSequences(), problem.heads, problem.kvHeads)
            .str();
    return dictionary({{"source", text("file")}, {"command", text(command)}});
  }

  StringRef name;
  const ProgramTensors &tensors;
  const Schedule &schedule;
  const Problem &problem;
  const ScheduleFacts &facts;
  int64_t numOrderWords;
  Builder b;
};

} // namespace

DictionaryAttr dash::describeProgram(StringRef name, const ProgramTensors &tensors,
                                     const Schedule &schedule, const ScheduleFacts &facts,
                                     int64_t numOrderWords) {
  return Describer(name, tensors, schedule, facts, numOrderWords).describe();
}
