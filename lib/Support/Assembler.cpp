//===- Assembler.cpp - ptxas, its code and its messages -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Support/Assembler.h"
#include "dash/Support/Bounded.h"
#include "dash/Support/ReadFile.h"
#include "dash/Support/RunProgram.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include <cstdlib>

using namespace llvm;
using namespace mlir::dash;

static constexpr uint64_t mostCodeBytes = uint64_t(1) << 28, mostSaidBytes = uint64_t(1) << 22;

/// The text of a file that a program wrote; empty if the file is missing.
static std::string textOf(const TemporaryFile &file) {
  Expected<std::string> text = readFile(file.path(), mostSaidBytes);
  if (text)
    return std::move(*text);
  consumeError(text.takeError());
  return "";
}

Assembler mlir::dash::askAssembler(StringRef path) {
  auto refuse = [&](const Twine &why) {
    return Assembler{path.str(), "", ("cannot ask '" + path + "' for its version: " + why).str()};
  };
  Expected<TemporaryFile> said = TemporaryFile::create("txt", "");
  if (!said)
    return refuse(toString(said.takeError()));
  std::string why;
  int status = runProgram(path, {path, "--version"}, said->path(), std::chrono::seconds(20), why);
  if (status != 0)
    return refuse(status < 0 ? why : "its status is " + std::to_string(status));
  std::string text = textOf(*said);
  SmallVector<StringRef> words;
  SplitString(text, words, " \t\r\n");
  if (words.empty())
    return refuse("it says nothing");
  return {path.str(), join(words, " ").substr(0, 1024), ""};
}

std::string mlir::dash::spell(const Assembler &assembler) {
  static const Regex release("release [0-9.]+, V([0-9.]+)");
  SmallVector<StringRef> words;
  bool isKnown = release.match(assembler.about, &words);
  return "'" + assembler.path + "' (" +
         (isKnown ? "CUDA " + words[1].str() : "whose version is not known") + ")";
}

std::vector<std::string> mlir::dash::findAssemblers() {
  std::vector<std::string> found;
  if (const char *named = std::getenv("DASH_PTXAS"); named && *named) {
    ErrorOr<std::string> path = sys::findProgramByName(named);
    return {path ? *path : std::string(named)}; // running it reports that it is missing
  }
  SmallVector<StringRef> folders;
  const char *path = std::getenv("PATH");
  SplitString(path ? path : "", folders, ":");
  folders.push_back("/usr/local/cuda/bin");
  std::vector<sys::fs::UniqueID> seen;
  for (StringRef folder : folders) {
    sys::fs::UniqueID file;
    ErrorOr<std::string> one = sys::findProgramByName("ptxas", {folder});
    if (!one || sys::fs::getUniqueID(*one, file) || is_contained(seen, file))
      continue;
    seen.push_back(file);
    found.push_back(*one);
  }
  return found;
}

StringRef mlir::dash::findWaits(StringRef said) {
  static const Regex waits("[^\n]*\\(C75[0-9][0-9]\\)[^\n]*");
  SmallVector<StringRef> lines;
  return waits.match(said, &lines) ? lines[0].trim() : StringRef();
}

Expected<Assembled> mlir::dash::assemble(const Assembler &assembler, StringRef chip, StringRef ptx,
                                         ArrayRef<StringRef> options) {
  std::vector<TemporaryFile> files;
  for (auto [suffix, bytes] :
       {std::pair("ptx", ptx), std::pair("cubin", StringRef()), std::pair("txt", StringRef())}) {
    Expected<TemporaryFile> file = TemporaryFile::create(suffix, bytes);
    if (!file)
      return createStringError(Twine("cannot hand the PTX to '") + assembler.path +
                               "': " + toString(file.takeError()) +
                               "; let the variable TMPDIR name another folder");
    files.push_back(std::move(*file));
  }
  const TemporaryFile &source = files[0], &object = files[1], &words = files[2];
  std::string arch = ("-arch=" + chip).str(), why;
  SmallVector<StringRef> arguments{assembler.path, arch};
  append_range(arguments, options);
  append_values(arguments, StringRef("-o"), object.path(), source.path());
  int status = runProgram(assembler.path, arguments, words.path(), std::chrono::minutes(5), why);
  if (status < 0)
    return createStringError(Twine("cannot run '") + assembler.path + "': " + why);
  std::string said = textOf(words);
  if (status != 0) {
    StringRef reason = StringRef(said).trim();
    return createStringError(Twine(spell(assembler)) + " refuses the PTX: " +
                             (reason.empty()
                                  ? "it says nothing, and its status is " + std::to_string(status)
                                  : std::string(bounded(reason))) +
                             "; expected " + goodAssemblers);
  }
  if (StringRef waits = findWaits(said); !waits.empty())
    return createStringError(Twine(spell(assembler)) + " lets products wait for each other: " +
                             bounded(waits) + "; expected " + goodAssemblers);
  Expected<std::string> code = readFile(object.path(), mostCodeBytes);
  if (!code)
    return createStringError(Twine("cannot read what '") + assembler.path +
                             "' made: " + toString(code.takeError()));
  return Assembled{std::move(*code), std::move(said)};
}
