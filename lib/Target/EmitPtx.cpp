//===- EmitPtx.cpp - kernels as PTX text and manifests --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Assemble.h"
#include "Files.h"
#include "KernelModules.h"
#include "Ptx.h"
#include "WriteManifest.h"
#include "dash/IR/KernelAttrs.h"
#include "dash/IR/PtxName.h"
#include "dash/Target/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace mlir::dash {
#define GEN_PASS_DEF_EMITPTX
#include "dash/Target/Passes.h.inc"
} // namespace mlir::dash

using namespace mlir;
using namespace mlir::dash;

namespace {

/// The output of one kernel module.
struct Emitted {
  gpu::GPUModuleOp module;
  ManifestParts parts;
  std::string manifest;
};

/// Whether another file than a manifest lies there, such as the order that is being compiled.
bool isAnotherJson(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file || (*file)->getBuffer().trim().empty())
    return false;
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*file)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return true;
  }
  const llvm::json::Object *object = value->getAsObject();
  return !object || !object->getObject("ptx") || !object->getArray("entries");
}

struct EmitPtx : public dash::impl::EmitPtxBase<EmitPtx> {
  using EmitPtxBase::EmitPtxBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    EmitPtxBase::getDependentDialects(registry);
    registerPtxTranslations(registry); // here, so that tools that emit nothing do not pay for it
  }

  void runOnOperation() override {
    SmallVector<gpu::GPUModuleOp> modules = kernelModules(getOperation());
    if (modules.empty() && !output.empty()) {
      getOperation()->emitError() << "no kernel module to write to '" << output.getValue()
                                  << "'; run --dash-outline-program and the lowerings first";
      return signalPassFailure();
    }
    if (llvm::is_contained({".", ".."}, llvm::sys::path::filename(output))) {
      getOperation()->emitError() << "output must end in a name, as DIR/name does, got '"
                                  << output.getValue() << "'";
      return signalPassFailure();
    }
    if (llvm::sys::path::filename(output).starts_with("-")) {
      getOperation()->emitError()
          << "output must end in a name that no tool takes for an option, got '"
          << output.getValue() << "'";
      return signalPassFailure();
    }
    std::vector<Emitted> all;
    for (gpu::GPUModuleOp module : modules) {
      FailureOr<Emitted> emitted = emit(module, pathOf(module, modules.size()));
      if (failed(emitted))
        return signalPassFailure();
      all.push_back(std::move(*emitted));
    }
    if (!output.empty() && failed(writeFiles(all)))
      return signalPassFailure();
    for (Emitted &emitted : all) {
      if (output.empty())
        replaceByBinary(emitted);
      else
        emitted.module.erase();
      ++numEmitted;
    }
  }

private:
  /// The path of a module's files, without the extension.
  std::string pathOf(gpu::GPUModuleOp module, size_t numModules) {
    StringRef symbol = module.getName();
    symbol.consume_back(kernelsSuffix);
    std::string name = ptxNameOf(symbol); // a symbol may contain a slash
    if (output.empty())
      return name;
    return numModules == 1 ? output.getValue() : output.getValue() + "-" + name;
  }

  FailureOr<Emitted> emit(gpu::GPUModuleOp module, StringRef path) {
    if (failed(verifyKernelModule(module)))
      return failure();
    FailureOr<std::string> ptx = translateToPtx(module);
    if (failed(ptx))
      return failure();
    ManifestParts parts{llvm::sys::path::filename(path).str(), std::move(*ptx), orderBytes(module),
                        std::nullopt};
    if (!ptxas.empty() && failed(askPtxas(module, parts)))
      return failure();
    std::string manifest = writeManifest(module, parts);
    return Emitted{module, std::move(parts), std::move(manifest)};
  }

  LogicalResult askPtxas(gpu::GPUModuleOp module, ManifestParts &parts) {
    std::vector<std::string> tools = findPtxas(ptxas);
    if (tools.empty()) {
      remark::missed(module.getLoc(), remark::RemarkOpts::name("ptxas").category(getArgument()))
          << remark::reason("no ptxas is found: the manifest says nothing of registers");
      return success();
    }
    llvm::Expected<AssembledPtx> assembled =
        assembleForResources(tools, targetOf(parts.ptx), parts.ptx);
    if (!assembled)
      return module.emitError() << llvm::toString(assembled.takeError());
    parts.assembled = std::move(*assembled);
    for (auto function : module.getOps<FunctionOpInterface>())
      if (int64_t bytes = parts.assembled->lookup(function.getName()).spillBytes)
        function.emitWarning() << "entry '" << function.getName()
                               << "' spills registers: threads store and load " << bytes
                               << " bytes";
    return success();
  }

  LogicalResult writeFiles(ArrayRef<Emitted> all) {
    StringRef folder = llvm::sys::path::parent_path(output);
    std::vector<OutputFile> files;
    llvm::StringSet<> names;
    for (const Emitted &emitted : all) {
      const ManifestParts &parts = emitted.parts;
      auto add = [&](StringRef ending, StringRef bytes) {
        SmallString<128> path(folder);
        llvm::sys::path::append(path, parts.file + ending);
        files.push_back({path.str().str(), bytes.str()});
      };
      gpu::GPUModuleOp module = emitted.module;
      if (!names.insert(parts.file).second)
        return module.emitError() << "two kernel modules would be written to '" << parts.file
                                  << ".ptx'; give them names of their own";
      add(".ptx", parts.ptx);
      if (parts.order)
        add(".order", *parts.order);
      add(".json", emitted.manifest);
      if (const std::string &path = files.back().path; isAnotherJson(path))
        return module.emitError() << "the manifest would overwrite '" << path
                                  << "', which is no manifest; give 'output' another name";
    }
    if (llvm::Error error = writeAllOrNone(files))
      return getOperation()->emitError() << "cannot write the kernels, nothing was written: "
                                         << llvm::toString(std::move(error));
    return success();
  }

  /// Puts a `gpu.binary` that holds text and manifest in place of the kernel module.
  static void replaceByBinary(Emitted &emitted) {
    gpu::GPUModuleOp module = emitted.module;
    OpBuilder b(module);
    auto object = gpu::ObjectAttr::get(
        b.getContext(), module.getTargetsAttr()[0], gpu::CompilationTarget::Assembly,
        b.getStringAttr(emitted.parts.ptx), /*properties=*/nullptr, /*kernels=*/nullptr);
    auto binary = gpu::BinaryOp::create(b, module.getLoc(), module.getName(),
                                        /*offloadingHandler=*/nullptr, b.getArrayAttr({object}));
    binary->setAttr(manifestAttr, b.getStringAttr(emitted.manifest));
    if (Attribute table = module->getAttr(orderBufferAttr))
      binary->setAttr(orderBufferAttr, table);
    module.erase();
  }
};

} // namespace
