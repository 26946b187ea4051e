//===- RunMain.cpp - run a scheduled program on the CPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays in, gradients out. The tool checks everything before it runs anything. Outputs appear in
// their folder together, after the run.
//
//===----------------------------------------------------------------------===//

#include "RunMain.h"
#include "Inputs.h"
#include "Npy.h"
#include "Program.h"
#include "dash/Driver/Registration.h"
#include "dash/Support/InitTool.h"
#include "dash/Support/Version.h"
#include "dash/Support/WriteFile.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include <cmath>

using namespace llvm;
using namespace dash_run;
using mlir::dash::TemporaryFile;

namespace {

/// Made when the tool runs, not when it is loaded: it may be part of a library.
struct Options {
  cl::OptionCategory category{"dash-run options"};
  cl::opt<std::string> inputFile{cl::Positional, cl::Required, cl::desc("FILE.mlir"),
                                 cl::cat(category)};
  cl::opt<std::string> argsDir{"args",
                               cl::desc("Folder of inputs: q.npy, k.npy, v.npy, do.npy, "
                                        "o.npy or delta.npy, lse.npy, scale.npy, sink.npy"),
                               cl::value_desc("DIR"), cl::cat(category)};
  cl::opt<std::string> outDir{"out", cl::Required, cl::cat(category), cl::value_desc("DIR"),
                              cl::desc("Folder for dq.npy, dk.npy, dv.npy, dsink.npy, and for "
                                       "inputs that come from the seed")};
  cl::opt<uint64_t> seed{"seed", cl::desc("Make the inputs that --args lacks, from this number"),
                         cl::value_desc("N"), cl::cat(category)};
  cl::opt<bool> dumpContributions{"dump-contributions",
                                  cl::desc("Write what the chains sum as well"), cl::cat(category)};
  cl::opt<std::string> functionName{"function", cl::value_desc("NAME"), cl::cat(category),
                                    cl::desc("The function to run, where the file has several")};
};

} // namespace

static Options &options() {
  static Options all;
  return all;
}

static Error mismatch(StringRef path, const Twine &expected, const Twine &found) {
  return createStringError(path + ": expected " + expected + ", found " + found);
}

/// Names of types as a reader of the files knows them.
static std::string describeType(const Tensor &tensor) {
  return tensor.npyType().str() + (tensor.element == Element::BF16 ? " (bf16 as uint16)" : "");
}

/// Reads an input from its file. False if there is none.
static Expected<bool> readInput(Tensor &tensor) {
  SmallString<128> path(options().argsDir);
  sys::path::append(path, tensor.name + ".npy");
  if (options().argsDir.empty() || !sys::fs::exists(path))
    return false;
  Expected<NpyArray> array = readNpy(path, tensor.numElements() * tensor.elementBytes());
  if (!array)
    return array.takeError();
  if (array->type != tensor.npyType())
    return mismatch(path, "type " + describeType(tensor), array->type);
  if (ArrayRef(array->shape) != ArrayRef(tensor.shape))
    return mismatch(path, "shape " + formatShape(tensor.shape), formatShape(array->shape));
  tensor.data = std::move(array->data);
  return true;
}

namespace {

/// The arguments of a run.
class Arguments {
public:
  explicit Arguments(Program &program) : program(program) {}

  Error fill() {
    if (!options().argsDir.empty() && !sys::fs::is_directory(options().argsDir))
      return createStringError("--args: expected a folder, found none at '" + options().argsDir +
                               "'");
    for (Tensor &tensor : program.arguments) {
      if (tensor.isOutput()) {
        // An element that is never written must not look like a gradient.
        tensor.data.assign(tensor.numElements() * tensor.elementBytes(), char(0xff));
        continue;
      }
      Expected<bool> isRead = readInput(tensor);
      if (!isRead)
        return isRead.takeError();
      if (*isRead)
        continue;
      if (!options().seed.getNumOccurrences())
        return createStringError(
            "missing argument '" + tensor.name + "': expected " +
            (options().argsDir.empty() ? "--args=DIR with " : options().argsDir + "/") +
            tensor.name + ".npy of type " + describeType(tensor) + " and shape " +
            formatShape(tensor.shape) + "; or --seed=N, which makes what is missing");
      tensor.data.resize(tensor.numElements() * tensor.elementBytes());
      made.push_back(&tensor);
    }
    return make();
  }

