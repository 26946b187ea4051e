//===- EntryBuilder.h - a function that a launcher starts ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_ENTRIES_ENTRYBUILDER_H
#define DASH_ENTRIES_ENTRYBUILDER_H

#include "dash/Hopper/PtxBuilder.h"
#include "dash/IR/DashAttrs.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dash {

/// How an entry is launched. Grids are expressions in the problem's sizes; the launcher evaluates
/// them.
struct EntryLaunch {
  EntryRole role = EntryRole::Main;
  EntryWhen when = EntryWhen::Always;
  std::string grid[3] = {"1", "1", "1"};
  int32_t threads = 128;
  int64_t sharedBytes = 0;
  bool cooperative = false;
  bool overlaps = false; ///< may begin before the entry before it has ended
};

/// Makes an entry in a `gpu.module` and builds its body. Parameters are plain pointers and numbers.
/// Each has a name that tells a launcher its value ("q", "q.stride.row", "q_rows",
/// "workspace.delta").
class EntryBuilder : public PtxBuilder {
public:
  enum class Kind { Pointer, I32, I64, F32 };
  struct Parameter {
    std::string name;
    Kind kind;
  };

  /// Adds an entry `name` to `module`, at its position in the order of launches. The builder starts
  /// at the end of its only block. `finish` ends it.
  EntryBuilder(Location loc, Operation *module, StringRef name, const EntryLaunch &launch,
               ArrayRef<Parameter> parameters);

  Value parameter(StringRef name) const;
  /// The dynamic shared memory, as a 32-bit address, aligned for tiles.
  Value sharedBase();
  /// Keeps the last block until the entry before has ended, which this one `overlaps`. So what is
  /// launched behind this entry finds what both have written. One block takes no place from others.
  void endBehindEntryBefore();
  /// Returns from the kernel.
  void finish();

private:
  Operation *module;
  Operation *function;
  llvm::StringMap<Value> values;
};

/// The start of the dynamic shared memory of the entry around the builder: a 32-bit address,
/// aligned for tiles. `module` is the entry's.
Value sharedMemoryBase(PtxBuilder &b, Operation *module);

} // namespace mlir::dash

#endif // DASH_ENTRIES_ENTRYBUILDER_H
