//===- MeasuredTilings.cpp - tilings that were the fastest ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MeasuredTilings.h"
#include "dash/Pipeline/KernelCoverage.h"
#include "dash/Schedule/JsonFile.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace mlir::dash;
namespace json = llvm::json;

namespace {
struct Line {
  std::string tiling, record;
  bool softcap = false;
};

bool fromJSON(const json::Value &value, Line &line, json::Path path) {
  json::ObjectMapper object(value, path);
  return object && hasOnlyKeys(value, path, {"tiling", "softcap", "record"}) &&
         object.map("tiling", line.tiling) && object.map("record", line.record) &&
         object.mapOptional("softcap", line.softcap);
}
} // namespace

static bool readLines(const json::Value &value, std::vector<Line> &lines, json::Path path) {
  json::ObjectMapper object(value, path);
  int64_t version = 0;
  std::string machine;
  if (!object || !hasOnlyKeys(value, path, {"version", "machine", "tilings"}) ||
      !object.map("version", version))
    return false;
  if (version != 1) {
    path.field("version").report("expected 1");
    return false;
  }
  return object.map("machine", machine) && object.map("tilings", lines);
}

FailureOr<MeasuredTilings> MeasuredTilings::parse(StringRef path, StringRef text,
                                                  MLIRContext *context,
                                                  function_ref<InFlightDiagnostic()> emitError) {
  std::vector<Line> lines;
  auto readAll = [&](const json::Value &value, json::Path place) {
    return readLines(value, lines, place);
  };
  if (failed(parseJson("tilings", path, text, readAll, emitError)))
    return failure();
  MeasuredTilings measured;
  for (auto [index, line] : llvm::enumerate(lines)) {
    auto emitAt = [&, index = index] {
      return emitError() << "tilings file '" << path << "': tilings[" << index << "]: ";
    };
    std::string found; // what the parser says
    TilingAttr attr;
    {
      ScopedDiagnosticHandler quiet(context, [&](Diagnostic &diagnostic) {
        found += (found.empty() ? "" : "; ") + diagnostic.str();
        return success();
      });
      attr = dyn_cast_if_present<TilingAttr>(parseAttribute(line.tiling, context));
    }
    if (!attr)
      return emitAt() << "expected a #dash.tiling, got '" << line.tiling << "'"
                      << (found.empty() ? "" : ": ") << found;
    Tiling tiling = Tiling::read(attr);
    if (failed(tiling.verify(attr, context, emitAt)))
      return failure();
    tiling.isCapped = line.softcap;
    if (llvm::any_of(measured.entries, [&](const Entry &entry) {
          return entry.tiling.columns == tiling.columns && entry.tiling.isCapped == tiling.isCapped;
        }))
      return emitAt() << "a tiling of " << tiling.columns << " columns with"
                      << (line.softcap ? "" : "out") << " a softcap is there before, expected one";
    measured.entries.push_back({tiling, line.record});
  }
  return measured;
}

/// The file dialects/dash/Pipeline/tilings-h200.json, taken in by the build.
static constexpr llvm::StringLiteral shippedText =
#include "ShippedTilings.inc"
    ;

FailureOr<MeasuredTilings> MeasuredTilings::read(StringRef path, MLIRContext *context,
                                                 function_ref<InFlightDiagnostic()> emitError) {
  if (path.empty())
    return parse("tilings-h200.json", shippedText, context, emitError);
  FailureOr<std::string> text = readText("tilings", path, emitError);
  if (failed(text))
    return failure();
  return parse(path, *text, context, emitError);
}

const MeasuredTilings::Entry *MeasuredTilings::find(AttentionBwdOp op,
                                                    const TilingConstraints &constraints,
                                                    const TargetDescription &target) const {
  int64_t columns = kernelWidthsOf(op.getHeadDim(), op.getHeadDimV(), /*isPart=*/false).ofQ;
  bool isCapped = bool(op.getSoftcapAttr());
  auto fits = [&](Tiling tiling) {
    tiling.isCapped = isCapped;
    return tiling.columns == columns && constraints.isMetBy(tiling) &&
           check(tiling, target, op.getContext()).empty();
  };
  for (bool isAlike : {true, false})
    for (const Entry &entry : entries)
      if ((entry.tiling.isCapped == isCapped) == isAlike && (isAlike || isCapped) &&
          fits(entry.tiling))
        return &entry;
  return nullptr;
}
