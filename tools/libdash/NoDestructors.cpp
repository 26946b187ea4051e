//===- NoDestructors.cpp - nothing is torn down when a process ends -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process ends while threads may still be in the library: those of an interpreter that does not wait for them, of XLA, of whoever calls
// exit. What LLVM, MLIR and dash would destroy then, they are using. The system takes all memory back anyway, so inside of the library
// nothing is registered to be destroyed. Tools have to flush what they print: tools/libdash/Tools.cpp.
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *,
                                                                  void *) noexcept {
  return 0;
}
