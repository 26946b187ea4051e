//===- Kernel.h - a kernel, and its code on each device ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LAUNCH_KERNEL_H
#define DASH_LAUNCH_KERNEL_H

#include "dash/Launch/Driver.h"
#include "dash/Launch/Manifest.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <mutex>

namespace mlir::dash::launch {

/// A kernel on one device, shared by all kernels that differ only in their order. Vectors follow
/// the order of the manifest's entries.
struct LoadedKernel {
  explicit LoadedKernel(std::shared_ptr<Driver> driver) : driver(std::move(driver)) {}
  /// No launch may be in flight.
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel &) = delete;
  LoadedKernel &operator=(const LoadedKernel &) = delete;

  std::shared_ptr<Driver> driver;
  int device = 0;
  void *context = nullptr, *module = nullptr;
  std::vector<void *> functions;
  std::vector<int64_t> resident; ///< blocks that the device holds at a time
  std::string deviceName;
  int multiprocessors = 0;
};

/// A manifest with its PTX and order, checked against each other. Thread-safe.
class Kernel {
public:
  static Outcome create(std::shared_ptr<Driver> driver, llvm::StringRef manifest,
                        llvm::StringRef ptx, llvm::StringRef order,
                        std::optional<llvm::StringRef> cubin, std::shared_ptr<Kernel> &result);
  /// Reads a manifest, and the files that it names beside it.
  static Outcome open(std::shared_ptr<Driver> driver, llvm::StringRef path,
                      std::shared_ptr<Kernel> &result);

  const Manifest &getManifest() const { return manifest; }
  /// The manifest as JSON.
  const std::string &getManifestText() const { return manifestText; }
  /// The table; empty if an entry makes the order.
  const std::string &getOrder() const { return order; }
  /// Null for kernels that are only planned.
  const Driver *getDriver() const { return driver.get(); }
  bool takesScale() const { return hasScale; }

  /// The kernel on a device. The first call assembles it. There must be a driver. warning: a
  /// problem that makes it slower.
  Outcome load(int device, const LoadedKernel *&result, std::string &warning);

private:
  Outcome prepare(LoadedKernel &loaded, std::string &warning) const;
  Outcome loadCode(LoadedKernel &loaded, int capability, std::string &warning) const;
  /// Receives the source of a warning, and its text.
  using Warn = llvm::function_ref<void(const std::string &, const std::string &)>;
  bool loadAssembled(LoadedKernel &loaded, int capability, Warn warn) const;
  bool loadImage(LoadedKernel &loaded, const std::string &code) const;
  Outcome checkTarget(int major, int minor, llvm::StringRef deviceName) const;
  Outcome checkParameters(void *function, const Entry &entry) const;
  Outcome admit(LoadedKernel &loaded, const Entry &entry, int mostShared) const;
  std::string codeKey(int device) const;

  Manifest manifest;
  std::string manifestText, order, cubin;
  std::shared_ptr<const std::string> ptx;
  bool hasScale = false;
  std::shared_ptr<Driver> driver;
  std::mutex mutex;
  std::map<int, std::shared_ptr<const LoadedKernel>> devices; // guarded by `mutex`
};

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_KERNEL_H
