//===- Assemble.cpp - what ptxas says of PTX ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Assemble.h"
#include "dash/Support/Bounded.h"
#include "dash/Support/RunProgram.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::dash;
using llvm::StringRef;

namespace {

/// A file that is gone when its owner is.
class Scratch {
public:
  static llvm::Expected<Scratch> create(StringRef suffix, StringRef text) {
    Scratch scratch;
    int descriptor;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("dash", suffix, descriptor, scratch.path))
      return llvm::createFileError("temporary file", error);
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << text;
    os.close();
    if (std::error_code error = os.error()) {
      os.clear_error();
      return llvm::createFileError(scratch.path, error);
    }
    return scratch;
  }
  Scratch(Scratch &&other) : path(std::move(other.path)) { other.path.clear(); }
  ~Scratch() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  StringRef name() const { return path; }

private:
  Scratch() = default;
  llvm::SmallString<128> path;
};

} // namespace

std::string mlir::dash::findPtxas(StringRef tool) {
  if (tool.empty())
    return "";
  bool isOptional = tool == "auto";
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(isOptional ? "ptxas" : tool);
  if (found)
    return *found;
  return isOptional ? "" : tool.str(); // whoever runs it says that it is not there
}

/// Reads what -v printed. Entries are named before they are described.
static AssembledPtx readResources(StringRef text) {
  static const llvm::Regex entry("Compiling entry function '([^']+)'");
  static const llvm::Regex spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const llvm::Regex registers("Used ([0-9]+) registers");
  AssembledPtx assembled;
  EntryResources *current = nullptr;
  llvm::SmallVector<StringRef> lines, words;
  text.split(lines, '\n');
  auto number = [](StringRef digits) {
    int64_t value = 0;
    bool isBad = digits.getAsInteger(10, value);
    assert(!isBad && "the expressions above take digits only");
    (void)isBad;
    return value;
  };
  for (StringRef line : lines) {
    if (entry.match(line, &words))
      current = &assembled[words[1]];
    if (current && spills.match(line, &words))
      current->spillBytes = number(words[1]) + number(words[2]);
    if (current && registers.match(line, &words))
      current->registers = number(words[1]);
  }
  return assembled;
}

llvm::Expected<AssembledPtx> mlir::dash::assemble(StringRef ptxas, StringRef chip, StringRef ptx) {
  llvm::Expected<Scratch> input = Scratch::create("ptx", ptx);
  if (!input)
    return input.takeError();
  llvm::Expected<Scratch> said = Scratch::create("txt", "");
  if (!said)
    return said.takeError();
  std::string arch = ("-arch=" + chip).str();
  StringRef arguments[] = {ptxas, arch,        "-v",         "--warning-as-error",
                           "-o",  "/dev/null", input->name()};
  std::string message;
  int status = runProgram(ptxas, arguments, said->name(), std::chrono::minutes(5), message);
  if (status < 0)
    return llvm::createStringError("cannot run '" + ptxas + "': " + message);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text =
      llvm::MemoryBuffer::getFile(said->name());
  if (!text)
    return llvm::createFileError(said->name(), text.getError());
  StringRef output = (*text)->getBuffer();
  if (status != 0)
    return llvm::createStringError("'" + ptxas + "' refuses the PTX: " + bounded(output.trim()));
  // That products are serialized is not always a warning, but always too slow.
  if (llvm::Regex("\\(C75[0-9][0-9]\\)").match(output))
    return llvm::createStringError("'" + ptxas +
                                   "' serializes products: " + bounded(output.trim()));
  return readResources(output);
}
