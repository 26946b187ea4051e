//===- LoadCode.cpp - a kernel's code on a device -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes the cubin that came with the kernel, else code that was assembled ahead of the first call,
// else the cached code of an earlier assembly, else the PTX.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/CodeCache.h"
#include "dash/Launch/Kernel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

namespace {
// Numbers from the driver's interface.
constexpr int infoLogBuffer = 3, infoLogBytes = 4, errorLogBuffer = 5, errorLogBytes = 6;
constexpr int unsupportedPtxVersion = 222;
constexpr size_t logBytes = 16 * 1024;
} // namespace

/// The key of cached code. Drivers with one interface version may differ in what they accept, so
/// their own version counts too.
static std::string keyOf(const Driver &driver, StringRef ptxHash, int capability,
                         const Assembler &assembler) {
  int version = 0;
  driver.driverGetVersion(&version);
  std::string key =
      ("ptx " + ptxHash + "\ncapability " + Twine(capability) + "\ndriver " + Twine(version)).str();
  if (auto about = MemoryBuffer::getFileAsStream("/proc/driver/nvidia/version"))
    key += " " + (*about)->getBuffer().take_until([](char c) { return c == '\n'; }).str();
  return key + "\nassembler " + assembler.about;
}

/// "CUDA 12.3", from the driver's number.
static std::string spellVersion(const Driver &driver) {
  int version = 0;
  driver.driverGetVersion(&version);
  return ("CUDA " + Twine(version / 1000) + "." + Twine(version % 1000 / 10)).str();
}

/// Names a driver that accepts a PTX version that is too new for this one. Versions 8.0 to 8.5 came
/// with CUDA 12.0 to 12.5.
static std::string adviceOnVersion(const Driver &driver, StringRef ptx) {
  static const Regex line("(^|\n)[ \t]*\\.version[ \t]+([0-9]+)\\.([0-9]+)");
  SmallVector<StringRef> words;
  if (!line.match(ptx, &words))
    return "";
  std::string version = (words[2] + "." + words[3]).str();
  std::string needed = words[2] == "8" && words[3] <= "5" && words[3].size() == 1
                           ? "of CUDA 12." + words[3].str() + " or newer"
                           : "that is newer";
  return "; PTX " + version + " needs a driver " + needed + ", found one of " +
         spellVersion(driver);
}

/// Assembles with ptxas, if there is one. The driver assembles too, but does not return the code.
/// Its linker does, but takes the PTX for a part of a program, where setmaxnreg is ignored: kernels
/// then take several times as long.
bool Kernel::loadAssembled(LoadedKernel &loaded, int capability, Warn warn) const {
  CodeCache cache = CodeCache::ofEnvironment();
  if (!cache.isOn())
    return false;
  std::vector<Assembler> assemblers = driver->assemblers.find();
  for (const Assembler &assembler : assemblers)
    if (std::optional<std::string> kept =
            assembler.about.empty()
                ? std::nullopt
                : cache.find(keyOf(*driver, manifest.ptxSha256, capability, assembler));
        kept && loadImage(loaded, *kept))
      return true;
  std::string refusals;
  auto refuse = [&](StringRef why) { refusals += (refusals.empty() ? "" : "; ") + why.str(); };
  for (const Assembler &assembler : assemblers) {
    if (assembler.about.empty()) {
      refuse(assembler.why);
      continue;
    }
    if (driver->assemblers.isRefused(assembler))
      continue;
    Expected<Assembled> made = assemble(assembler, manifest.target, *ptx);
    if (made && made->code.empty())
      made = createStringError(Twine(spell(assembler)) + " succeeds, and writes nothing");
    if (!made) {
      driver->assemblers.refuse(assembler);
      refuse(toString(made.takeError()));
    } else if (loadImage(loaded, made->code)) { // otherwise the driver is older than the assembler
      if (Outcome wrong =
              cache.keep(keyOf(*driver, manifest.ptxSha256, capability, assembler), made->code))
        warn("cache", wrong->message);
      return true;
    }
  }
  if (!refusals.empty())
    warn(refusals, refusals + "; the driver assembles in its place, in every process, unless the "
                              "variable DASH_PTXAS names another one");
  return false;
}

bool Kernel::loadImage(LoadedKernel &loaded, const std::string &code) const {
  return driver->moduleLoadDataEx(&loaded.module, code.c_str(), 0, nullptr, nullptr) == 0;
}

Outcome Kernel::loadCode(LoadedKernel &loaded, int capability, std::string &warning) const {
  auto warn = [&](const std::string &about, const std::string &text) {
    if (driver->mayWarn(about))
      warning += (warning.empty() ? "" : "\n") + text;
  };
  // For a cubin, only the driver knows the parameters of its functions. A driver older than the
  // assembler refuses it; then the driver assembles the PTX itself.
  if (!cubin.empty() && driver->funcGetParamInfo && loadImage(loaded, cubin))
    return std::nullopt;
  if (!cubin.empty() && !driver->funcGetParamInfo)
    warn(
        "cubin",
        "the cubin of '" + manifest.name +
            "' is left, and its PTX assembled: this driver is older than CUDA 12.4, and cannot say "
            "what parameters a cubin takes");
  // Asked before any assembler, which takes a process to say its version.
  if (driver->funcGetParamInfo)
    if (std::optional<std::string> kept = findKept(manifest.ptxSha256);
        kept && loadImage(loaded, *kept))
      return std::nullopt;
  if (loadAssembled(loaded, capability, warn))
    return std::nullopt;
  std::string info(logBytes, '\0'), log(logBytes, '\0');
  int options[] = {infoLogBuffer, infoLogBytes, errorLogBuffer, errorLogBytes};
  void *bytes = reinterpret_cast<void *>(uintptr_t(logBytes));
  void *values[] = {info.data(), bytes, log.data(), bytes};
  int code = driver->moduleLoadDataEx(&loaded.module, ptx->c_str(), 4, options, values);
  if (StringRef waits = findWaits(info.c_str()); code == 0 && !waits.empty())
    warn("driver", ("the driver's assembler (" + spellVersion(*driver) +
                    ") lets products wait for each other: " + waits + "; expected " +
                    goodAssemblers + ", or a ptxas that DASH_PTXAS names")
                       .str());
  std::string said = code == unsupportedPtxVersion ? adviceOnVersion(*driver, *ptx) : "";
  if (StringRef text = StringRef(log.c_str()).trim(); !text.empty())
    said += ("\n" + text).str();
  return driver->check(code, "assemble '" + manifest.name + "' for " + loaded.deviceName, said);
}
