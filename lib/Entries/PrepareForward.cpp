//===- PrepareForward.cpp - the entry before a forward's main one ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PrepareForward.h"
#include "dash/Entries/Parameters.h"
#include "dash/Entries/Regions.h"
#include "dash/Entries/TmaDescriptors.h"
#include "dash/IR/TargetDescription.h"

using namespace mlir;
using namespace mlir::dash;

void dash::buildPrepareOfForward(const Kernels &kernels) {
  ArrayRef<TensorMapAttr> maps = kernels.program.getMaps();
  EntryLaunch launch;
  launch.role = EntryRole::Prepare;
  launch.threads = threadsOfWarp * int64_t(maps.size());
  launch.sharedBytes = descriptorsBytes(kernels);
  ParameterList parameters;
  for (TensorMapAttr map : maps)
    parameters.tensor(map.getTensor());
  parameters.sizes({"batch", "heads", "kv_heads", "q_rows", "kv_rows"});
  parameters.workspace("descriptors");
  if (kernels.handsOut())
    parameters.workspace(drawnRegion);
  EntryBuilder b(kernels.module->getLoc(), kernels.module, kernels.entryName(launch.role), launch,
                 parameters);
  Value thread = b.special("tid.x"), shared = b.sharedBase();
  if (kernels.handsOut())
    b.ifThen(b.equal(thread, 0), [&] { b.store(b.i32(0), b.parameter("workspace.drawn"), 4); });
  buildDescriptors(b, kernels, thread, shared);
  b.finish();
}
