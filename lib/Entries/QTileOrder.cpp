//===- QTileOrder.cpp - the order of items that own q tiles ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is a query head of a sequence. An item walks kv tiles of one kv head, and nothing that it
// adds has turns.
//
//===----------------------------------------------------------------------===//

#include "OrderBuilder.h"
#include "dash/IR/OrderBuffer.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

class QTileOrder : public OrderBuilder {
public:
  using OrderBuilder::OrderBuilder;

protected:
  void readSizes() override {
    OrderBuilder::readSizes();
    heads = size("heads");
    groups = b.mul(size("batch"), heads);
    numItems = b.mul(groups, qTiles);
    firstVisit = b.add(firstItem, b.mul(numItems, orderItemWords));
    nameSizes();
  }

  Value firstVisitOf(const ItemValues &item) override { return b.mul(item.tile, kvTiles); }

  SmallVector<Value> wordsOf(const ItemValues &item) override {
    Value head = b.remainder(item.group, heads);
    SmallVector<Value> words = {b.quotient(item.group, heads),
                                head,
                                item.tile,
                                b.quotient(head, groupSize),
                                firstVisitOf(item),
                                activeKv(item.tile).size,
                                b.i64(1),
                                b.i64(0)};
    for (Value &word : words)
      word = b.toI32(word);
    return words;
  }

  void writeVisits() override {
    forEachOfGrid([&] { return numVisits(); },
                  [&](Value index) {
                    Value q = b.quotient(index, kvTiles), step = b.remainder(index, kvTiles);
                    auto [first, count, last] = activeKv(q);
                    if (!last)
                      last = b.add(b.add(first, count), -1);
                    b.ifThen(b.below(step, count), [&, first = first, last = last] {
                      Value kv =
                          evaluate("visit", formulas.getVisit(),
                                   {{"q", q}, {"step", step}, {"first", first}, {"last", last}})
                              .front();
                      storeVisit(index, kv, b.i64(0), b.i32(0));
                    });
                  });
  }

private:
  Value heads;
};

} // namespace

void dash::buildOrderOfQTiles(const Kernels &kernels, FormulasAttr formulas) {
  QTileOrder(kernels, formulas).build();
}
