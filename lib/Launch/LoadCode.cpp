//===- LoadCode.cpp - a kernel's code on a device -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cubin that came with the kernel, else what was assembled before and kept, else the PTX.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/CodeCache.h"
#include "dash/Launch/Kernel.h"
#include "dash/Support/RunProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llvm;
using namespace mlir::dash::launch;

namespace {
// Numbers of the driver's interface.
constexpr int errorLogBuffer = 5, errorLogBytes = 6;
constexpr size_t logBytes = 16 * 1024;
} // namespace

/// What the code is of. Drivers of one version of the interface may have different assemblers, so their own version counts too.
static std::string keyOf(const Driver &driver, StringRef ptxHash, int capability) {
  int version = 0;
  driver.driverGetVersion(&version);
  std::string key =
      ("ptx " + ptxHash + "\ncapability " + Twine(capability) + "\ndriver " + Twine(version)).str();
  if (auto about = MemoryBuffer::getFileAsStream("/proc/driver/nvidia/version"))
    key += " " + (*about)->getBuffer().take_until([](char c) { return c == '\n'; }).str();
  return key;
}

/// By ptxas, where there is one: the driver assembles too, but does not give the code away. Its linker does, and takes the PTX for a part
/// of a program, in which setmaxnreg is ignored: kernels then take several times as long.
static bool assemble(const std::string &ptx, StringRef target, std::string &code) {
  const char *named = std::getenv("DASH_PTXAS");
  ErrorOr<std::string> ptxas = sys::findProgramByName(named && *named ? named : "ptxas");
  if (!ptxas)
    return false;
  SmallString<128> source, object;
  if (sys::fs::createTemporaryFile("dash", "ptx", source))
    return false;
  FileRemover removeSource(source);
  if (sys::fs::createTemporaryFile("dash", "cubin", object))
    return false;
  FileRemover removeObject(object);
  std::error_code error;
  raw_fd_ostream(source, error) << ptx;
  std::string arch = ("-arch=" + target).str();
  std::string why;
  if (error || mlir::dash::runProgram(*ptxas, {*ptxas, arch, "-o", object, source}, /*output=*/"",
                                      std::chrono::minutes(5), why) != 0)
    return false;
  auto made = MemoryBuffer::getFile(object, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (made)
    code = (*made)->getBuffer().str();
  return !code.empty();
}

Outcome Kernel::loadCode(LoadedKernel &loaded, int capability, std::string &warning) const {
  auto load = [&](const std::string &code) {
    return driver->moduleLoadDataEx(&loaded.module, code.c_str(), 0, nullptr, nullptr) == 0;
  };
  // Refused by a driver that is older than its assembler: then the driver's own has its turn.
  if (!cubin.empty() && load(cubin))
    return std::nullopt;
  if (CodeCache cache = CodeCache::ofEnvironment(); cache.isOn()) {
    std::string key = keyOf(*driver, manifest.ptxSha256, capability), code;
    if (std::optional<std::string> kept = cache.find(key); kept && load(*kept))
      return std::nullopt;
    if (assemble(*ptx, manifest.target, code) && load(code)) {
      if (Outcome wrong = cache.keep(key, code); wrong && driver->mayWarn())
        warning = wrong->message;
      return std::nullopt;
    }
  }
  std::string log(logBytes, '\0');
  int options[] = {errorLogBuffer, errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(uintptr_t(log.size()))};
  int code = driver->moduleLoadDataEx(&loaded.module, ptx->c_str(), 2, options, values);
  StringRef said = StringRef(log.c_str()).trim();
  return driver->check(code, "assemble '" + manifest.name + "' for " + loaded.deviceName,
                       said.empty() ? Twine() : "\n" + said);
}
