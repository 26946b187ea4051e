//===- Xla.cpp - attention as a custom call of XLA ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes identify the program, buffers the problem. The program's manifest says which tensors
// there are, so forwards and backwards are the same here. XLA's prepare stage compiles programs and
// makes plans. The execute stage only enqueues, so XLA may trace it into a command buffer. It
// touches only memory of the call.
//
//===----------------------------------------------------------------------===//

#include "dash-c/Xla.h"
#include "Forks.h"
#include "XlaFrame.h"
#include "dash-c/Planner.h"
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace mlir::dash::xla;

namespace {

//===----------------------------------------------------------------------===//
// Calls of the library, which gather errors
//===----------------------------------------------------------------------===//

/// Drops warnings: XLA has no channel for them.
void gather(const DashDiagnostic *diagnostic, void *userData) {
  auto &text = *static_cast<std::string *>(userData);
  if (diagnostic->severity == DASH_ERROR)
    text.append(text.empty() ? "" : "\n")
        .append(diagnostic->message.data, diagnostic->message.length);
}

XLA_FFI_Error_Code codeOf(DashStatus status) {
  switch (status) {
  case DASH_NO_CAPACITY:
    return XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
  case DASH_INVALID_MANIFEST:
    return XLA_FFI_Error_Code_FAILED_PRECONDITION;
  case DASH_DRIVER_ERROR:
    return XLA_FFI_Error_Code_INTERNAL;
  default:
    return XLA_FFI_Error_Code_INVALID_ARGUMENT;
  }
}

/// A function of the library, called with all its arguments except the handler, its data and the
/// result.
template <typename Function, typename Result, typename... Arguments>
Outcome make(Result *result, Function function, Arguments... arguments) {
  std::string said;
  DashStatus status = function(arguments..., gather, &said, result);
  return status ? Outcome({codeOf(status), std::move(said)}) : std::nullopt;
}

template <typename Function, typename... Arguments>
Outcome call(Function function, Arguments... arguments) {
  std::string said;
  DashStatus status = function(arguments..., gather, &said);
  return status ? Outcome({codeOf(status), std::move(said)}) : std::nullopt;
}

std::string_view view(DashStringRef string) { return {string.data, string.length}; }
DashStringRef toC(std::string_view string) { return {string.data(), string.size()}; }

//===----------------------------------------------------------------------===//
// What a process keeps
//===----------------------------------------------------------------------===//

/// Lives while a call runs it.
struct Planned {
  Planned() = default;
  Planned(const Planned &) = delete;
  ~Planned() { dashPlanDestroy(plan); }

  DashPlan plan = {nullptr};
  std::string certificate;
  uint64_t asked = 0; ///< counter value at the last request
};

/// A program with one kernel, and its plans. Its code is never unloaded: command buffers may launch
/// it until the process ends.
class Attention {
public:
  static Outcome compile(const Attributes &given, std::unique_ptr<Attention> &result) {
    auto made = std::make_unique<Attention>();
    if (Outcome wrong = make(&made->program, dashCompile, toC(given.program), toC("<custom call>"),
                             toC(given.options)))
      return wrong;
    if (size_t found = dashProgramGetNumKernels(made->program); found != 1)
      return refuse("program: expected one function with an attention, found " +
                    std::to_string(found));
    if (Outcome wrong = made->makeKernel({nullptr}, dashProgramGetManifest(made->program, 0),
                                         dashProgramGetOrder(made->program, 0), made->compiled))
      return wrong;
    made->isTable = dashProgramGetOrder(made->program, 0).length != 0;
    for (size_t i = 0; i < dashKernelGetNumTensors(made->compiled); ++i)
      made->given.push_back({std::string(view(dashKernelGetTensorName(made->compiled, i))),
                             dashKernelIsTensorWritten(made->compiled, i) != 0});
    result = std::move(made);
    return std::nullopt;
  }

  bool hasTable() const { return isTable; }

  /// All tensors, in order.
  const std::vector<Argument> &getArguments() const { return given; }

  /// Checks orders that are formulas; their certificate does not depend on sizes.
  Outcome check(const Attributes &given) const {
    return isTable ? std::nullopt : check(given, dashKernelGetCertificate(compiled));
  }

