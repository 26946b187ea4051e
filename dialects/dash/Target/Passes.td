//===- Passes.td - kernels for one chip --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stage `Target`: from kernels in machine dialects to PTX and its manifest. A kernel module is
// a `gpu.module` that Lowering made: it has `dash.program`, or functions with `dash.entry`. No
// other `gpu.module` of the host is touched.
//===----------------------------------------------------------------------------===//

#ifndef DASH_TARGET_PASSES_TD
#define DASH_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttachTarget : Pass<"dash-attach-target", "::mlir::ModuleOp"> {
  let summary = "Set the chip that kernels are compiled for";
  let description = [{
    Gives each kernel module the `#nvvm.target` of the chip that `target` names, with the PTX
    version of its description (`dash/IR/TargetDescription.h`; for sm_90a the lowest one, 8.3) and
    full optimisation. Later passes read the attribute.

    Needs: kernel modules. Leaves: all else untouched.
    Does not: convert; see `dash-convert-to-llvm`.

    The level is 3, because below 1 ptxas serializes wgmma. A kernel module that already has another
    target is refused.

    (* example filepath=test/Target/attach-target.mlir *)
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"::mlir::dash::defaultTarget.str()",
           "The chip that kernels are compiled for, by its name in PTX">,
  ];
  let statistics = [
    Statistic<"numAttached", "num-attached", "Number of kernel modules given a target">,
  ];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def ConvertToLlvm : Pass<"dash-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert kernels to the dialects llvm and nvvm";
  let description = [{
    Converts the remaining ops of the dialects arith, cf and scf in kernels, and the nvvm ops that
    are spelled as PTX text, to the dialect llvm, with upstream's conversions.

    Needs: kernel modules whose functions are `llvm.func`. Leaves: only llvm and nvvm ops, or an
    error at what is left. Does not: touch the host's own modules, or clean up after the
    conversions: LLVM does that anyway.

    (* example filepath=test/Target/convert-to-llvm.mlir *)
  }];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of kernel modules converted">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def EmitPtx : Pass<"dash-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "Emit kernels as PTX text with a manifest";
  let description = [{
    Translates each kernel module to PTX and describes it in a manifest: JSON with everything that a
    launcher must know (entries, grids, parameters, workspace, sizes), in the format of
    `dialects/dash/Target/manifest.schema.json`.

    Needs: `dash-attach-target`, `dash-convert-to-llvm`. Leaves: without `output`, a `gpu.binary` in
    place of the kernel module, with the manifest as its attribute `dash.manifest`; with `output`,
    files, and no kernel module. Does not: assemble, unless `ptxas` is given.

    The PTX is made in this process, without libdevice and without other tools or files. So the text
    depends only on the kernels and the version of LLVM.

    Files: `DIR/name.ptx`, `DIR/name.json` and, if the order is a table, `DIR/name.order` (i32
    words, little-endian). If there are several kernel modules, each has separate files,
    `DIR/name-func.…`, with func the symbol without `_kernels` in the form that PTX allows
    (`#dash.program`).

    Either all files of a run are written, or none changes: also on an error, on a signal, and
    beside other writers of the same names, which wait for each other. A process that is killed with
    SIGKILL may leave files of two runs; then the hash in the manifest is not that of the PTX.

    **Certificate.** The manifest's certificate is the SHA-256 of a text with everything that
    determines the bits, in lines of `key value`: `dash certificate 1`; the facts `element`,
    `head_dim`, `head_dim_v`, `mask`, `tiles`, `kind`, `level`, `deterministic`, `parts` and `width`
    as JSON; `order`, the text of the formulas or the SHA-256 of the table's bytes; `search`, if the
    table was searched for, with the texts of `#dash.search` and `#dash.cost`; `ptx`, the SHA-256 of
    the PTX. Runs with equal certificates and equal inputs give equal gradients, unless the program
    is not deterministic.

    (* example filepath=test/Target/emit-ptx.mlir show=command,input *)
  }];
  let options = [
    Option<"output", "output", "std::string", /*default=*/"\"\"",
           "Where to write: `DIR/name` for DIR/name.ptx and the files that belong to it">,
    Option<"ptxas", "ptxas", "std::string", /*default=*/"\"\"",
           "An assembler to ask for registers, by its path or its name on PATH; `auto` is that of "
           "DASH_PTXAS, or else the first good ptxas on PATH, if any. What it warns of and "
           "products that it lets wait are errors, spills are warned of. None by default, so that "
           "the output does not hang on what is installed">,
  ];
  let statistics = [
    Statistic<"numEmitted", "num-emitted", "Number of kernel modules emitted">,
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

#endif // DASH_TARGET_PASSES_TD
