//===- TargetDescription.cpp - the chips that dash knows ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One entry for each chip. No other file of dash states sizes of a chip.
//
//===----------------------------------------------------------------------===//

#include "dash/IR/TargetDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dash;

static constexpr TargetDescription targets[] = {
    {
        // Not sm_90, which has neither wgmma nor setmaxnreg.
        /*chip=*/"sm_90a",
        // The lowest version that the instructions need (tensormap.replace), so that older drivers
        // assemble the PTX too.
        /*features=*/"+ptx83",
        /*products=*/"H100, H200",
        /*capability=*/90,
        /*multiprocessors=*/132,
        /*maxWarps=*/32,
        /*sharedBytes=*/232448,
        /*registers=*/65536,
        /*registerUnit=*/8,
        // 255 is the most that an instruction can name, 240 the last multiple that leaves room for
        // a second role.
        /*minRegisters=*/24,
        /*maxRegisters=*/240,
        /*sharedBytesOfCycle=*/128,
        // 5.9 TB/s over 132 multiprocessors at 1.78 GHz.
        /*memoryBytesOfCycle=*/25,
    },
};

ArrayRef<TargetDescription> dash::knownTargets() { return targets; }

const TargetDescription *dash::findTarget(StringRef chip,
                                          function_ref<InFlightDiagnostic()> emitError) {
  for (const TargetDescription &target : knownTargets())
    if (target.chip == chip)
      return &target;
  auto names = llvm::map_range(knownTargets(), [](const auto &target) { return target.chip; });
  emitError() << "unknown target '" << chip << "', expected one of " << llvm::join(names, ", ");
  return nullptr;
}
