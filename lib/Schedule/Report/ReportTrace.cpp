//===- ReportTrace.cpp - a predicted run for a trace viewer ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trace events for Chrome and Perfetto: one process for each schedule, two threads for each worker,
// because a worker computes one task while it reduces another. Streamed, one event a line. A viewer
// counts nanoseconds and drops slices that overlap by one, so ends are rounded, not lengths.
//
//===----------------------------------------------------------------------===//

#include "Replay/Timeline.h"
#include "dash/Schedule/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dash;
using Cause = TimedTask::Cause;
namespace json = llvm::json;

namespace {

/// A unit of cost is a microsecond.
int64_t toNanoseconds(double time) { return std::llround(time * 1000); }

std::string toMicroseconds(int64_t nanoseconds) {
  return llvm::formatv("{0}.{1:d3}", nanoseconds / 1000, nanoseconds % 1000);
}

class Trace {
public:
  Trace(llvm::raw_ostream &os, const ReportEntry &entry, int64_t process, StringRef &separator)
      : os(os), schedule(entry.schedule), timeline(entry.schedule), process(process),
        separator(separator) {
    nameTracks(entry);
  }

  void write() {
    for (ArrayRef<int32_t> tasks : timeline.byWorker)
      for (int32_t task : tasks)
        writeTask(task);
  }

private:
  enum Lane { Compute, Reduce };
  static int64_t thread(int64_t worker, Lane lane) { return 2 * worker + lane; }

  /// `rest` is the event's other members, in JSON.
  void event(StringRef phase, int64_t thread, json::Value name, const llvm::Twine &rest) {
    os << separator << "{\"ph\":\"" << phase << "\",\"pid\":" << process << ",\"tid\":" << thread
       << ",\"name\":" << name << "," << rest << "}";
    separator = ",\n";
  }

  void nameTracks(const ReportEntry &entry) {
    json::Value title = llvm::formatv("{0} of @{1}", schedule.kind, entry.op).str();
    event("M", 0, "process_name", llvm::formatv("\"args\":{{\"name\":{0}}", title));
    for (int64_t worker : llvm::seq(schedule.workers))
      for (auto [lane, name] : {std::pair(Compute, "compute"), {Reduce, "reduce"}}) {
        if (lane == Reduce && !schedule.problem.hasChains())
          continue;
        int64_t id = thread(worker, lane);
        event("M", id, "thread_name",
              llvm::formatv("\"args\":{{\"name\":\"w{0} {1}\"}", worker, name));
        event("M", id, "thread_sort_index", llvm::formatv("\"args\":{{\"sort_index\":{0}}", id));
      }
  }

  /// Skips an empty slice: it was short, or what it would wait for came in time.
  void slice(int64_t thread, StringRef category, StringRef name, double begin, double end,
             const llvm::Twine &arguments) {
    int64_t from = toNanoseconds(begin), to = toNanoseconds(end);
    if (from < to)
      event("X", thread, name,
            "\"cat\":\"" + category + "\",\"ts\":" + toMicroseconds(from) +
                ",\"dur\":" + toMicroseconds(to - from) + ",\"args\":{" + arguments + "}");
  }

  std::string nameOf(const TimedTask &task) const {
    const Item &item = schedule.items()[task.item];
    if (task.isPart)
      return llvm::formatv("s{0} kv h{1} {2} part {3}", item.sequence, item.head, item.tile,
                           item.part);
    return llvm::formatv("s{0} h{1} {2},{3}", item.sequence, schedule.headOf(item, task.visit),
                         schedule.kvTileOf(item, task.visit), schedule.qTileOf(item, task.visit));
  }
  std::string argumentsOf(const TimedTask &task) const {
    const Item &item = schedule.items()[task.item];
    if (task.isPart)
      return llvm::formatv(
          "\"worker\":{0},\"item\":{1},\"sequence\":{2},\"kvHead\":{3},\"part\":{4},"
          "\"kv\":{5},\"turn\":{6}",
          task.worker, task.item, item.sequence, item.head, item.part, item.tile, task.visit.turn);
    return llvm::formatv("\"worker\":{0},\"item\":{1},\"sequence\":{2},\"head\":{3},\"part\":{4},"
                         "\"kv\":{5},\"q\":{6},\"turn\":{7}",
                         task.worker, task.item, item.sequence, schedule.headOf(item, task.visit),
                         item.part, schedule.kvTileOf(item, task.visit),
                         schedule.qTileOf(item, task.visit), task.visit.turn);
  }

  void wait(int64_t thread, StringRef what, const TimedTask &awaited, double begin, double end) {
    std::string name = llvm::formatv("wait for {0} w{1} {2} turn {3}", what, awaited.worker,
                                     nameOf(awaited), awaited.visit.turn);
    slice(thread, "wait", name, begin, end,
          llvm::Twine("\"for\":\"") + what + "\"," + argumentsOf(awaited));
  }

  void writeTask(int64_t index) {
    const TimedTask &task = timeline.tasks[index];
    int64_t compute = thread(task.worker, Compute), reduce = thread(task.worker, Reduce);
    const TimedTask *previous =
        task.step == 0 ? nullptr : &timeline.tasks[timeline.byWorker[task.worker][task.step - 1]];
    std::string name = nameOf(task), arguments = argumentsOf(task);
    if (task.computeCause == Cause::FreeBuffer)
      wait(compute, "buffer", timeline.tasks[timeline.bufferPredecessor(index)],
           previous->computeEnd, task.computeStart);
    slice(compute, "compute", name, task.computeStart, task.computeEnd, arguments);
    if (task.reduceCause == Cause::Chain) {
      const TimedTask &awaited = timeline.tasks[timeline.chainPredecessor(index)];
      double ready = std::max(task.computeEnd, previous ? previous->reduceEnd : 0);
      wait(reduce, "turn", awaited, ready, task.reduceStart);
      arrow(index, awaited, task);
    }
    slice(reduce, task.isPart ? "part" : "reduce", name, task.reduceStart, task.reduceEnd,
          arguments);
  }

  /// From the middle of one reduction (of a part: from its start) to the start of the one that
  /// waited for it.
  void arrow(int64_t id, const TimedTask &from, const TimedTask &to) {
    double till = from.isPart ? from.reduceStart : from.reduceEnd;
    int64_t begin = (toNanoseconds(from.reduceStart) + toNanoseconds(till)) / 2;
    auto end = [&](StringRef phase, int64_t worker, int64_t time, StringRef binding) {
      event(phase, thread(worker, Reduce), "turn",
            llvm::formatv("\"cat\":\"turn\",\"id\":\"{0}.{1}\",\"ts\":{2}{3}", process, id,
                          toMicroseconds(time), binding));
    };
    end("s", from.worker, begin, "");
    end("f", to.worker, toNanoseconds(to.reduceStart), ",\"bp\":\"e\"");
  }

  llvm::raw_ostream &os;
  const Schedule &schedule;
  Timeline timeline;
  int64_t process;
  StringRef &separator;
};

} // namespace

void dash::writeTrace(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
  StringRef separator = "\n";
  os << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (auto [index, entry] : llvm::enumerate(entries))
    Trace(os, entry, index + 1, separator).write();
  os << "\n]}\n";
}