  Outcome findPlan(DashDriver driver, DashPlanner planner, int32_t device, const Attributes &given,
                   const std::vector<DashTensor> &tensors, std::shared_ptr<Planned> &plan) {
    std::vector<int64_t> sizes(dashKernelGetNumSizes(compiled));
    if (Outcome wrong = call([&](DashDiagnosticHandler handler, void *userData) {
          return dashKernelFindSizes(compiled, tensors.data(), tensors.size(), handler, userData,
                                     sizes.data(), sizes.size());
        }))
      return wrong;
    std::shared_ptr<Planned> &place = plans[{device, sizes}];
    if (!place) {
      std::vector<DashSize> named;
      for (int64_t size : sizes)
        named.push_back({dashKernelGetSizeName(compiled, named.size()), size});
      auto made = std::make_shared<Planned>();
      if (Outcome wrong = makePlan(driver, planner, device, named, *made)) {
        plans.erase({device, sizes});
        return wrong;
      }
      place = std::move(made);
    }
    plan = place;
    plan->asked = ++asked;
    forgetOldest();
    return check(given, toC(plan->certificate));
  }

private:
  /// Sizes come and go. One plan for each device stays, and with it the code: command buffers may
  /// launch it.
  void forgetOldest() {
    if (plans.size() <= mostPlans)
      return;
    std::map<int32_t, int> ofDevice;
    for (const auto &[key, plan] : plans)
      ++ofDevice[key.first];
    auto oldest = plans.end();
    for (auto at = plans.begin(); at != plans.end(); ++at)
      if (ofDevice[at->first.first] > 1 &&
          (oldest == plans.end() || at->second->asked < oldest->second->asked))
        oldest = at;
    if (oldest != plans.end())
      plans.erase(oldest);
  }

  /// Bits that differ from the promised ones are an error, whatever the reason.
  static Outcome check(const Attributes &given, DashStringRef certificate) {
    if (given.certificate == view(certificate))
      return std::nullopt;
    return Problem{XLA_FFI_Error_Code_FAILED_PRECONDITION,
                   "certificate: expected " + std::string(view(certificate)) + ", which " +
                       std::string(view(dashGetVersion())) + " makes of this program, found " +
                       std::string(given.certificate) +
                       "; lower the program again, with the dash of this process"};
  }

  Outcome makeKernel(DashDriver driver, DashStringRef manifest, DashStringRef order,
                     DashKernel &result) const {
    return make(&result, dashKernelCreate, driver, manifest, dashProgramGetPtx(program, 0), order);
  }

  /// A plan keeps what it needs of its kernel. A table is made for the sizes only to learn its
  /// certificate: the call brings the table on the device.
  Outcome makePlan(DashDriver driver, DashPlanner planner, int32_t device,
                   const std::vector<DashSize> &sizes, Planned &result) {
    DashOrder order = {nullptr};
    if (isTable)
      if (Outcome wrong = make(&order, dashPlannerPlan, planner, dashProgramGetManifest(program, 0),
                               sizes.data(), sizes.size()))
        return wrong;
    DashKernel kernel = {nullptr};
    Outcome wrong = makeKernel(
        driver, isTable ? dashOrderGetManifest(order) : dashProgramGetManifest(program, 0),
        isTable ? dashOrderGetBytes(order) : dashProgramGetOrder(program, 0), kernel);
    dashOrderDestroy(order);
    if (!wrong)
      wrong = make(&result.plan, dashPlanCreate, kernel, device, sizes.data(), sizes.size());
    result.certificate = view(dashKernelGetCertificate(kernel));
    dashKernelDestroy(kernel);
    return wrong;
  }

  DashProgram program = {nullptr};
  DashKernel compiled = {nullptr}; ///< without a driver
  bool isTable = false;            ///< the order is a table, and an operand
  std::vector<Argument> given;
  static constexpr size_t mostPlans = 256;
  std::map<std::pair<int32_t, std::vector<int64_t>>, std::shared_ptr<Planned>> plans;
  uint64_t asked = 0;
};

/// Everything that a process has compiled. Its lock is held while something is made, which happens
/// once.
struct Process {
  std::mutex lock;
  DashDriver driver = {nullptr};
  DashPlanner planner = {nullptr};
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Attention>>
      attentions; ///< key: options and program

  Outcome find(const Attributes &given, Attention *&result) {
    std::unique_ptr<Attention> &place =
        attentions[{std::string(given.options), std::string(given.program)}];
    if (!place)
      if (Outcome wrong = Attention::compile(given, place))
        return wrong;
    result = place.get();
    return result->check(given);
  }

