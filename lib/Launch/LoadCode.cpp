//===- LoadCode.cpp - a kernel's code on a device -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cubin that came with the kernel, else what was assembled before and kept, else the PTX.
//
//===----------------------------------------------------------------------===//

#include "dash/Launch/CodeCache.h"
#include "dash/Launch/Kernel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace mlir::dash::launch;

namespace {
// Numbers of the driver's interface.
constexpr int errorLogBuffer = 5, errorLogBytes = 6, jitTarget = 9, inputIsPtx = 1;
constexpr uintptr_t acceleratedTargets = 0x10000; // those whose names end in "a"
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

/// Assembles by the driver's linker, which gives the code away. False where it refuses: loading the PTX then says why.
static bool assemble(const Driver &driver, const std::string &ptx, int capability, bool isExact,
                     std::string &code) {
  int options[] = {jitTarget};
  void *values[] = {
      reinterpret_cast<void *>((isExact ? acceleratedTargets : 0) + uintptr_t(capability))};
  void *state = nullptr, *cubin = nullptr;
  size_t bytes = 0;
  if (driver.linkCreate(1, options, values, &state))
    return false;
  bool isDone = driver.linkAddData(state, inputIsPtx, const_cast<char *>(ptx.c_str()),
                                   ptx.size() + 1, "kernel", 0, nullptr, nullptr) == 0 &&
                driver.linkComplete(state, &cubin, &bytes) == 0;
  if (isDone)
    code.assign(static_cast<const char *>(cubin), bytes);
  driver.linkDestroy(state); // the cubin is the state's
  return isDone;
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
    if (assemble(*driver, ptx, capability, StringRef(manifest.target).ends_with("a"), code) &&
        load(code)) {
      if (Outcome wrong = cache.keep(key, code); wrong && driver->mayWarn())
        warning = wrong->message;
      return std::nullopt;
    }
  }
  std::string log(logBytes, '\0');
  int options[] = {errorLogBuffer, errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(uintptr_t(log.size()))};
  int code = driver->moduleLoadDataEx(&loaded.module, ptx.c_str(), 2, options, values);
  StringRef said = StringRef(log.c_str()).trim();
  return driver->check(code, "assemble '" + manifest.name + "' for " + loaded.deviceName,
                       said.empty() ? Twine() : "\n" + said);
}
