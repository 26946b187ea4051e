//===- Driver.h - the calls of the CUDA driver that a launch needs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen finds the driver, so building and loading the library needs nothing of CUDA. The
// declarations here are part of the driver's binary interface, which does not change.
//
//===----------------------------------------------------------------------===//
#ifndef DASH_LAUNCH_DRIVER_H
#define DASH_LAUNCH_DRIVER_H

#include "dash/Launch/Assemblers.h"
#include "dash/Launch/Outcome.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace mlir::dash::launch {

/// CUlaunchAttribute: 72 bytes, of which the driver reads these.
struct LaunchAttribute {
  enum Id : uint32_t { Cooperative = 2, ClusterDimension = 4, ProgrammaticStreamSerialization = 6 };
  uint32_t id;
  uint32_t padding;
  uint32_t value[16];
};

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3], block[3], sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};

/// Each function with its symbol and parameters. Results are of type CUresult: 0 is success.
#define DASH_DRIVER_FUNCTIONS(F)                                                                   \
  F(init, "cuInit", (unsigned flags))                                                              \
  F(deviceGet, "cuDeviceGet", (int *device, int ordinal))                                          \
  F(deviceGetName, "cuDeviceGetName", (char *name, int length, int device))                        \
  F(deviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))           \
  F(primaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **context, int device))                    \
  F(primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                               \
  F(ctxGetCurrent, "cuCtxGetCurrent", (void **context))                                            \
  F(ctxPushCurrent, "cuCtxPushCurrent_v2", (void *context))                                        \
  F(ctxPopCurrent, "cuCtxPopCurrent_v2", (void **context))                                         \
  F(driverGetVersion, "cuDriverGetVersion", (int *version))                                        \
  F(moduleLoadDataEx, "cuModuleLoadDataEx",                                                        \
    (void **module, const void *image, unsigned numOptions, int *options, void **values))          \
  F(moduleUnload, "cuModuleUnload", (void *module))                                                \
  F(moduleGetFunction, "cuModuleGetFunction", (void **function, void *module, const char *name))   \
  F(funcSetAttribute, "cuFuncSetAttribute", (void *function, int attribute, int value))            \
  F(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                      \
    (int *blocks, void *function, int threads, size_t sharedBytes))                                \
  F(memsetAsync, "cuMemsetD8Async",                                                                \
    (uint64_t address, unsigned char byte, size_t size, void *stream))                             \
  F(copyToDeviceAsync, "cuMemcpyHtoDAsync_v2",                                                     \
    (uint64_t address, const void *data, size_t size, void *stream))                               \
  F(copyFromDeviceAsync, "cuMemcpyDtoHAsync_v2",                                                   \
    (void *data, uint64_t address, size_t size, void *stream))                                     \
  F(streamCreate, "cuStreamCreate", (void **stream, unsigned flags))                               \
  F(streamSynchronize, "cuStreamSynchronize", (void *stream))                                      \
  F(streamDestroy, "cuStreamDestroy_v2", (void *stream))                                           \
  F(exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *mode))                         \
  F(pointerGetAttribute, "cuPointerGetAttribute", (void *value, int attribute, uint64_t address))  \
  F(streamIsCapturing, "cuStreamIsCapturing", (void *stream, int *status))                         \
  F(streamGetCtx, "cuStreamGetCtx", (void *stream, void **context))                                \
  F(launchKernelEx, "cuLaunchKernelEx",                                                            \
    (const LaunchConfig *config, void *function, void **parameters, void **extra))                 \
  F(getErrorName, "cuGetErrorName", (int error, const char **text))                                \
  F(getErrorString, "cuGetErrorString", (int error, const char **text))

/// The same for functions that older drivers lack: null there. The last one is from CUDA 12.4.
#define DASH_NEWER_DRIVER_FUNCTIONS(F)                                                             \
  F(funcGetParamInfo, "cuFuncGetParamInfo",                                                        \
    (void *function, size_t index, size_t *offset, size_t *bytes))

struct LoadedKernel;

/// Objects that kernels with equal keys share, as long as one of the kernels exists.
template <typename T> class Shared {
public:
  std::shared_ptr<T> find(const std::string &key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = known.find(key);
    return found == known.end() ? nullptr : found->second.lock();
  }
  void keep(const std::string &key, const std::shared_ptr<T> &value) {
    std::lock_guard<std::mutex> lock(mutex);
    known[key] = value;
  }

private:
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<T>> known;
};

/// The driver's functions. The driver is initialised after opening, and stays loaded: other code of
/// the process uses it too.
class Driver {
public:
  static Outcome open(const std::string &library, std::shared_ptr<Driver> &result);

  /// Success if `code` is; otherwise "DOING: NAME (CODE): text".
  Outcome check(int code, const llvm::Twine &doing, const llvm::Twine &more = "") const {
    if (code == 0)
      return std::nullopt;
    return explain(code, doing, more);
  }

  Shared<const LoadedKernel> codes;   ///< of loaded kernels, by `Kernel::codeKey`
  Shared<const std::string> programs; ///< PTX, by its hash
  Assemblers assemblers;

  /// True on the first call: a warning about something that slows everything down appears once.
  /// about: its source.
  bool mayWarn(const std::string &about) {
    std::lock_guard<std::mutex> lock(mutex);
    return warnings.insert(about).second;
  }

#define DASH_DRIVER_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  DASH_DRIVER_FUNCTIONS(DASH_DRIVER_MEMBER)
  DASH_NEWER_DRIVER_FUNCTIONS(DASH_DRIVER_MEMBER)
#undef DASH_DRIVER_MEMBER

private:
  Failure explain(int code, const llvm::Twine &doing, const llvm::Twine &more) const;

  std::mutex mutex;
  std::set<std::string> warnings; // guarded by `mutex`
};

/// Makes a context current, and restores the previous one at the end, also if there was none. A
/// thread has no context until something sets one, such as CUDA's runtime, and the context may
/// belong to another device. Every driver call that uses the current context needs one of these
/// around it. Usually its own context is current already, and it does nothing.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, void *context) : driver(driver) {
    void *current = nullptr;
    if ((code = driver.ctxGetCurrent(&current)) == 0 && current != context)
      isPushed = (code = driver.ctxPushCurrent(context)) == 0;
  }
  ~CurrentContext() {
    void *left;
    if (isPushed)
      driver.ctxPopCurrent(&left);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

  Outcome getOutcome() const { return driver.check(code, "make the device current"); }

private:
  const Driver &driver;
  int code;
  bool isPushed = false;
};

} // namespace mlir::dash::launch

#endif // DASH_LAUNCH_DRIVER_H
