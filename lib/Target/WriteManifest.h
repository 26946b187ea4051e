//===- WriteManifest.h - everything that a launcher must know ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_TARGET_WRITEMANIFEST_H
#define DASH_LIB_TARGET_WRITEMANIFEST_H

#include "Assemble.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <optional>

namespace mlir::dash {

/// The files beside the manifest.
struct ManifestParts {
  std::string file;                      ///< the files' common name, without an extension
  std::string ptx;                       ///< its text
  std::optional<std::string> order;      ///< the bytes of the order buffer, if it is a table
  std::optional<AssembledPtx> assembled; ///< ptxas's answer, if it was asked
};

/// Checks that the attributes of a kernel module, its entries and their arguments agree. Errors are
/// at the module or at the entry.
LogicalResult verifyKernelModule(gpu::GPUModuleOp module);

/// The bytes of a verified module's order buffer, as little-endian words; none if it is not a
/// table.
std::optional<std::string> orderBytes(gpu::GPUModuleOp module);

/// The manifest of a verified module: JSON that follows dialects/dash/Target/manifest.schema.json.
std::string writeManifest(gpu::GPUModuleOp module, const ManifestParts &parts);

/// How a manifest calls the type of a parameter: "ptr", "i32", "i64" or "f32"; "" for others.
StringRef parameterType(Type type);

/// The chip that PTX is for: what its `.target` says.
StringRef targetOf(StringRef ptx);

} // namespace mlir::dash

#endif // DASH_LIB_TARGET_WRITEMANIFEST_H