  ArrayRef<const Tensor *> madeInputs() const { return made; }

private:
  Tensor *find(StringRef name) {
    auto it = llvm::find_if(program.arguments, [&](Tensor &t) { return t.name == name; });
    return it == program.arguments.end() ? nullptr : &*it;
  }
  /// An input that must be made, or null.
  Tensor *missing(StringRef name) {
    Tensor *tensor = find(name);
    return is_contained(made, tensor) ? tensor : nullptr;
  }

  Error make() {
    for (StringRef name : {"q", "k", "v", "do", "sink"})
      if (Tensor *tensor = missing(name))
        fillRandom(*tensor, options().seed);
    float scale = 1 / std::sqrt(double(program.problem.headDim));
    if (Tensor *tensor = missing("scale"))
      tensor->set(0, scale);
    else if (Tensor *given = find("scale"))
      scale = given->get(0);

    Tensor *o = missing("o"), *lse = missing("lse"), *delta = missing("delta");
    if (!o && !lse && !delta)
      return Error::success();
    Tensor *q = find("q"), *k = find("k"), *v = find("v"), *dOut = find("do");
    if (!q || !k || !v || (delta && !dOut))
      return createStringError("o, lse and delta come from q, k, v and do, of which this function "
                               "does not take all; give them in --args");
    Tensor output = *q; // the program takes delta, so its o is not used
    output.name = "o";
    output.shape = q->shape;
    output.shape.back() = program.problem.headDimV;
    if (delta && !o) {
      output.data.resize(output.numElements() * output.elementBytes());
      o = &output;
    }
    computeForward(program.problem, {scale, program.softcap, find("sink")}, *q, *k, *v, o, lse);
    if (delta)
      computeDelta(*o, *dOut, *delta);
    return Error::success();
  }

  Program &program;
  SmallVector<Tensor *> made;
};

/// Files that appear in a folder together: all are first written under other names.
class Outputs {
public:
  Error add(const Tensor &tensor) {
    SmallString<128> path(options().outDir);
    sys::path::append(path, tensor.name + ".npy");
    // Finds what would make a rename fail before it renames anything.
    if (sys::fs::is_directory(path))
      return createFileError(path, std::make_error_code(std::errc::is_a_directory));
    std::string bytes = npyHeader(tensor.npyType(), tensor.shape);
    bytes.append(tensor.data.begin(), tensor.data.end());
    Expected<TemporaryFile> file = TemporaryFile::createBeside(path, bytes);
    if (!file)
      return file.takeError();
    files.emplace_back(std::move(*file), path.str().str());
    return Error::success();
  }

  Error keep() {
    for (auto &[file, path] : files)
      if (Error error = file.keep(path))
        return error;
    return Error::success();
  }

private:
  std::vector<std::pair<TemporaryFile, std::string>> files;
};

} // namespace

static Error run(Program &program) {
  std::error_code error = sys::fs::create_directories(options().outDir);
  if (!error && !sys::fs::is_directory(options().outDir))
    error = std::make_error_code(std::errc::not_a_directory);
  if (!error)
    error = sys::fs::access(options().outDir, sys::fs::AccessMode::Write);
  if (error)
    return createStringError("--out: expected a folder to write, found '" + options().outDir +
                             "': " + error.message());
  Arguments arguments(program);
  if (Error error = arguments.fill())
    return error;
  // The program changes its arguments' memory, not the inputs: they are const to it.
  if (Error error = runProgram(program))
    return error;
  Outputs outputs;
  for (const Tensor &tensor : program.arguments)
    if (tensor.isContributions() ? options().dumpContributions : tensor.isOutput())
      if (Error error = outputs.add(tensor))
        return error;
  for (const Tensor *tensor : arguments.madeInputs())
    if (Error error = outputs.add(*tensor))
      return error;
  return outputs.keep();
}

int runDashRun(int argc, char **argv, mlir::DialectRegistry &registry) {
  mlir::dash::InitTool init(argc, argv);
  if (!init)
    return 1;
  cl::HideUnrelatedOptions(options().category);
  mlir::dash::answerVersion();
  cl::ParseCommandLineOptions(
      argc, argv, "runs a scheduled attention backward, or one lowered to loops, on the CPU\n");
  mlir::dash::registerDash(registry);
  mlir::MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context);
  mlir::FailureOr<Program> program = loadProgram(
      context, options().inputFile, options().functionName, options().dumpContributions);
  if (failed(program))
    return 1;
  if (Error error = run(*program)) {
    WithColor::error(errs(), "dash-run") << toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}
