//===- RowEvaluator.cpp - evaluate piecewise functions fast ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A million tokens are 10^8 tasks, and each needs its q tile and its turn: interpreting an
// expression tree for each task would take minutes. Here a tree becomes a list of operations over
// chunks of a row. Divisions by values that a row shares become multiplications.
//
//===----------------------------------------------------------------------===//

#include "dash/Schedule/Formulas.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::dash;

namespace {

/// Wrapping arithmetic: a formula from a file may overflow, which must not be undefined. The caller
/// checks the result's range.
int64_t add(int64_t a, int64_t b) { return static_cast<uint64_t>(a) + static_cast<uint64_t>(b); }
int64_t sub(int64_t a, int64_t b) { return static_cast<uint64_t>(a) - static_cast<uint64_t>(b); }
int64_t mul(int64_t a, int64_t b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

/// floor(a / divisor) for many a: one multiplication if both fit in 32 bits (Lemire, Kaser, Kurz:
/// Faster remainder by direct computation, 2019).
class Divider {
public:
  explicit Divider(int64_t divisor)
      : divisor(divisor), magic(divisor > 1 && divisor < (int64_t(1) << 32)
                                    ? ~uint64_t(0) / static_cast<uint64_t>(divisor) + 1
                                    : 0) {}
  int64_t operator()(int64_t a) const {
    if (magic && static_cast<uint64_t>(a) < (uint64_t(1) << 32))
      return (static_cast<unsigned __int128>(magic) * static_cast<uint64_t>(a)) >> 64;
    return floorDivide(a, divisor);
  }

private:
  int64_t divisor;
  uint64_t magic;
};

} // namespace

RowEvaluator::RowEvaluator(ArrayRef<FormulaPiece> pieces, ArrayRef<unsigned> varying) {
  llvm::DenseMap<AffineExpr, unsigned> known; // looked up only, never iterated
  for (const FormulaPiece &piece : pieces) {
    Case c;
    if (IntegerSet condition = piece.condition; piece.hasCondition())
      for (unsigned i = 0, e = condition.getNumConstraints(); i < e; ++i)
        c.conditions.push_back(
            {addNode(condition.getConstraint(i), varying, known), condition.isEq(i)});
    for (AffineExpr value : piece.value.getResults())
      c.values.push_back(addNode(value, varying, known));
    cases.push_back(std::move(c));
  }
  buffers.resize(nodes.size() * chunkSize);
  for (auto [i, node] : llvm::enumerate(nodes))
    node.buffer = buffers.data() + i * chunkSize;
  open.resize(chunkSize);
  matches.resize(chunkSize);
}

unsigned RowEvaluator::addNode(AffineExpr expr, ArrayRef<unsigned> varying,
                               llvm::DenseMap<AffineExpr, unsigned> &known) {
  if (auto it = known.find(expr); it != known.end())
    return it->second;
  Node node{Op::Constant, /*varies=*/false};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    node.value = constant.getValue();
  } else if (auto input = dyn_cast<AffineSymbolExpr>(expr)) {
    node.op = Op::Input;
    node.lhs = input.getPosition();
    node.varies = llvm::is_contained(varying, node.lhs);
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    node.lhs = addNode(binary.getLHS(), varying, known);
    node.rhs = addNode(binary.getRHS(), varying, known);
    node.varies = nodes[node.lhs].varies || nodes[node.rhs].varies;
    node.op = expr.getKind() == AffineExprKind::Add        ? Op::Add
              : expr.getKind() == AffineExprKind::Mul      ? Op::Mul
              : expr.getKind() == AffineExprKind::FloorDiv ? Op::FloorDiv
              : expr.getKind() == AffineExprKind::CeilDiv  ? Op::CeilDiv
                                                           : Op::Mod;
  }
  nodes.push_back(node);
  return known[expr] = nodes.size() - 1;
}

const RowEvaluator::Node &RowEvaluator::evaluate(unsigned index) {
  Node &node = nodes[index];
  uint64_t now = node.varies ? chunk : row;
  if (node.op == Op::Constant || node.op == Op::Input || node.stamp == now)
    return node;
  node.stamp = now;
  bool lhsFailed = evaluate(node.lhs).failed, rhsFailed = evaluate(node.rhs).failed;
  node.failed = lhsFailed || rhsFailed;
  if (node.failed)
    return node;
  if (node.varies)
    computeChunk(node);
  else
    computeUniform(node);
  return node;
}

