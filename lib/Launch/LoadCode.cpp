//===- LoadCode.cpp - a kernel's code on a device -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cubin that came with the kernel, else what was assembled before and kept, else the PTX.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/CodeCache.h"
#include "dash/Launch/Kernel.h"
#include "dash/Support/RunProgram.h"
#include "dash/Support/WriteFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace llvm;
using namespace mlir::dash::launch;
using mlir::dash::TemporaryFile;

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
/// of a program, in which setmaxnreg is ignored: kernels then take several times as long. why: what is in the way, where there is a ptxas.
static bool assemble(const std::string &ptx, StringRef target, std::string &code,
                     std::string &why) {
  const char *named = std::getenv("DASH_PTXAS");
  ErrorOr<std::string> ptxas = sys::findProgramByName(named && *named ? named : "ptxas");
  if (!ptxas)
    return false;
  Expected<TemporaryFile> source = TemporaryFile::create("ptx", ptx);
  Expected<TemporaryFile> object = TemporaryFile::create("cubin", "");
  if (!source || !object) {
    why = toString(joinErrors(source.takeError(), object.takeError())); // a full disk
    return false;
  }
  std::string arch = ("-arch=" + target).str();
  std::string failed;
  if (mlir::dash::runProgram(*ptxas, {*ptxas, arch, "-o", object->path(), source->path()},
                             /*output=*/"", std::chrono::minutes(5), failed) != 0)
    return false;
  auto made =
      MemoryBuffer::getFile(object->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
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
    std::string key = keyOf(*driver, manifest.ptxSha256, capability), code, why;
    if (std::optional<std::string> kept = cache.find(key); kept && load(*kept))
      return std::nullopt;
    if (assemble(*ptx, manifest.target, code, why) && load(code)) {
      if (Outcome wrong = cache.keep(key, code); wrong && driver->mayWarn())
        warning = wrong->message;
      return std::nullopt;
    }
    if (!why.empty() && driver->mayWarn())
      warning = "cannot hand '" + manifest.name + "' to ptxas: " + why +
                "; the driver assembles it in every process, unless the variable TMPDIR names "
                "another folder";
  }
  std::string log(logBytes, '\0');
  int options[] = {errorLogBuffer, errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(uintptr_t(log.size()))};
  int code = driver->moduleLoadDataEx(&loaded.module, ptx->c_str(), 2, options, values);
  StringRef said = StringRef(log.c_str()).trim();
  return driver->check(code, "assemble '" + manifest.name + "' for " + loaded.deviceName,
                       said.empty() ? Twine() : "\n" + said);
}
