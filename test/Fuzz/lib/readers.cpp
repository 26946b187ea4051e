//===- readers.cpp - parsers and readers as doors -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Npy.h"
#include "dash/Launch/Manifest.h"
#include "dash/Schedule/OrderFile.h"
#include "dash/Schedule/Prices.h"
#include "dash/Schedule/Sizes.h"
#include "dash/Schedule/Verify.h"
#include "dash/Support/WriteFile.h"
#include "dash/World/WorldReport.h"
#include "doors.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"

static InFlightDiagnostic emitNowhere() { return emitError(UnknownLoc::get(&getContext())); }

/// For readers of files: the bytes, under a name that this process has for itself.
static StringRef asFile(StringRef bytes) {
  static const TemporaryFile file = llvm::cantFail(TemporaryFile::create("door", ""));
  llvm::cantFail(writeFile(file.path(), bytes));
  return file.path();
}

/// Text; what can be read can be written, also as bytecode. All of bytecode but `readAttribute` is
/// MLIR's own reader, which trusts the numbers that it finds.
static void readModule(StringRef bytes) {
  if (isBytecode(llvm::MemoryBufferRef(bytes, "")))
    return;
  std::string text =
      bytes.str(); // a 0 behind it, as files have in memory: words of errors look for one
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &getContext());
  if (!module)
    return;
  llvm::raw_null_ostream nowhere;
  module->print(nowhere);
  (void)writeBytecodeToFile(*module, nowhere);
}

namespace {
/// What MLIR's reader of bytecode is to a dialect: numbers are read from the bytes, attributes are
/// some of a few.
class NumbersAndAttributes final : public DialectBytecodeReader {
public:
  NumbersAndAttributes(StringRef bytes, ArrayRef<Attribute> attributes)
      : bytes(bytes), attributes(attributes) {}

  InFlightDiagnostic emitError(const Twine &) const override {
    return mlir::emitError(UnknownLoc::get(getContext()));
  }
  MLIRContext *getContext() const override { return attributes.front().getContext(); }
  uint64_t getBytecodeVersion() const override { return 6; }
  FailureOr<const DialectVersion *> getDialectVersion(StringRef) const override {
    return failure();
  }

  /// A byte, or eight behind a 255.
  LogicalResult readVarInt(uint64_t &result) override {
    size_t size = bytes.starts_with("\xff") ? 9 : 1;
    if (bytes.size() < size)
      return failure();
    result = 0;
    for (char byte : bytes.substr(size / 9, size - size / 9))
      result = result << 8 | uint8_t(byte);
    bytes = bytes.drop_front(size);
    return success();
  }
  LogicalResult readSignedVarInt(int64_t &result) override {
    uint64_t number;
    if (failed(readVarInt(number)))
      return failure();
    result = int64_t(number >> 1) ^ -int64_t(number & 1);
    return success();
  }
  LogicalResult readAttribute(Attribute &result) override {
    uint64_t number;
    if (failed(readVarInt(number)))
      return failure();
    result = attributes[number % attributes.size()];
    return success();
  }

  // Dash's attributes have none of these.
  LogicalResult readOptionalAttribute(Attribute &) override { return failure(); }
  LogicalResult readType(Type &) override { return failure(); }
  FailureOr<APInt> readAPIntWithKnownWidth(unsigned) override { return failure(); }
  FailureOr<APFloat> readAPFloatWithKnownSemantics(const llvm::fltSemantics &) override {
    return failure();
  }
  LogicalResult readString(StringRef &) override { return failure(); }
  LogicalResult readBlob(ArrayRef<char> &) override { return failure(); }
  LogicalResult readBool(bool &) override { return failure(); }

private:
  FailureOr<AsmDialectResourceHandle> readResourceHandle() override { return failure(); }

  StringRef bytes;
  ArrayRef<Attribute> attributes;
};
} // namespace

/// An attribute in its binary form; what can be read can be written.
static void readAttribute(StringRef bytes) {
  SmallVector<Attribute> attributes;
  MLIRContext &context = getContext();
  for (StringRef text :
       {"dense<[[0, 0, 0], [1, 0, 0]]> : tensor<2x3xi32>", "dense<0> : tensor<0x2xi32>",
        "dense<7> : tensor<4x4xi32>", "dense<true> : tensor<2x2xi1>", "dense<1.0> : tensor<2xf32>",
        "#dash.tiles<q = 64, kv = 128>", "#dash.mask<causal>", "#dash.mask<window = [5, 0]>",
        "#dash.blocks<q = 64, kv = 128, bits = dense<[[1, 0], [0, 1]]> : tensor<2x2xi1>>",
        "#dash.sequences<[100, 200], 3 x [5, 7]>", "\"text\"", "-1 : i64"})
    if (Attribute attribute = parseAttribute(text, &context))
      attributes.push_back(attribute);
  NumbersAndAttributes reader(bytes, attributes);
  auto *dialect = context.getOrLoadDialect<DashDialect>();
  if (Attribute read =
          dialect->getRegisteredInterface<BytecodeDialectInterface>()->readAttribute(reader)) {
    llvm::raw_null_ostream nowhere;
    read.print(nowhere);
  }
}

/// An order of a small problem; what can be read is proven or refused.
static void readOrder(StringRef bytes) {
  OrderFileRequest request;
  request.problem.tiles = {64, 64};
  request.problem.mask = Mask::causal();
  request.problem.heads = 4;
  request.problem.kvHeads = 2;
  request.problem.sequences = {{100, 200}, {300, 100}};
  request.cost = Prices::shipped().of(request.problem, Priced::Whole);
  FailureOr<Schedule> order = readOrderFile(asFile(bytes), request, emitNowhere);
  if (succeeded(order))
    (void)verify(*order, emitNowhere);
}

static void readCosts(StringRef bytes) {
  FailureOr<Prices> prices = Prices::read(asFile(bytes), emitNowhere);
  if (succeeded(prices))
    (void)verifyCost(prices->of(Problem(), Priced::Whole), emitNowhere);
}

/// A manifest; what can be read has a value for each expression, or says why not.
static void readManifest(StringRef bytes) {
  launch::Manifest manifest;
  if (launch::readManifest(bytes, manifest))
    return;
  launch::Values values;
  for (const launch::Size &size : manifest.sizes)
    values[size.name] = size.maximum;
  if (manifest.derive(values))
    return;
  int64_t result;
  for (const launch::Region &region : manifest.workspace)
    (void)region.bytes.evaluate(values, result);
  for (const launch::Entry &entry : manifest.entries)
    for (const launch::Expression &extent : entry.grid)
      (void)extent.evaluate(values, result);
}

static void readNpy(StringRef bytes) {
  llvm::consumeError(dash_run::readNpy(asFile(bytes), bytes.size()).takeError());
}

/// A plan of a world; what can be read is proven.
static void readPlan(StringRef bytes) {
  llvm::Expected<world::FiledPlan> read = world::readPlan(asFile(bytes));
  if (!read)
    return llvm::consumeError(read.takeError());
  llvm::raw_null_ostream nowhere;
  for (auto write : {world::writeTable, world::writeJson, world::writeSvg, world::writeTrace})
    write(nowhere, read->world, read->plan);
}

static void readSizes(StringRef bytes) { (void)parseSizes(bytes, emitNowhere); }

static constexpr Door all[] = {{"module", readModule}, {"attributes", readAttribute},
                               {"order", readOrder},   {"costs", readCosts},
                               {"npy", readNpy},       {"manifest", readManifest},
                               {"sizes", readSizes},   {"plan", readPlan}};
const ArrayRef<Door> doors = all;
