//===- WorldCertificate.cpp - what determines the bits of a world ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SHA256.h"

using namespace mlir::dash::world;

std::string mlir::dash::world::certifyWorld(const World &world, StringRef forward,
                                            ArrayRef<std::string> leafKernels) {
  const WorldProblem &p = world.problem();
  const Cut &cut = world.cut();
  std::string text = "dash world certificate 1\n";
  llvm::raw_string_ostream os(text);
  // No ranks, plan or lengths: a document's leaves follow from its own length.
  os << llvm::formatv("cut {0} step {1} area {2} least {3}\n", cut.version, cut.step, cut.area,
                      cut.least);
  os << llvm::formatv("padding end {0} whole {1} packed {2}\n", cut.padEnd, cut.padWhole,
                      cut.packedBelow);
  os << "tree aligned; add f32 nearest-even subnormals-to-zero; round once: dK = scale * sum, dV = "
        "sum\n";
  os << llvm::formatv("heads {0} kv-heads {1} head-dim {2} element {3} mask {4} workers {5}\n",
                      p.heads, p.kvHeads, p.headDim, p.element, p.isCausal ? "causal" : "full",
                      p.prices.workers);
  os << "forward " << forward << "\n";
  std::vector<std::string> kernels(leafKernels.begin(), leafKernels.end());
  llvm::sort(kernels);
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  for (const std::string &kernel : kernels)
    os << "leaf " << kernel << "\n";
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return "sha256:" + llvm::toHex(hash, /*LowerCase=*/true);
}
