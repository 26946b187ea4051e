//===- Program.h - a lowered function and its arguments --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_TOOLS_RUN_PROGRAM_H
#define DASH_TOOLS_RUN_PROGRAM_H

#include "dash/IR/Problem.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace dash_run {

enum class Element { BF16, F16, F32 };

/// A whole tensor in this program's memory, contiguous; a number has an empty shape.
struct Tensor {
  std::string name;
  mlir::dash::TensorRoleAttr role;
  llvm::SmallVector<int64_t> shape;
  Element element = Element::F32;
  std::vector<char> data;

  bool isOutput() const { return role.isWritten(); }
  bool isContributions() const { return role.getKind() == mlir::dash::TensorKind::Contributions; }
  int64_t numElements() const;
  int64_t elementBytes() const { return element == Element::F32 ? 4 : 2; }
  /// As NPY files spell it: "<u2", "<f2", "<f4".
  llvm::StringRef npyType() const;

  float get(int64_t index) const;
  void set(int64_t index, double value); ///< rounds to nearest even
};

/// The function's name in an isolated program, whatever its file calls it.
constexpr llvm::StringLiteral entryName = "run";

/// A function to run, and what it takes.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< the function, called `entryName`, and tables
  mlir::dash::Problem problem;
  std::optional<double> softcap;
  std::vector<Tensor> arguments; ///< without data
};

/// Bytes of memory in this machine.
int64_t memoryOfMachine();

/// Loads a scheduled or lowered program, and lowers it to loops. An empty `function` selects the
/// only one that can run. Errors go to the context's diagnostics. A loaded program calls nothing.
/// Its arguments have the names and shapes of the problem, and together fit into memory.
mlir::FailureOr<Program> loadProgram(mlir::MLIRContext &context, llvm::StringRef path,
                                     llvm::StringRef function, bool contributions);

/// Compiles the program and runs it on its arguments, which must have data.
llvm::Error runProgram(Program &program);

} // namespace dash_run

#endif // DASH_TOOLS_RUN_PROGRAM_H
