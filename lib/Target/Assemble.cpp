//===- Assemble.cpp - what ptxas says of PTX ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Assemble.h"
#include "dash/Support/Bounded.h"
#include "dash/Support/RunProgram.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir::dash;
using llvm::StringRef;

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
  llvm::Expected<TemporaryFile> input = TemporaryFile::create("ptx", ptx);
  if (!input)
    return input.takeError();
  llvm::Expected<TemporaryFile> said = TemporaryFile::create("txt", "");
  if (!said)
    return said.takeError();
  std::string arch = ("-arch=" + chip).str();
  StringRef arguments[] = {ptxas, arch,        "-v",         "--warning-as-error",
                           "-o",  "/dev/null", input->path()};
  std::string message;
  int status = runProgram(ptxas, arguments, said->path(), std::chrono::minutes(5), message);
  if (status < 0)
    return llvm::createStringError("cannot run '" + ptxas + "': " + message);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text =
      llvm::MemoryBuffer::getFile(said->path());
  if (!text)
    return llvm::createFileError(said->path(), text.getError());
  StringRef output = (*text)->getBuffer();
  if (status != 0)
    return llvm::createStringError("'" + ptxas + "' refuses the PTX: " + bounded(output.trim()));
  // That products are serialized is not always a warning, but always too slow.
  if (llvm::Regex("\\(C75[0-9][0-9]\\)").match(output))
    return llvm::createStringError("'" + ptxas +
                                   "' serializes products: " + bounded(output.trim()));
  return readResources(output);
}
