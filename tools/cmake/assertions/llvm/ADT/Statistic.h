//===- Statistic.h - LLVM's header, without assertions --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one LLVM header whose classes change size with NDEBUG: mlir::Pass::Statistic is a counter
// with assertions and empty without. Debian's libMLIR has the empty one and constructs it, so a
// build of dash with assertions must see the empty one too. Only such builds have this folder on
// their include path.
//
//===----------------------------------------------------------------------===//

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define NDEBUG
#include_next <llvm/ADT/Statistic.h>
#pragma pop_macro("NDEBUG")
