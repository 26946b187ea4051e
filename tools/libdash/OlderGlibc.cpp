//===- OlderGlibc.cpp - what LLVM asks of a newer glibc -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM names temporary files by `arc4random`, which glibc has since 2.36. With one of our own, which stays inside, the
// library runs where manylinux_2_34 does.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t number;
  if (getrandom(&number, sizeof(number), 0) != sizeof(number))
    abort(); // as glibc's does: so few bytes are never cut short
  return number;
}
