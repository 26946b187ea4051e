//===- Plan.h - the launches of one problem ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LAUNCH_PLAN_H
#define DASH_LAUNCH_PLAN_H

#include "dash/Launch/Kernel.h"
#include "dash/Launch/Turns.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir::dash::launch {

using Shape = std::array<int64_t, DASH_MAX_RANK>;

/// Everything about the launches of one problem, except addresses, strides and the scale.
/// Immutable; keeps its kernel alive.
class Plan {
public:
  /// warning: as in `Kernel::load`.
  static Outcome create(std::shared_ptr<Kernel> kernel, int device, llvm::ArrayRef<DashSize> sizes,
                        std::unique_ptr<Plan> &result, std::string &warning);

  uint64_t getWorkspaceBytes() const { return workspaceBytes; }
  uint64_t getOrderBytes() const { return orderBytes; }

  /// A contiguous tensor without an address; its rank is 0 if there is none.
  DashTensor getTensor(size_t index) const;

  size_t getNumRegions() const { return regions.size(); }
  /// A region of the workspace or of the order.
  DashRegion getRegion(size_t index) const;

  Outcome clear(void *stream, DashMemory workspace) const;
  Outcome makeOrder(void *stream, DashMemory order) const;
  Outcome isCapturing(void *stream, bool &result) const;
  /// The checks of `run`, except those of its blocks of memory.
  Outcome check(void *stream, const DashArguments &arguments) const;
  Outcome run(void *stream, const DashArguments &arguments) const;
  /// Runs in memory without the state of earlier runs.
  Outcome runAnew(void *stream, const DashArguments &arguments) const;

  /// Whether the turns of a launch are read from a region.
  bool needsRegion(size_t index) const;
  /// What a launch that is under way has done: copies its counters and its order on a stream of its
  /// own. regions: set to their bytes, in the manifest's order; those that are not read are empty.
  Outcome readTurns(DashMemory workspace, DashMemory order, std::vector<std::string> &regions,
                    Turns &turns) const;
  /// The same for regions that the caller has read.
  Outcome explainTurns(llvm::ArrayRef<llvm::StringRef> regions, Turns &turns) const;

  /// The entries of a run, one by one.
  size_t getNumSteps() const { return steps.size(); }
  const std::string &getStepRole(size_t index) const { return steps[index].entry->role; }
  Outcome runStep(size_t index, void *stream, const DashArguments &arguments) const;

private:
  static constexpr size_t mostSlots = 256;
  using Slots = std::array<uint64_t, mostSlots>;

  /// The source of a parameter's value. number: the value, a tensor's index, or bytes from the
  /// start of a block.
  struct Source {
    enum Kind { Value, Address, Stride, Scale, Workspace, Order } kind;
    uint64_t number;
    unsigned dimension; ///< for a stride
  };
  struct Step {
    const Entry *entry;
    void *function;
    std::array<uint32_t, 3> grid;
    std::vector<uint16_t> slots; ///< of the parameters
  };
  struct Place {
    uint64_t offset, bytes;
    bool isOrder;
  };
  using Blocks = llvm::ArrayRef<std::pair<const char *, DashMemory>>;

  Outcome bindSizes(llvm::ArrayRef<DashSize> sizes);
  Outcome checkLimits() const;
  Outcome placeRegions();
  Outcome addStep(const Entry &entry);
  Outcome findSource(llvm::StringRef name, Source &source) const;
  Outcome checkCapacity(const Entry &entry, size_t index, uint64_t blocks) const;

  Outcome checkDriver() const;
  Outcome askWhetherCapturing(void *stream, bool &result) const;
  Outcome checkEnqueued(int code, void *stream, const llvm::Twine &doing,
                        const llvm::Twine &more = "") const;
  Outcome checkMemory(DashMemory memory, uint64_t bytes, uint64_t alignment,
                      const char *what) const;
  Outcome checkArguments(const DashArguments &arguments, Blocks blocks) const;
  Outcome checkDevices(void *stream, const DashArguments &arguments, Blocks blocks) const;
  Outcome checkDevice(void *stream, uint64_t address, const llvm::Twine &what) const;
  /// runsAsked: whether entries that are launched only if they are asked for are.
  Outcome run(llvm::ArrayRef<Step> steps, void *stream, const DashArguments &arguments,
              bool runsAsked) const;
  Outcome launch(const Step &step, void *stream, Slots &values) const;

  std::shared_ptr<Kernel> kernel;
  const LoadedKernel *loaded = nullptr;
  bool isEmpty = false; ///< no output has an element, so a run does nothing
  Values values;        ///< sizes, and the values derived from them
  std::vector<Shape> shapes;
  std::vector<Place> regions;
  uint64_t workspaceBytes = 0, orderBytes = 0, orderAlignment = 1;
  std::vector<std::string> slotNames;
  std::vector<Source> sources;
  std::vector<Step> orderSteps, steps;
};

/// Checks elements and shapes.
Outcome checkShapes(const Manifest &manifest, llvm::ArrayRef<Shape> shapes,
                    llvm::ArrayRef<DashTensor> tensors);

/// The sizes of a problem, in the manifest's order, from its tensors' shapes.
Outcome findSizes(const Manifest &manifest, llvm::ArrayRef<DashTensor> tensors,
                  llvm::MutableArrayRef<int64_t> sizes);

/// Checks elements, shapes, strides and alignments, and that no output overlaps another tensor,
/// itself or a block of memory.
Outcome checkTensors(const Manifest &manifest, llvm::ArrayRef<Shape> shapes,
                     llvm::ArrayRef<DashTensor> tensors,
                     llvm::ArrayRef<std::pair<const char *, DashMemory>> blocks);

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_PLAN_H
