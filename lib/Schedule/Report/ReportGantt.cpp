//===- ReportGantt.cpp - a schedule as a picture --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row for each worker: computes above, reductions below, waits where they happen. Neighbours
// thinner than a pixel are drawn together, so a picture's size does not grow with the problem.
//
//===----------------------------------------------------------------------===//

#include "Replay/Timeline.h"
#include "dash/IR/Describe.h"
#include "dash/Schedule/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dash;
using Cause = TimedTask::Cause;

namespace {

constexpr double chartWidth = 1200, leftMargin = 56, rightMargin = 24, headHeight = 66,
                 axisHeight = 30, gapHeight = 24;

class Chart {
public:
  Chart(llvm::raw_ostream &os, const ReportEntry &entry, double top)
      : os(os), entry(entry), schedule(entry.schedule), top(top),
        scale((chartWidth - leftMargin - rightMargin) / std::max(entry.makespan, 1e-300)) {}

  static double rowHeight(const Schedule &schedule) {
    return std::clamp(1600.0 / schedule.workers, 4.0, 22.0);
  }
  static double height(const Schedule &schedule) {
    return headHeight + rowHeight(schedule) * schedule.workers + axisHeight;
  }

  void draw() {
    Timeline timeline(schedule);
    drawHead();
    for (int64_t worker : llvm::seq(schedule.workers))
      drawWorker(timeline, worker);
    drawCriticalPath(timeline);
    drawAxis();
  }

private:
  double x(double time) const { return leftMargin + time * scale; }
  double y(int64_t worker) const { return top + headHeight + rowHeight(schedule) * worker; }
  double bottom() const { return y(schedule.workers); }

  void drawHead() {
    const Problem &problem = schedule.problem;
    os << llvm::formatv("<text class=\"title\" x=\"{0}\" y=\"{1}\">", leftMargin, top + 20);
    os << schedule.kind << " of @";
    llvm::printHTMLEscaped(entry.op, os);
    os << llvm::formatv("</text>\n<text x=\"{0}\" y=\"{1}\">{2} mask, q x kv rows {3}, {4} heads, "
                        "{5} workers</text>\n",
                        leftMargin, top + 37, maskName(problem.mask), describeSequences(problem),
                        problem.heads, schedule.workers);
    os << llvm::formatv("<text x=\"{0}\" y=\"{1}\">makespan {2:f1}, lower bound {3:f1}</text>\n",
                        leftMargin, top + 53, entry.makespan, entry.lowerBound);
    double legend = chartWidth - rightMargin - 430;
    for (auto [name, style] :
         {std::pair("compute", "c"), std::pair("reduction", "r"),
          std::pair("wait for a turn or a buffer", "w"), std::pair("critical path", "p")}) {
      os << llvm::formatv("<rect class=\"{0}\" x=\"{1}\" y=\"{2}\" width=\"10\" height=\"10\"/>"
                          "<text x=\"{3}\" y=\"{4}\">{5}</text>\n",
                          style, legend, top + 44, legend + 14, top + 53, name);
      legend += 30 + 6.2 * StringRef(name).size();
    }
  }

  /// Draws [begin, end]. If it is thin and so is the next one, keeps it to draw both together.
  struct Lane {
    Lane(StringRef style, double top, double height) : style(style), top(top), height(height) {}
    StringRef style;
    double top, height;
    double begin = -1, end = -1;
    std::string title;
  };
  void add(Lane &lane, double begin, double end, const std::string &title) {
    if (end <= begin)
      return;
    bool isThin = (end - begin) * scale < 4;
    bool touches = lane.begin >= 0 && (begin - lane.end) * scale < 0.8;
    if (isThin && touches && lane.title.empty()) {
      lane.end = end;
      return;
    }
    flush(lane);
    lane.begin = begin;
    lane.end = end;
    lane.title = isThin ? "" : title;
  }
  void flush(Lane &lane) {
    if (lane.begin < 0)
      return;
    os << llvm::formatv("<rect class=\"{0}\" x=\"{1:f2}\" y=\"{2:f2}\" width=\"{3:f2}\" "
                        "height=\"{4:f2}\"",
                        lane.style, x(lane.begin), lane.top,
                        std::max((lane.end - lane.begin) * scale, 0.3), lane.height);
    if (lane.title.empty())
      os << "/>\n";
    else
      os << "><title>" << lane.title << "</title></rect>\n";
    lane.begin = -1;
  }

  std::string describe(const TimedTask &task) const {
    const Item &item = schedule.items()[task.item];
    if (task.isPart)
      return llvm::formatv("sequence {0}, kv head {1}, kv tile {2}: sums of part {3}, turn {4}; "
                           "added {5:f2} to {6:f2}",
                           item.sequence, item.head, item.tile, item.part, task.visit.turn,
                           task.reduceStart, task.reduceEnd);
    return llvm::formatv("sequence {0}, head {1}, (kv, q) = ({2}, {3}), turn {4}; compute "
                         "{5:f2} to {6:f2}, reduction {7:f2} to {8:f2}",
                         item.sequence, schedule.headOf(item, task.visit),
                         schedule.kvTileOf(item, task.visit), schedule.qTileOf(item, task.visit),
                         task.visit.turn, task.computeStart, task.computeEnd, task.reduceStart,
                         task.reduceEnd);
  }