void RowEvaluator::computeUniform(Node &node) {
  int64_t a = nodes[node.lhs].value, b = nodes[node.rhs].value;
  if (node.op == Op::Add) {
    node.value = add(a, b);
  } else if (node.op == Op::Mul) {
    node.value = mul(a, b);
  } else if (b <= 0) {
    node.failed = true;
  } else if (node.op == Op::CeilDiv) {
    node.value = -floorDivide(mul(a, -1), b);
  } else {
    int64_t quotient = floorDivide(a, b);
    node.value = node.op == Op::FloorDiv ? quotient : sub(a, mul(quotient, b));
  }
}

/// out[i] = function(a[i], b[i]); a null side is the same value for the whole row.
template <typename Function>
static void forEach(int64_t *out, const int64_t *a, int64_t uniformA, const int64_t *b,
                    int64_t uniformB, int64_t n, Function function) {
  if (a && b)
    for (int64_t i = 0; i < n; ++i)
      out[i] = function(a[i], b[i]);
  else if (a)
    for (int64_t i = 0; i < n; ++i)
      out[i] = function(a[i], uniformB);
  else
    for (int64_t i = 0; i < n; ++i)
      out[i] = function(uniformA, b[i]);
}

void RowEvaluator::computeChunk(Node &node) {
  const Node &lhs = nodes[node.lhs], &rhs = nodes[node.rhs];
  const int64_t *a = lhs.varies ? lhs.data : nullptr, *b = rhs.varies ? rhs.data : nullptr;
  node.data = node.buffer;
  auto apply = [&](auto function) {
    forEach(node.buffer, a, lhs.value, b, rhs.value, chunkLength, function);
  };
  if (node.op == Op::Add)
    return apply([](int64_t x, int64_t y) { return add(x, y); });
  if (node.op == Op::Mul)
    return apply([](int64_t x, int64_t y) { return mul(x, y); });

  auto isPositive = [](int64_t divisor) { return divisor > 0; };
  if (b ? !llvm::all_of(ArrayRef(b, chunkLength), isPositive) : rhs.value <= 0) {
    node.failed = true;
    return;
  }
  Divider divideByRow(b ? 1 : rhs.value);
  auto quotient = [&](int64_t x, int64_t y) { return b ? floorDivide(x, y) : divideByRow(x); };
  if (node.op == Op::FloorDiv)
    apply(quotient);
  else if (node.op == Op::CeilDiv)
    apply([&](int64_t x, int64_t y) { return -quotient(mul(x, -1), y); });
  else
    apply([&](int64_t x, int64_t y) { return sub(x, mul(quotient(x, y), y)); });
}

LogicalResult RowEvaluator::selectCase(const Case &c, MutableArrayRef<int64_t *> results) {
  std::copy_n(open.begin(), chunkLength, matches.begin());
  MutableArrayRef<char> taken = matches;
  int64_t numTaken = numOpen;
  for (const Condition &condition : c.conditions) {
    const Node &node = evaluate(condition.node);
    if (node.failed)
      return failure();
    for (int64_t i = 0; i < chunkLength; ++i) {
      int64_t value = node.varies ? node.data[i] : node.value;
      bool holds = condition.isEquality ? value == 0 : value >= 0;
      numTaken -= taken[i] & !holds;
      taken[i] &= holds;
    }
  }
  if (numTaken == 0)
    return success();
  for (auto [index, out] : llvm::zip_equal(c.values, results)) {
    const Node &node = evaluate(index);
    if (node.failed)
      return failure();
    if (numTaken == chunkLength && node.varies)
      std::copy_n(node.data, chunkLength, out);
    else
      for (int64_t i = 0; i < chunkLength; ++i)
        if (taken[i])
          out[i] = node.varies ? node.data[i] : node.value;
  }
  numOpen -= numTaken;
  for (int64_t i = 0; i < chunkLength; ++i)
    open[i] &= !taken[i];
  return success();
}

LogicalResult RowEvaluator::evaluate(ArrayRef<Input> inputs, int64_t n,
                                     ArrayRef<int64_t *> results) {
  ++row;
  SmallVector<int64_t *, 3> out(results);
  for (int64_t begin = 0; begin < n; begin += chunkSize) {
    ++chunk;
    chunkLength = std::min(chunkSize, n - begin);
    for (Node &node : nodes) {
      if (node.op != Op::Input)
        continue;
      const Input &input = inputs[node.lhs];
      assert(node.varies == (input.varying != nullptr) && "inputs vary as declared");
      node.value = input.uniform;
      node.data = node.varies ? input.varying + begin : nullptr;
    }
    std::fill_n(open.begin(), chunkLength, 1);
    numOpen = chunkLength;
    for (const Case &c : cases) {
      if (numOpen == 0)
        break;
      if (failed(selectCase(c, out)))
        return failure();
    }
    assert(numOpen == 0 && "the last case has no condition");
    for (int64_t *&result : out)
      result += chunkLength;
  }
  return success();
}
