//===- OlderGlibc.cpp - what LLVM needs from a newer glibc ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM names temporary files with `arc4random`, which glibc has since 2.36. With a private one, the
// library runs on manylinux_2_34.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    abort(); // like glibc's: a read this short is never partial
  return number;
}