  void drawWorker(const Timeline &timeline, int64_t worker) {
    double row = rowHeight(schedule), half = row * 0.44;
    if (row >= 9 || worker % 8 == 0)
      os << llvm::formatv("<text class=\"w\" x=\"{0}\" y=\"{1:f2}\">w{2}</text>\n", leftMargin - 6,
                          y(worker) + row * 0.5 + 3, worker);
    double middle = y(worker) + half;
    Lane compute("c", y(worker), half), computeWait("w", y(worker), half);
    Lane reduce("r", middle, half), reduceWait("w", middle, half);
    double computeEnd = 0, reduceEnd = 0;
    for (int32_t index : timeline.byWorker[worker]) {
      const TimedTask &task = timeline.tasks[index];
      std::string title = describe(task);
      add(computeWait, computeEnd, task.computeStart, "wait for a buffer");
      add(compute, task.computeStart, task.computeEnd, title);
      if (task.reduceCause == Cause::Chain)
        add(reduceWait, std::max(task.computeEnd, reduceEnd), task.reduceStart, "wait for a turn");
      add(reduce, task.reduceStart, task.reduceEnd, title);
      computeEnd = task.computeEnd;
      reduceEnd = task.reduceEnd;
    }
    for (Lane *lane : {&computeWait, &reduceWait, &compute, &reduce})
      flush(*lane);
  }

  void drawCriticalPath(const Timeline &timeline) {
    double row = rowHeight(schedule), half = row * 0.44;
    os << "<path class=\"p\" d=\"";
    bool isFirst = true;
    std::vector<Timeline::Stretch> path = timeline.criticalPath();
    for (auto stretch : llvm::reverse(path)) {
      const TimedTask &task = timeline.tasks[stretch.task];
      double lane = y(task.worker) + half * (stretch.isCompute ? 0.5 : 1.5);
      double begin = stretch.isCompute ? task.computeStart : task.reduceStart;
      double end = stretch.isCompute ? task.computeEnd : task.reduceEnd;
      os << llvm::formatv("{0}{1:f2} {2:f2}L{3:f2} {2:f2}", isFirst ? "M" : "L", x(begin), lane,
                          x(end));
      isFirst = false;
    }
    os << "\"/>\n";
  }

  void drawAxis() {
    os << llvm::formatv("<line class=\"axis\" x1=\"{0:f2}\" y1=\"{1:f2}\" x2=\"{2:f2}\" "
                        "y2=\"{1:f2}\"/>\n",
                        x(0), bottom(), x(entry.makespan));
    for (int64_t tick : llvm::seq<int64_t>(0, 9)) {
      double time = entry.makespan * tick / 8;
      os << llvm::formatv("<text class=\"tick\" x=\"{0:f2}\" y=\"{1:f2}\">{2:f1}</text>\n", x(time),
                          bottom() + 16, time);
    }
    os << llvm::formatv("<line class=\"bound\" x1=\"{0:f2}\" y1=\"{1:f2}\" x2=\"{0:f2}\" "
                        "y2=\"{2:f2}\"><title>lower bound {3:f2}</title></line>\n",
                        x(entry.lowerBound), y(0), bottom() + 4, entry.lowerBound);
  }

  llvm::raw_ostream &os;
  const ReportEntry &entry;
  const Schedule &schedule;
  double top, scale;
};

} // namespace

void dash::writeGantt(llvm::raw_ostream &os, ArrayRef<ReportEntry> entries) {
  double height = gapHeight;
  for (const ReportEntry &entry : entries)
    height += Chart::height(entry.schedule) + gapHeight;
  os << llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:f0}\" "
                      "viewBox=\"0 0 {0} {1:f0}\">\n",
                      chartWidth, height)
     << R"(<style>
text { font: 11px sans-serif; fill: #222 }
text.title { font-size: 15px; font-weight: bold }
text.w { text-anchor: end }
text.tick { text-anchor: middle }
rect.c { fill: #4477aa } rect.r { fill: #ddaa33 } rect.w { fill: #d9d9d9 }
rect.p { fill: #cc3311 }
path.p { fill: none; stroke: #cc3311; stroke-width: 1.6; stroke-linejoin: round }
line.axis { stroke: #222 }
line.bound { stroke: #117733; stroke-dasharray: 4 3 }
</style>
<rect width="100%" height="100%" fill="white"/>
)";
  double top = gapHeight;
  for (const ReportEntry &entry : entries) {
    Chart(os, entry, top).draw();
    top += Chart::height(entry.schedule) + gapHeight;
  }
  os << "</svg>\n";
}
