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

/// What a program's function is called, whatever its file calls it.
constexpr llvm::StringLiteral entryName = "run";

/// A function to run, and what it takes.
struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< of the function, called `entryName`, and of tables
  mlir::dash::Problem problem;
  std::optional<double> softcap;
  std::vector<Tensor> arguments; ///< without data
};

/// Bytes that this machine has.
int64_t memoryOfMachine();

/// Loads a scheduled program, or a lowered one, and lowers it to loops. An empty `function` is the
/// only one that can be run. Says what is wrong to the context's diagnostics: what is loaded calls nothing, and its arguments have the
/// names and shapes that the problem gives them, and fit into memory together.
mlir::FailureOr<Program> loadProgram(mlir::MLIRContext &context, llvm::StringRef path,
                                     llvm::StringRef function, bool contributions);

/// Compiles and runs the program on its arguments, which have data now.
llvm::Error runProgram(Program &program);

} // namespace dash_run

#endif // DASH_TOOLS_RUN_PROGRAM_H
