//===- ReportFile.cpp - what a pass writes beside the module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/IR/ReportFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace mlir::dash;

llvm::Error dash::writeReportFile(StringRef path,
                                  llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto writeAll = [&](llvm::raw_fd_ostream &os) -> llvm::Error {
    write(os);
    os.flush();
    // A full disk shows here, and would end the process if nobody looked.
    if (!os.has_error())
      return llvm::Error::success();
    std::error_code error = os.error();
    os.clear_error();
    return llvm::createFileError(path, error);
  };
  if (path == "-")
    return writeAll(llvm::outs());
  // What a link points to is replaced, not the link.
  SmallString<128> target;
  llvm::sys::fs::file_status status;
  bool exists = !llvm::sys::fs::status(path, status) && !llvm::sys::fs::real_path(path, target);
  if (!exists || llvm::sys::fs::is_regular_file(status))
    return llvm::writeToOutput(exists ? StringRef(target) : path, [&](llvm::raw_ostream &os) {
      return writeAll(static_cast<llvm::raw_fd_ostream &>(os)); // of its temporary file
    });
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return llvm::createFileError(path, error);
  return writeAll(os);
}
