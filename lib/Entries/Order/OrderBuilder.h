//===- OrderBuilder.h - the entry that evaluates formulas ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DASH_LIB_ENTRIES_ORDER_ORDERBUILDER_H
#define DASH_LIB_ENTRIES_ORDER_ORDERBUILDER_H

#include "dash/Entries/Kernels.h"
#include "dash/Entries/MaskEmitter.h"
#include "dash/Entries/Parameters.h"
#include "dash/IR/DashOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dash {

/// An item, from the formulas.
struct ItemValues {
  Value group, tile, worker; ///< the tile that it owns
  Value sequence;            ///< for a list: a group is a head of it
};

/// Builds `NAME_order`, for items of either side. A block is one worker. It visits all items, and
/// counts those of the workers before it: this is where its list begins. Then it writes its own
/// items in issue order. So no block waits for another. Lines of visits belong to no worker; all
/// threads of the grid share them.
class OrderBuilder {
public:
  OrderBuilder(const Kernels &kernels, FormulasAttr formulas);
  virtual ~OrderBuilder() = default;

  void build();

protected:
  using Inputs = ArrayRef<std::pair<StringRef, Value>>;

  OrderBuilder(const Kernels &kernels, FormulasAttr formulas, const EntryLaunch &launch,
               const ParameterList &parameters);
  static EntryLaunch makeLaunch();

  /// The differences for a list of sequences. `itemAt` leaves the sizes at those of the item's
  /// sequence.
  virtual void readSizes();
  virtual ItemValues itemAt(Value i);
  virtual Value numVisits();
  virtual Value firstVisitOf(const ItemValues &item); ///< start of the item's line
  virtual void writeLists();                          ///< and the header
  virtual void writeVisits();
  virtual void writeRest() {}

  bool ownsQ() const { return formulas.getOwn() == TensorSide::Q; }
  /// Tiles of the current sequences: those of items, and those of their lines.
  Value ownTiles() const { return ownsQ() ? qTiles : kvTiles; }
  Value walkedTiles() const { return ownsQ() ? kvTiles : qTiles; }

  void readThreads();
  void readSizesOfAll(); ///< what a batch and a list have in common
  Value size(StringRef name) { return b.toI64(b.parameter(name)); }
  /// Names the sizes that all formulas may use, from the known numbers.
  void nameSizes();
  /// The values of a formula for inputs given by name; sizes that are inputs of one formula only
  /// are among these.
  SmallVector<Value> evaluate(StringRef name, ArrayRef<FormulaPiece> pieces, Inputs inputs);
  void writeVisitOfLine(Value index, Value own, Value step);
  Value wordAt(Value index);
  void storeWords(ArrayRef<Value> words, Value index);
  /// All threads of the grid take turns.
  void forEachOfGrid(llvm::function_ref<Value()> makeEnd, llvm::function_ref<void(Value)> body);

  Kernels kernels;
  FormulasAttr formulas;
  bool hasRuns; ///< of q tiles; these are the parts
  EntryBuilder b;
  Value thread, block, numBlockThreads, lane, warp, shared; ///< threads as i32, their number as i64
  Value kvHeads, workers, width, groupSize, numItems, numSequences;
  Value ownHeads; ///< of a sequence, on the side that items own
  Value pieces;   ///< of the keys of the current sequences; null if they are not cut
  Value runs;     ///< into which a head's q tiles are cut; null if parts have whole heads
  Value qTiles, kvTiles, groups, offset;  ///< of the current sequences
  Value firstList, firstItem, firstVisit; ///< words of the buffer
  llvm::StringMap<Value> symbols;         ///< of formulas, by name

  /// The sum of one number of each warp, and the sum over the warps before this one. Two calls need
  /// a barrier between them.
  std::pair<Value, Value> sumOverWarps(Value ofWarp);
  void writeItem(const ItemValues &item, Value place); ///< place: i32
  /// The header, and where the first list begins and the last one ends.
  void writeHeader(Value numLists);

private:
  Value countItemsBefore();
  void writeFirstOfList(Value firstOfList);
  void writeItems(Value firstOfList);
  SmallVector<Value> wordsOfKvItem(const ItemValues &item); ///< its record
  SmallVector<Value> wordsOfQItem(const ItemValues &item);
  /// Tiles of a line in front of the piece of the keys that has this number.
  Value numBefore(Value piece, Value q);
  void writeVisitOfKv(Value index, Value kv, Value step);
  void writeVisitOfQ(Value index, Value q, Value step);
  /// A run's share of a line of q tiles: its first step, and the one after its last.
  std::pair<Value, Value> stepsOf(Value run);
  void writeVisitOfRun(Value index, Value kv, Value step);
  /// 1 if the turn is the last of a chain over so many kv tiles.
  Value isEnd(Value turn, Value numKv);
  /// Writes the record of a visit, which is the last of its chain if `isLast` is 1.
  void storeVisit(Value index, Value tile, Value turn, Value isLast);
  ActiveTiles activeQ(Value kv) {
    return LineEmitter(b, kernels.edges(), offset).activeQ(kv, qTiles);
  }
  ActiveTiles activeKv(Value q) {
    return LineEmitter(b, kernels.edges(), offset).activeKv(q, kvTiles);
  }
};

/// Builds it for a list of sequences whose records another entry has written.
void buildOrderOfList(const Kernels &kernels, FormulasAttr formulas);

} // namespace mlir::dash

#endif // DASH_LIB_ENTRIES_ORDER_ORDERBUILDER_H
