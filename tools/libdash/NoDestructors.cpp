//===- NoDestructors.cpp - nothing is destroyed when a process ends -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process may end while threads are still in the library: threads of an interpreter that does not
// wait for them, of XLA, or of a program that calls exit. They would use what LLVM, MLIR and dash
// destroy. The system frees all memory anyway, so the library registers no destructors. Tools must
// flush what they print: tools/libdash/Tools.cpp.
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void *), void *,
                                                                  void *) noexcept {
  return 0;
}
