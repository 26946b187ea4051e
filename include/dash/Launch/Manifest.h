//===- Manifest.h - what a launcher knows about a kernel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dialects/dash/Target/manifest.schema.json describes the file. Strides are in elements, alignments
// and workspace in bytes.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_MANIFEST_H
#define DASH_LAUNCH_MANIFEST_H

#include "dash-c/Launch.h"
#include "dash/Launch/Expression.h"
#include <array>

namespace mlir::dash::launch {

/// The bounds are equal if the kernel serves one value only.
struct Size {
  std::string name;
  int64_t minimum, maximum;
};

struct Constraint {
  Expression expression;
  int64_t equals;
  std::string message;
};

struct TensorSpec {
  std::string name;
  DashElement element;
  bool isWritten;
  std::vector<Expression> shape; ///< outermost first
  int64_t alignment, strideMultiple;
};

/// What sets a region of the workspace to its initial state.
enum class Initial { Any, Zero, Entry, File };

struct Region {
  std::string name;
  Expression bytes;
  int64_t alignment;
  Initial initial;

  /// A part of the order, which the caller keeps separate from the workspace.
  bool isOrder() const { return initial == Initial::Entry || initial == Initial::File; }
};

enum class ParameterType { Pointer, I32, I64, F32 };

struct Parameter {
  std::string name;
  ParameterType type;
};

/// A function of the PTX.
struct Entry {
  std::string name, role;
  bool makesOrder; ///< its output depends on sizes only
  bool isAsked;    ///< launched only if the caller asks for it
  std::array<Expression, 3> grid;
  std::array<uint32_t, 3> block, cluster;
  uint32_t sharedBytes;
  bool isCooperative;
  bool overlaps; ///< may begin before the entry before it has ended
  std::vector<Parameter> parameters;
};

struct Manifest {
  std::string name, ptxFile, ptxSha256, target, certificate;
  int64_t headDim, workers, width, minWorkers;
  bool isDeterministic;    ///< sums grow in an order
  std::vector<Size> sizes; ///< in the order in which the tensors' shapes name them
  std::vector<Constraint> constraints;
  std::vector<std::pair<std::string, Expression>> derived; ///< each uses only those before it
  std::vector<TensorSpec> tensors;
  std::vector<Region> workspace;
  bool orderIsTable;
  int64_t orderBytes; ///< for a table
  std::string orderFile, orderSha256, orderCommand;
  std::vector<Entry> entries;
  std::string cubinFile, cubinSha256; ///< empty if there is none

  /// Adds workers, width and derived numbers to the sizes.
  Outcome derive(Values &values) const;
};

/// The dimensions whose stride can be a parameter: all but the innermost.
inline constexpr std::array<llvm::StringLiteral, 3> strideNames = {"batch", "head", "row"};

/// Reads and checks a manifest. Each mistake is a failure with its place.
Outcome readManifest(llvm::StringRef text, Manifest &manifest);

/// Bytes of a parameter.
uint32_t bytesOf(ParameterType type);

/// Checks that the PTX has the manifest's entries with their parameters: with too few values, the
/// driver would read past the end.
Outcome checkEntries(llvm::StringRef ptx, const Manifest &manifest);

/// The word for an element type.
llvm::StringRef spell(DashElement element);
/// Bytes of an element; 0 for an invalid number.
uint32_t bytesOf(DashElement element);
/// "[batch, heads, q_rows, 128]".
std::string spell(const TensorSpec &spec);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_MANIFEST_H
