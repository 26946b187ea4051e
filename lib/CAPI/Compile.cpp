//===- Compile.cpp - the C API of the compiler ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each compile has its own context, without threads. Callers share nothing.
//
//===----------------------------------------------------------------------===//

#include "dash-c/Compile.h"
#include "Forks.h"
#include "ReportOutcome.h"
#include "dash/Driver/Pipelines.h"
#include "dash/Driver/Registration.h"
#include "dash/IR/DashOps.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/Support/Nesting.h"
#include "dash/Support/Version.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

struct Kernel {
  std::string name, ptx, manifest, order;
};

struct Program {
  std::vector<Kernel> kernels;
};

/// Hands diagnostics of MLIR to a caller in C.
class Reporter {
public:
  Reporter(DashDiagnosticHandler handler, void *userData) : handler(handler), userData(userData) {}

  void say(DashSeverity severity, const std::string &message, Location location) const {
    if (!handler)
      return;
    std::string text = bounded(message);
    DashDiagnostic diagnostic{severity, toC(text), noString(), 0, 0};
    if (auto place = location->findInstanceOf<FileLineColLoc>()) {
      StringRef file = place.getFilename();
      diagnostic.file = {file.data(), file.size()};
      diagnostic.line = place.getLine();
      diagnostic.column = place.getColumn();
    }
    handler(&diagnostic, userData);
  }

  void say(const Diagnostic &diagnostic) const {
    say(severityOf(diagnostic), diagnostic.str(), diagnostic.getLocation());
    for (const Diagnostic &note : diagnostic.getNotes())
      say(DASH_NOTE, note.str(), note.getLocation());
  }

private:
  static DashSeverity severityOf(const Diagnostic &diagnostic) {
    switch (diagnostic.getSeverity()) {
    case DiagnosticSeverity::Error:
      return DASH_ERROR;
    case DiagnosticSeverity::Warning:
      return DASH_WARNING;
    case DiagnosticSeverity::Note:
      return DASH_NOTE;
    case DiagnosticSeverity::Remark:
      return DASH_REMARK;
    }
    llvm_unreachable("a severity of MLIR");
  }

  DashDiagnosticHandler handler;
  void *userData;
};

} // namespace

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDash(registry);
  registerDialectsOfPrograms(registry);
  return registry;
}

/// The value in `text` that its option does not accept. LLVM prints this to standard error only.
static std::string findWrongValue(StringRef text, ToPtxOptions &options) {
  for (StringRef piece : llvm::split(text, ' ')) {
    auto [name, value] = piece.split('=');
    for (auto [arg, words] : {std::pair<StringRef, llvm::cl::generic_parser_base *>(
                                  options.level.ArgStr, &options.level.getParser()),
                              {options.apart.ArgStr, &options.apart.getParser()},
                              {options.structure.ArgStr, &options.structure.getParser()}}) {
      if (name != arg || words->findOption(value) < words->getNumOptions())
        continue;
      SmallVector<StringRef> known;
      for (unsigned i : llvm::seq(words->getNumOptions()))
        known.push_back(words->getOption(i));
      return (name + ": expected one of " + llvm::join(known, ", ") + ", found '" + value + "'")
          .str();
    }
    if (ToPtxOptions alone; failed(alone.parseFromString(piece, llvm::nulls())))
      return (name + ": expected a value that the option takes, found '" + value + "'").str();
  }
  return "a value is none that its option takes";
}

static LogicalResult readOptions(StringRef text, ToPtxOptions &options, std::string &why) {
  llvm::raw_string_ostream stream(why);
  if (failed(options.parseFromString(text, stream))) {
    std::string reason = why.empty() ? findWrongValue(text, options) : StringRef(why).rtrim().str();
    why = "expected the options of --dash-to-ptx, got '" + text.str() + "': " + reason;
    return failure();
  }
  if (!options.output.empty()) {
    why = "nothing is written to files: leave out 'output', and take the strings";
    return failure();
  }
  // Every option that names a file or a program.
  for (auto [option, what] : {std::pair(&options.path, "a file"),
                              {&options.costs, "a file"},
                              {&options.ptxas, "a program"}})
    if (!option->empty()) {
      why = ("the option '" + option->getArgStr() + "' names " + what +
             ": options may come with data, so pass it apart, by dashCompileWithFiles, or in "
             "Python as an argument")
                .str();
      return failure();
    }
  return success();
}

