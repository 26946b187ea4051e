//===- Driver.cpp - finds the CUDA driver ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dash/Launch/Driver.h"
#include <dlfcn.h>

using namespace llvm;
using namespace mlir::dash::launch;

static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56,
              "laid out as in the driver's interface");

Outcome Driver::open(const std::string &library, std::shared_ptr<Driver> &result) {
  const std::string name = library.empty() ? "libcuda.so.1" : library;
  void *handle =
      dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); // never closed: its threads may live on
  if (!handle)
    return fail(DASH_DRIVER_ERROR, "cannot load the CUDA driver '" + name + "': " + dlerror());
  auto driver = std::make_shared<Driver>();
#define DASH_DRIVER_FIND(member, symbol, parameters)                                               \
  driver->member = reinterpret_cast<decltype(driver->member)>(dlsym(handle, symbol));              \
  if (!driver->member)                                                                             \
    return fail(DASH_DRIVER_ERROR,                                                                 \
                "'" + name + "' has no " + symbol + ": expected a driver of CUDA 12 or newer");
  DASH_DRIVER_FUNCTIONS(DASH_DRIVER_FIND)
#undef DASH_DRIVER_FIND
#define DASH_DRIVER_LOOK_FOR(member, symbol, parameters)                                           \
  driver->member = reinterpret_cast<decltype(driver->member)>(dlsym(handle, symbol));
  DASH_NEWER_DRIVER_FUNCTIONS(DASH_DRIVER_LOOK_FOR)
#undef DASH_DRIVER_LOOK_FOR
  if (Outcome wrong = driver->check(driver->init(0), "initialise the CUDA driver"))
    return wrong;
  result = std::move(driver);
  return std::nullopt;
}

Failure Driver::explain(int code, const Twine &doing, const Twine &more) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(code, &name) || !name)
    name = "CUresult";
  if (getErrorString(code, &text) || !text)
    text = "no description";
  return fail(DASH_DRIVER_ERROR, doing + ": " + name + " (" + Twine(code) + "): " + text + more);
}
