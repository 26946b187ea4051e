//===- OpenKernel.cpp - reads a kernel's files ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Kernel.h"
#include "dash/Support/Limits.h"
#include "dash/Support/ReadFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace mlir::dash;
using namespace mlir::dash::launch;

static Outcome read(StringRef path, const Twine &what, uint64_t mostBytes, std::string &content) {
  Expected<std::string> found = readFile(path, mostBytes);
  if (!found)
    return fail(DASH_INVALID_MANIFEST, "cannot read " + what + ": " + toString(found.takeError()));
  content = std::move(*found);
  return std::nullopt;
}

static Outcome readAndCreate(std::shared_ptr<Driver> driver, StringRef path,
                             std::shared_ptr<Kernel> &result) {
  std::string text, ptx, order, code;
  if (Outcome wrong = read(path, "the manifest", maxManifestBytes, text))
    return wrong;
  Manifest manifest;
  if (Outcome wrong = readManifest(text, manifest))
    return wrong;
  auto readBeside = [&](const std::string &name, StringRef what, uint64_t mostBytes,
                        std::string &content) {
    SmallString<256> file = sys::path::parent_path(path);
    sys::path::append(file, name);
    return read(file, "its " + what + " '" + name + "'", mostBytes, content);
  };
  if (Outcome wrong = readBeside(manifest.ptxFile, "PTX", maxPtxBytes, ptx))
    return wrong;
  if (manifest.orderIsTable)
    if (Outcome wrong = readBeside(manifest.orderFile, "order", manifest.orderBytes, order))
      return wrong;
  std::optional<StringRef> cubin;
  if (!manifest.cubinFile.empty()) {
    if (Outcome wrong = readBeside(manifest.cubinFile, "cubin", maxCubinBytes, code))
      return wrong;
    cubin = code;
  }
  return Kernel::create(std::move(driver), text, ptx, order, cubin, result);
}

Outcome Kernel::open(std::shared_ptr<Driver> driver, StringRef path,
                     std::shared_ptr<Kernel> &result) {
  Outcome outcome = readAndCreate(std::move(driver), path, result);
  if (outcome)
    outcome->message = (path + ": " + outcome->message).str();
  return outcome;
}