/// The bytes of an order buffer, little-endian like every machine with these GPUs.
static std::string bytesOf(DenseIntElementsAttr words) {
  std::string bytes;
  for (int32_t word : words.getValues<int32_t>())
    bytes.append(reinterpret_cast<const char *>(&word), sizeof(word));
  return bytes;
}

static void collectKernels(ModuleOp module, std::vector<Kernel> &kernels) {
  module.walk([&](gpu::BinaryOp binary) {
    auto manifest = binary->getAttrOfType<StringAttr>(manifestAttr);
    if (!manifest) // made by the host, not by dash
      return;
    StringRef name = binary.getName();
    name.consume_back(kernelsSuffix);
    auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
    Kernel kernel{name.str(), object.getObject().str(), manifest.str(), ""};
    if (auto order = binary->getAttrOfType<DenseIntElementsAttr>(orderBufferAttr))
      kernel.order = bytesOf(order);
    kernels.push_back(std::move(kernel));
  });
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

DashStatus dashCompile(DashStringRef source, DashStringRef name, DashStringRef options,
                       DashDiagnosticHandler handler, void *userData, DashProgram *program) {
  return dashCompileWithFiles(source, name, options, /*files=*/nullptr, handler, userData, program);
}

DashStatus dashCompileWithFiles(DashStringRef source, DashStringRef name, DashStringRef optionsText,
                                const DashCompileFiles *files, DashDiagnosticHandler handler,
                                void *userData, DashProgram *program) {
  Inside inside;
  if (launch::Outcome wrong = inside.getOutcome())
    return report(wrong, handler, userData);
  static const DialectRegistry registry = makeRegistry();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // locations are enough
  Reporter reporter(handler, userData);
  auto refuse = [&](const std::string &why) {
    reporter.say(DASH_ERROR, why, UnknownLoc::get(&context));
    return DASH_INVALID_ARGUMENT;
  };
  if (!program)
    return refuse("'program' is NULL: there is no place for the result");
  DashCompileFiles given = files ? *files : DashCompileFiles();
  for (DashStringRef string : {source, name, optionsText, given.order, given.costs, given.ptxas})
    if (!isGiven(string))
      return refuse("a string is NULL but not empty");
  if (!isBytecode(llvm::MemoryBufferRef(toStringRef(source), "")) &&
      nestsDeeper(toStringRef(source), mostNesting))
    return refuse("the program's brackets nest deeper than " + std::to_string(mostNesting) +
                  " levels, which no parser's stack is made for");
  ToPtxOptions options;
  std::string why;
  if (failed(readOptions(toStringRef(optionsText), options, why)))
    return refuse(why);
  options.path = toStringRef(given.order).str();
  options.costs = toStringRef(given.costs).str();
  options.ptxas = toStringRef(given.ptxas).str();

  ScopedDiagnosticHandler scope(&context,
                                [&](Diagnostic &diagnostic) { reporter.say(diagnostic); });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(toStringRef(source), toStringRef(name)), SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return DASH_INVALID_PROGRAM;
  PassManager passes(&context);
  buildToPtxPipeline(passes, options);
  if (failed(passes.run(*module)))
    return DASH_INVALID_PROGRAM;
  auto compiled = std::make_unique<Program>();
  collectKernels(*module, compiled->kernels);
  program->ptr = compiled.release();
  return DASH_SUCCESS;
}

void dashProgramDestroy(DashProgram program) { delete static_cast<Program *>(program.ptr); }

//===----------------------------------------------------------------------===//
// What was compiled
//===----------------------------------------------------------------------===//

static const Program &unwrap(DashProgram program) {
  static const Program nothing;
  return program.ptr ? *static_cast<const Program *>(program.ptr) : nothing;
}

static DashStringRef get(DashProgram program, size_t index, std::string Kernel::*text) {
  const std::vector<Kernel> &kernels = unwrap(program).kernels;
  return index < kernels.size() ? toC(kernels[index].*text) : noString();
}

size_t dashProgramGetNumKernels(DashProgram program) { return unwrap(program).kernels.size(); }
DashStringRef dashProgramGetName(DashProgram program, size_t index) {
  return get(program, index, &Kernel::name);
}
DashStringRef dashProgramGetPtx(DashProgram program, size_t index) {
  return get(program, index, &Kernel::ptx);
}
DashStringRef dashProgramGetManifest(DashProgram program, size_t index) {
  return get(program, index, &Kernel::manifest);
}
DashStringRef dashProgramGetOrder(DashProgram program, size_t index) {
  return get(program, index, &Kernel::order);
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

DashStringRef dashGetVersion(void) {
  return {version().data(), version().size()}; // of a literal, which ends in a zero
}