  Outcome open() {
    if (!planner.ptr)
      if (Outcome wrong = make(&planner, dashPlannerCreate))
        return wrong;
    return driver.ptr ? std::nullopt : make(&driver, dashDriverOpen, DashStringRef{"", 0});
  }
};

Process &process() {
  static auto *one = new Process; // never destroyed: XLA's threads may run to the end
  return *one;
}

//===----------------------------------------------------------------------===//
// One call
//===----------------------------------------------------------------------===//

/// Divides the memory of a call into workspace and, unless the order is a table, order buffer.
Outcome divide(DashMemory memory, DashPlan plan, bool hasTable, DashMemory &workspace,
               DashMemory &order) {
  auto align = [](uint64_t address) {
    return (address + DASH_ALIGNMENT - 1) / DASH_ALIGNMENT * DASH_ALIGNMENT;
  };
  workspace = {align(memory.address), dashPlanGetWorkspaceBytes(plan)};
  size_t needed = workspace.bytes + DASH_ALIGNMENT;
  uint64_t end = workspace.address + workspace.bytes;
  if (!hasTable) {
    order = {align(end), dashPlanGetOrderBytes(plan)};
    needed += order.bytes + DASH_ALIGNMENT;
    end = order.address + order.bytes;
  }
  if (end <= memory.address + memory.bytes)
    return std::nullopt;
  return refuse("the last result: expected " + std::to_string(needed) + " bytes, found " +
                std::to_string(memory.bytes));
}

/// Returns to XLA the error of XLA's own function, if that fails.
XLA_FFI_Error *handle(const XLA_FFI_CallFrame &frame, Outcome &wrong) {
  mlir::dash::Inside inside;
  if (auto unusable = inside.getOutcome()) {
    wrong = Problem{XLA_FFI_Error_Code_FAILED_PRECONDITION, unusable->message};
    return nullptr;
  }
  Attributes given;
  if ((wrong = readAttributes(frame.attrs, given)))
    return nullptr;
  std::unique_lock<std::mutex> guard(process().lock);
  Attention *attention = nullptr;
  if ((wrong = process().find(given, attention)) ||
      frame.stage == XLA_FFI_ExecutionStage_INSTANTIATE)
    return nullptr;

  std::vector<DashTensor> tensors;
  DashMemory memory = {};
  DashArguments arguments = {};
  bool hasTable = attention->hasTable();
  if ((wrong = readBuffers(frame, given.layout, attention->getArguments(), hasTable, tensors,
                           memory, arguments.order)) ||
      (wrong = process().open()))
    return nullptr;
  XLA_FFI_DeviceOrdinal_Get_Args device = {sizeof(device), nullptr, frame.ctx, 0};
  if (XLA_FFI_Error *error = frame.api->XLA_FFI_DeviceOrdinal_Get(&device))
    return error;
  std::shared_ptr<Planned> planned; // another thread may drop it meanwhile
  if ((wrong = attention->findPlan(process().driver, process().planner, device.device_ordinal,
                                   given, tensors, planned)) ||
      (wrong = divide(memory, planned->plan, hasTable, arguments.workspace, arguments.order)) ||
      frame.stage != XLA_FFI_ExecutionStage_EXECUTE)
    return nullptr;
  guard.unlock(); // plans are immutable

  XLA_FFI_Stream_Get_Args stream = {sizeof(stream), nullptr, frame.ctx, nullptr};
  if (XLA_FFI_Error *error = frame.api->XLA_FFI_Stream_Get(&stream))
    return error;
  arguments.tensors = tensors.data();
  arguments.numTensors = tensors.size();
  arguments.scale = given.scale;
  arguments.clearsRows = 1; // results are new memory
  wrong = call(dashPlanRunAnew, planned->plan, stream.stream, &arguments);
  return nullptr;
}

/// XLA asks about the handler itself, with an extension and no context. The answer: the version
/// that both know, and that the handler may be captured.
bool answer(const XLA_FFI_CallFrame &frame) {
  if (!frame.extension_start || frame.extension_start->type != XLA_FFI_Extension_Metadata)
    return false;
  auto *asked = reinterpret_cast<XLA_FFI_Metadata_Extension *>(frame.extension_start)->metadata;
  asked->api_version.major_version = XLA_FFI_API_MAJOR;
  asked->api_version.minor_version =
      std::min(XLA_FFI_API_MINOR, frame.api->api_version.minor_version);
  asked->traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  return true;
}

} // namespace

XLA_FFI_Error *dashXlaAttentionBackward(XLA_FFI_CallFrame *frame) {
  if (answer(*frame))
    return nullptr;
  Outcome wrong;
  if (XLA_FFI_Error *theirs = handle(*frame, wrong))
    return theirs;
  if (!wrong)
    return nullptr;
  std::string message = "dash: " + wrong->message;
  XLA_FFI_Error_Create_Args made = {sizeof(made), nullptr, message.c_str(), wrong->code};
  return frame->api->XLA_FFI_Error_Create(&made);
}
