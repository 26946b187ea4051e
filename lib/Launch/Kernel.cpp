//===- Kernel.cpp - checks a kernel, and loads it onto devices ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Kernel.h"
#include "dash/Launch/CodeCache.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mlir::dash::launch;

namespace {
// Numbers from the driver's interface.
constexpr int multiprocessorCount = 16, capabilityMajor = 75, capabilityMinor = 76,
              mostSharedOptin = 97;
constexpr int maxDynamicSharedBytes = 8;
} // namespace

static Outcome checkHash(StringRef data, StringRef expected, const char *what) {
  expected.consume_front("sha256:");
  std::string found = hashOf(data);
  if (found == expected)
    return std::nullopt;
  return fail(DASH_INVALID_MANIFEST, Twine("the manifest does not belong to the ") + what +
                                         ": expected sha256 " + expected.take_front(64) +
                                         ", found " + found + "; compile both again");
}

Outcome Kernel::create(std::shared_ptr<Driver> driver, StringRef manifestText, StringRef ptx,
                       StringRef order, std::optional<StringRef> cubin,
                       std::shared_ptr<Kernel> &result) {
  auto kernel = std::make_shared<Kernel>();
  Manifest &manifest = kernel->manifest;
  if (Outcome wrong = readManifest(manifestText, manifest))
    return wrong;
  // A manifest alone says sizes and regions, for dumps that are looked at where nothing else is.
  bool isAlone = !driver && ptx.empty() && order.empty() && !cubin;
  if (isAlone) {
    kernel->manifestText = manifestText.str();
    kernel->ptx = std::make_shared<const std::string>();
    result = std::move(kernel);
    return std::nullopt;
  }
  if (Outcome wrong = checkHash(ptx, manifest.ptxSha256, "PTX"))
    return wrong;
  if (Outcome wrong = checkEntries(ptx, manifest))
    return wrong;
  if (static_cast<int64_t>(order.size()) != manifest.orderBytes)
    return fail(DASH_INVALID_MANIFEST, "expected an order of " + Twine(manifest.orderBytes) +
                                           " bytes, found " + Twine(order.size()));
  if (manifest.orderIsTable)
    if (Outcome wrong = checkHash(order, manifest.orderSha256, "order"))
      return wrong;
  if (cubin)
    if (Outcome wrong = checkHash(*cubin, manifest.cubinSha256, "cubin"))
      return wrong;
  kernel->cubin = cubin.value_or("").str();
  kernel->manifestText = manifestText.str();
  if (driver)
    kernel->ptx = driver->programs.find(manifest.ptxSha256);
  if (!kernel->ptx)
    kernel->ptx = std::make_shared<const std::string>(ptx);
  if (driver)
    driver->programs.keep(manifest.ptxSha256, kernel->ptx);
  kernel->order = order.str();
  kernel->driver = std::move(driver);
  for (const Entry &entry : manifest.entries)
    kernel->hasScale |= any_of(
        entry.parameters, [](const Parameter &parameter) { return parameter.name == "scale"; });
  result = std::move(kernel);
  return std::nullopt;
}

/// Ignores failures: at the end of the process the driver may already be gone.
LoadedKernel::~LoadedKernel() {
  if (module) {
    CurrentContext current(*driver, context);
    driver->moduleUnload(module);
  }
  if (context)
    driver->primaryCtxRelease(device);
}

/// Everything that `prepare` depends on, including the assemblers.
std::string Kernel::codeKey(int device) const {
  std::string key;
  raw_string_ostream text(key);
  text << manifest.ptxSha256 << ' ' << manifest.target << ' ' << device;
  for (const Entry &entry : manifest.entries) {
    text << ' ' << entry.name << ' ' << entry.sharedBytes << ' ' << entry.block[0] << ' '
         << entry.block[1] << ' ' << entry.block[2] << ' ';
    for (const Parameter &parameter : entry.parameters)
      text << bytesOf(parameter.type);
  }
  if (!cubin.empty())
    text << " cubin " << manifest.cubinSha256;
  else if (CodeCache::ofEnvironment().isOn())
    for (const Assembler &assembler : driver->assemblers.find())
      text << " assembler " << assembler.path << ' ' << assembler.about;
  return key;
}

Outcome Kernel::load(int device, const LoadedKernel *&result, std::string &warning) {
  std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const LoadedKernel> &place = devices[device];
  if (place) {
    result = place.get();
    return std::nullopt;
  }
  const std::string key = codeKey(device);
  place = driver->codes.find(key);
  if (!place) {
    auto loaded = std::make_shared<LoadedKernel>(driver);
    loaded->device = device;
    if (Outcome wrong = prepare(*loaded, warning))
      return wrong;
    place = std::move(loaded);
    driver->codes.keep(key, place);
  }
  result = place.get();
  return std::nullopt;
}

