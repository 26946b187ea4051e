//===- readers.cpp - parsers and readers as doors -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Npy.h"
#include "dash/Launch/Manifest.h"
#include "dash/Schedule/OrderFile.h"
#include "dash/Schedule/Prices.h"
#include "dash/Schedule/Sizes.h"
#include "dash/Schedule/Verify.h"
#include "doors.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

static InFlightDiagnostic emitNowhere() { return emitError(UnknownLoc::get(&getContext())); }

/// For readers of files: the bytes, under a name that this process has for itself.
static StringRef asFile(StringRef bytes) {
  static const std::string path = [] {
    SmallString<64> made;
    int descriptor;
    if (llvm::sys::fs::createTemporaryFile("fuzz-doors", "", descriptor, made))
      abort();
    llvm::sys::Process::SafelyCloseFileDescriptor(descriptor);
    return made.str().str();
  }();
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
  return path;
}

/// Text or bytecode; what can be read can be written in both.
static void readModule(StringRef bytes) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(bytes, &getContext());
  if (!module)
    return;
  llvm::raw_null_ostream nowhere;
  module->print(nowhere);
  (void)writeBytecodeToFile(*module, nowhere);
}

/// An order of a small problem; what can be read is proven or refused.
static void readOrder(StringRef bytes) {
  OrderFileRequest request;
  request.problem.tiles = {64, 64};
  request.problem.mask = Mask::causal();
  request.problem.heads = 4;
  request.problem.kvHeads = 2;
  request.problem.sequences = {{100, 200}, {300, 100}};
  request.cost = Prices::shipped().of(request.problem);
  FailureOr<Schedule> order = readOrderFile(asFile(bytes), request, emitNowhere);
  if (succeeded(order))
    (void)verify(*order, emitNowhere);
}

static void readCosts(StringRef bytes) {
  FailureOr<Prices> prices = Prices::read(asFile(bytes), emitNowhere);
  if (succeeded(prices))
    (void)verifyCost(prices->of(Problem()), emitNowhere);
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
  llvm::consumeError(dash_run::readNpy(asFile(bytes)).takeError());
}

static void readSizes(StringRef bytes) { (void)parseSizes(bytes, emitNowhere); }

static constexpr Door all[] = {{"module", readModule},     {"order", readOrder},
                               {"costs", readCosts},       {"npy", readNpy},
                               {"manifest", readManifest}, {"sizes", readSizes}};
const ArrayRef<Door> doors = all;
