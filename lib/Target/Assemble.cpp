//===- Assemble.cpp - what ptxas reports about PTX ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Assemble.h"
#include "dash/Support/Assembler.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir::dash;
using llvm::StringRef;

std::vector<std::string> mlir::dash::findPtxas(StringRef tool) {
  if (tool.empty())
    return {};
  if (tool == "auto")
    return findAssemblers();
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(tool);
  return {found ? *found : tool.str()}; // running it reports that it is missing
}

/// Reads the output of -v. It names an entry before it describes it.
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

llvm::Expected<AssembledPtx> mlir::dash::assembleForResources(llvm::ArrayRef<std::string> tools,
                                                              StringRef chip, StringRef ptx) {
  assert(!tools.empty() && "there is no assembler");
  llvm::Error refusals = llvm::Error::success();
  for (const std::string &tool : tools) {
    llvm::Expected<Assembled> made =
        assemble(askAssembler(tool), chip, ptx, {"-v", "--warning-as-error"});
    if (made) {
      llvm::consumeError(std::move(refusals));
      return readResources(made->said);
    }
    refusals = llvm::joinErrors(std::move(refusals), made.takeError());
  }
  return std::move(refusals);
}
