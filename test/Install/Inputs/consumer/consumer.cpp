//===- consumer.cpp - a compiler that embeds dash -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   consumer FILE.mlir PIPELINE
//
//===----------------------------------------------------------------------===//

#include "dash/Driver/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  mlir::DialectRegistry registry;
  mlir::dash::registerDash(registry);
  mlir::dash::registerDashPasses();
  mlir::dash::registerUpstream(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  mlir::PassManager manager(&context);
  if (failed(mlir::parsePassPipeline(argv[2], manager)) || failed(manager.run(*module)))
    return 1;
  module->print(llvm::outs());
  return 0;
}