Outcome Kernel::prepare(LoadedKernel &loaded, std::string &warning) const {
  int device = 0;
  if (Outcome wrong = driver->check(driver->deviceGet(&device, loaded.device),
                                    "open device " + Twine(loaded.device)))
    return wrong;
  loaded.device = device;
  char name[128] = "";
  int major = 0, minor = 0, mostShared = 0;
  int code = driver->deviceGetName(name, sizeof(name) - 1, device);
  for (auto [value, attribute] :
       {std::pair(&loaded.multiprocessors, multiprocessorCount), std::pair(&major, capabilityMajor),
        std::pair(&minor, capabilityMinor), std::pair(&mostShared, mostSharedOptin)})
    code = code ? code : driver->deviceGetAttribute(value, attribute, device);
  if (Outcome wrong = driver->check(code, "ask device " + Twine(device) + " what it is"))
    return wrong;
  loaded.deviceName = name;
  if (Outcome wrong = checkTarget(major, minor, name))
    return wrong;
  if (Outcome wrong = driver->check(driver->primaryCtxRetain(&loaded.context, device),
                                    "take the context of device " + Twine(device)))
    return wrong;
  CurrentContext current(*driver, loaded.context);
  if (Outcome wrong = current.getOutcome())
    return wrong;

  if (Outcome wrong = loadCode(loaded, 10 * major + minor, warning))
    return wrong;
  for (const Entry &entry : manifest.entries)
    if (Outcome wrong = admit(loaded, entry, mostShared))
      return wrong;
  return std::nullopt;
}

/// Code for sm_90a runs on exactly that capability, code for sm_90 on every later one.
Outcome Kernel::checkTarget(int major, int minor, StringRef deviceName) const {
  StringRef digits = manifest.target;
  bool isPrefixed = digits.consume_front("sm_");
  bool isExact = digits.consume_back("a") || digits.consume_back("f");
  int wanted = 0, found = 10 * major + minor;
  if (!isPrefixed || digits.size() > 4 || digits.getAsInteger(10, wanted))
    return fail(DASH_INVALID_MANIFEST, "cannot read the target '" + manifest.target + "'");
  if (isExact ? found == wanted : found >= wanted)
    return std::nullopt;
  return fail(DASH_INVALID_MANIFEST, "compiled for " + manifest.target + ", found " + deviceName +
                                         " of sm_" + Twine(found));
}

/// At a launch, the driver reads as many bytes as the function has parameters, also for code that
/// was not checked as text.
Outcome Kernel::checkParameters(void *function, const Entry &entry) const {
  if (!driver->funcGetParamInfo) // then only checked text is loaded
    return std::nullopt;
  std::vector<uint64_t> expected, found;
  for (const Parameter &parameter : entry.parameters)
    expected.push_back(bytesOf(parameter.type));
  size_t offset, bytes;
  while (found.size() <= expected.size() &&
         driver->funcGetParamInfo(function, found.size(), &offset, &bytes) == 0)
    found.push_back(bytes);
  if (found == expected)
    return std::nullopt;
  auto at = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first;
  return fail(DASH_INVALID_MANIFEST,
              "the code of '" + entry.name +
                  "' takes other parameters than the manifest says: number " +
                  Twine(at - found.begin() + 1) + " of " + Twine(expected.size()) + " has " +
                  (at == found.end() ? "no" : std::to_string(*at)) + " bytes; assemble it again");
}

/// Opts in to the entry's shared memory, and asks how many of its blocks the device holds at a
/// time.
Outcome Kernel::admit(LoadedKernel &loaded, const Entry &entry, int mostShared) const {
  void *function = nullptr;
  if (Outcome wrong =
          driver->check(driver->moduleGetFunction(&function, loaded.module, entry.name.c_str()),
                        "find the entry '" + entry.name + "'"))
    return wrong;
  if (Outcome wrong = checkParameters(function, entry))
    return wrong;
  if (int64_t(entry.sharedBytes) > mostShared)
    return fail(DASH_NO_CAPACITY, "'" + entry.name + "' needs " + Twine(entry.sharedBytes) +
                                      " bytes of shared memory a block, found " +
                                      Twine(mostShared) + " on " + loaded.deviceName);
  int blocks = 0;
  int code = entry.sharedBytes
                 ? driver->funcSetAttribute(function, maxDynamicSharedBytes, entry.sharedBytes)
                 : 0;
  if (Outcome wrong = driver->check(code, "give '" + entry.name + "' " + Twine(entry.sharedBytes) +
                                              " bytes of shared memory"))
    return wrong;
  uint64_t threads = uint64_t(entry.block[0]) * entry.block[1]; // each below 2^31
  threads = threads > 1024 ? threads : threads * entry.block[2];
  if (threads > 1024)
    return fail(DASH_INVALID_MANIFEST,
                "entry '" + entry.name + "': expected a block of at most 1024 threads");
  code = driver->occupancy(&blocks, function, static_cast<int>(threads), entry.sharedBytes);
  if (Outcome wrong = driver->check(code, "ask how many blocks of '" + entry.name + "' fit"))
    return wrong;
  loaded.functions.push_back(function);
  loaded.resident.push_back(int64_t(blocks) * loaded.multiprocessors);
  return std::nullopt;
}
