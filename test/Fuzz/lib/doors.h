//===- doors.h - everything that strangers write, read by libFuzzer -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   fuzz-readers --door=NAME [options of libFuzzer] [FOLDER...]
//
// A door is a parser, a reader or a pass that meets what a stranger wrote. Whatever the bytes, it
// answers: no crash, no failed assertion, no hang. A program names its doors in `doors`.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/DashDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dash;

struct Door {
  llvm::StringLiteral name;
  void (*read)(StringRef);
};
extern const ArrayRef<Door> doors;

/// A context keeps what it has met, so it is made anew now and then. Diagnostics go nowhere.
static MLIRContext &getContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (!context || uses++ % 1024 == 0) {
    DialectRegistry registry;
    registry.insert<DashDialect, arith::ArithDialect, func::FuncDialect, gpu::GPUDialect,
                    linalg::LinalgDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                    NVVM::NVVMDialect, scf::SCFDialect>();
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->getDiagEngine().registerHandler([](Diagnostic &) {});
  }
  return *context;
}

//===----------------------------------------------------------------------===//
// libFuzzer
//===----------------------------------------------------------------------===//

/// As the tests of a build with sanitizers have it: containers are shared with a libMLIR that is
/// not instrumented.
extern "C" const char *__asan_default_options() {
  return "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0";
}

static const Door *chosen = nullptr;

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  for (StringRef argument : ArrayRef(*argv, *argc))
    if (argument.consume_front("--door="))
      chosen = llvm::find_if(doors, [&](const Door &door) { return door.name == argument; });
  if (chosen && chosen != doors.end())
    return 0;
  llvm::errs() << "expected --door= one of ";
  llvm::interleaveComma(doors, llvm::errs(), [](const Door &door) { llvm::errs() << door.name; });
  llvm::errs() << "\n";
  exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  chosen->read(StringRef(reinterpret_cast<const char *>(data), size));
  return 0;
}
