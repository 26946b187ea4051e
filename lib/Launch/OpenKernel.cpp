//===- OpenKernel.cpp - reads a kernel's files ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Kernel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace mlir::dash::launch;

/// Regular files only: a pipe of that name would be waited for.
static Outcome readFile(StringRef path, const Twine &what, std::string &content) {
  sys::fs::file_status status;
  std::error_code error = sys::fs::status(path, status);
  if (!error && !sys::fs::is_regular_file(status))
    error = std::make_error_code(std::errc::is_a_directory);
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = error;
  if (!error)
    file = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(DASH_INVALID_MANIFEST, "cannot read " + what + ": " + file.getError().message());
  content = (*file)->getBuffer().str();
  return std::nullopt;
}

static Outcome readAndCreate(std::shared_ptr<Driver> driver, StringRef path,
                             std::shared_ptr<Kernel> &result) {
  std::string text, ptx, order, code;
  if (Outcome wrong = readFile(path, "the manifest", text))
    return wrong;
  Manifest manifest;
  if (Outcome wrong = readManifest(text, manifest))
    return wrong;
  auto readBeside = [&](const std::string &name, StringRef what, std::string &content) {
    SmallString<256> file = sys::path::parent_path(path);
    sys::path::append(file, name);
    return readFile(file, "its " + what + " '" + name + "'", content);
  };
  if (Outcome wrong = readBeside(manifest.ptxFile, "PTX", ptx))
    return wrong;
  if (manifest.orderIsTable)
    if (Outcome wrong = readBeside(manifest.orderFile, "order", order))
      return wrong;
  std::optional<StringRef> cubin;
  if (!manifest.cubinFile.empty()) {
    if (Outcome wrong = readBeside(manifest.cubinFile, "cubin", code))
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
