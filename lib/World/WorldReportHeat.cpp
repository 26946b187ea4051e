//===- WorldReportHeat.cpp - a plan as pictures ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows compute, folds, bytes and memory, a column for each rank; and bytes from node to node. If
// there are more ranks or nodes than pixels, a cell shows the fullest of several. So a picture's
// size does not grow with the world.
//
//===----------------------------------------------------------------------===//

#include "dash/World/WorldReport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir::dash::world;

namespace {

constexpr double width = 1200, left = 150, right = 24, rowHeight = 26, mostCells = 256;

class HeatMap {
public:
  HeatMap(llvm::raw_ostream &os, const World &world, const WorldPlan &plan)
      : os(os), world(world), plan(plan), load(backwardLoad(world, plan)) {}

  void draw() {
    int64_t ranks = world.problem().ranks, nodes = world.nodeOf(ranks - 1) + 1;
    int64_t cells = std::min<int64_t>(nodes, 64);
    double side = std::min(24.0, (width - left - right) / double(cells));
    double height = 100 + 6 * rowHeight + 60 + side * double(cells) + 40;
    os << llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:f0}\" "
                        "viewBox=\"0 0 {0} {1:f0}\">\n",
                        width, height)
       << "<style>\ntext { font: 11px sans-serif; fill: #222 }\ntext.title { font-size: 15px; "
          "font-weight: bold }\n"
          "text.row { text-anchor: end }\n</style>\n<rect width=\"100%\" height=\"100%\" "
          "fill=\"white\"/>\n";
    Figures f = figuresOf(world, load);
    os << llvm::formatv(
        "<text class=\"title\" x=\"{0}\" y=\"24\">world {1}: {2} ranks in nodes of {3}</text>\n",
        left, plan.kind, ranks, std::min(ranks, world.problem().ranksPerNode));
    os << llvm::formatv("<text x=\"{0}\" y=\"42\">backward: layer {1:f3} ms, balance {2:f3}, "
                        "{3:f3} of leaves shared out "
                        "evenly; a column is {4} ranks, dark is the fullest of a row</text>\n",
                        left, double(f.layer) * 1e-9, f.balance, f.overEven,
                        perCell(ranks, mostCells));
    top = 60;
    drawRow("compute, ms", load.compute, 1e-9);
    drawRow("folds, ms", load.folds, 1e-9);
    std::vector<int64_t> in(ranks), out(ranks), memory(ranks);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (const Traffic &phase : load.phases) {
        in[rank] += phase.linkIn[rank] + phase.networkIn[rank];
        out[rank] += phase.linkOut[rank] + phase.networkOut[rank];
      }
      memory[rank] = memoryOf(world, plan, rank);
    }
    drawRow("bytes in, MB", in, 1e-6);
    drawRow("bytes out, MB", out, 1e-6);
    drawRow("memory, MB", memory, 1e-6);
    drawNodes(nodes, cells, side);
    os << "</svg>\n";
  }

private:
  static int64_t perCell(int64_t count, double most) {
    return llvm::divideCeil(count, int64_t(most));
  }
  /// From white to a dark blue.
  static std::string colour(double share) {
    auto channel = [&](double dark) { return int(255 - (255 - dark) * share); };
    return llvm::formatv("#{0}{1}{2}", hex(channel(8)), hex(channel(48)), hex(channel(107)));
  }
  static std::string hex(int value) {
    static constexpr char digits[] = "0123456789abcdef";
    return {digits[value / 16], digits[value % 16]};
  }
  void cell(double x, double y, double w, double h, double share, const llvm::Twine &title) {
    os << llvm::formatv(
              "<rect x=\"{0:f2}\" y=\"{1:f2}\" width=\"{2:f2}\" height=\"{3:f2}\" fill=\"{4}\">", x,
              y, w, h, colour(share))
       << "<title>" << title << "</title></rect>\n";
  }

  void drawRow(StringRef what, ArrayRef<int64_t> values, double unit) {
    int64_t ranks = values.size(), each = perCell(ranks, mostCells),
            cells = llvm::divideCeil(ranks, each);
    int64_t most = std::max<int64_t>(1, *llvm::max_element(values));
    double w = (width - left - right) / double(cells);
    os << llvm::formatv("<text class=\"row\" x=\"{0}\" y=\"{1:f2}\">{2}</text>\n", left - 6,
                        top + rowHeight / 2 + 3, what);
    for (int64_t i = 0; i < cells; ++i) {
      ArrayRef<int64_t> of = values.slice(i * each, std::min(each, ranks - i * each));
      int64_t fullest = *llvm::max_element(of);
      cell(left + double(i) * w, top, w, rowHeight - 4, double(fullest) / double(most),
           llvm::formatv("rank {0}: {1:f3}", i * each + (llvm::max_element(of) - of.begin()),
                         double(fullest) * unit));
    }
    top += rowHeight;
  }

  void drawNodes(int64_t nodes, int64_t cells, double side) {
    int64_t each = perCell(nodes, double(cells));
    cells = llvm::divideCeil(nodes, each);
    std::vector<int64_t> bytes(cells * cells);
    for (const Phase &phase : plan.backward)
      for (const Message &message : phase.messages)
        bytes[world.nodeOf(message.from) / each * cells + world.nodeOf(message.to) / each] +=
            message.bytes;
    int64_t most = std::max<int64_t>(1, *llvm::max_element(bytes));
    top += 30;
    os << llvm::formatv("<text x=\"{0}\" y=\"{1:f2}\">bytes from node (row) to node (column) in a "
                        "backward, within nodes on "
                        "the diagonal; a cell is {2} nodes</text>\n",
                        left, top, each);
    top += 12;
    for (int64_t from = 0; from < cells; ++from)
      for (int64_t to = 0; to < cells; ++to)
        if (int64_t value = bytes[from * cells + to])
          cell(left + double(to) * side, top + double(from) * side, side, side,
               double(value) / double(most),
               llvm::formatv("node {0} to {1}: {2:f3} MB", from * each, to * each,
                             double(value) * 1e-6));
  }

  llvm::raw_ostream &os;
  const World &world;
  const WorldPlan &plan;
  PassLoad load;
  double top = 0;
};

} // namespace

void mlir::dash::world::writeSvg(llvm::raw_ostream &os, const World &world, const WorldPlan &plan) {
  HeatMap(os, world, plan).draw();
}
