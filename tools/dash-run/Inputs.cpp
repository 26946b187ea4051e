//===- Inputs.cpp - inputs from a seed ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"
#include <cmath>
#include <limits>

using namespace dash_run;
using mlir::dash::Mask;
using mlir::dash::Problem;
using mlir::dash::SequenceLengths;

/// SplitMix64's output function.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void dash_run::fillRandom(Tensor &tensor, uint64_t seed) {
  uint64_t stream = seed;
  for (char c : tensor.name)
    stream = mix(stream * 0x9e3779b97f4a7c15u + uint8_t(c) + 1);
  for (int64_t n = 0, e = tensor.numElements(); n < e; ++n) {
    uint64_t bits = mix(stream + uint64_t(n + 1) * 0x9e3779b97f4a7c15u);
    // The sum of four uniform numbers is nearly normal, and exact in f32. Its variance is 1/3.
    int32_t sum = -131070;
    for (int part = 0; part < 4; ++part)
      sum += (bits >> (16 * part)) & 0xffff;
    tensor.set(n, float(sum) * (1.75f / 65536));
  }
}

/// Row i of a sequence sees column j.
static bool isVisible(const Problem &problem, const SequenceLengths &lengths, int64_t i,
                      int64_t j) {
  return problem.band().band.sees(i, j, lengths.offset()) &&
         llvm::all_of(problem.mask.rules,
                      [&](mlir::dash::MaskRule rule) { return rule.sees(i, j, lengths.offset()); });
}

namespace {

/// A head of one sequence.
struct Head {
  const Problem &problem;
  const SequenceLengths &lengths;
  const Scores &how;
  int64_t number;
  std::vector<double> kTransposed, v; ///< [head dim, kv rows], [kv rows, head dim of v]

  /// Adds up one row.
  void run(int64_t row, const Tensor &q, int64_t qRow, std::vector<double> &out, double &lse) {
    std::vector<double> scores(lengths.kv);
    for (int64_t d = 0; d < problem.headDim; ++d) {
      double factor = how.scale * q.get(qRow * problem.headDim + d);
      for (int64_t j = 0; j < lengths.kv; ++j)
        scores[j] += factor * kTransposed[d * lengths.kv + j];
    }
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    double sink = how.sink ? how.sink->get(number) : hidden, largest = sink;
    for (int64_t j = 0; j < lengths.kv; ++j) {
      if (how.softcap)
        scores[j] = *how.softcap * std::tanh(scores[j] / *how.softcap);
      if (!isVisible(problem, lengths, row, j))
        scores[j] = hidden;
      largest = std::max(largest, scores[j]);
    }
    lse = largest;
    out.assign(problem.headDimV, 0);
    if (largest == hidden)
      return;
    double sum = std::exp(sink - largest);
    for (int64_t j = 0; j < lengths.kv; ++j) {
      if (scores[j] == hidden)
        continue;
      double p = std::exp(scores[j] - largest);
      sum += p;
      for (int64_t d = 0; d < problem.headDimV; ++d)
        out[d] += p * v[j * problem.headDimV + d];
    }
    for (double &number : out)
      number /= sum;
    lse = largest + std::log(sum);
  }
};

} // namespace

void dash_run::computeForward(const Problem &problem, const Scores &how, const Tensor &q,
                              const Tensor &k, const Tensor &v, Tensor *o, Tensor *lse) {
  bool isList = q.shape[0] == 1; // a batch of one sequence is a list of one
  int64_t qOffset = 0, kvOffset = 0, d = problem.headDim, dv = problem.headDimV;
  std::vector<double> out;
  for (int64_t s = 0; s < problem.numSequences(); ++s) {
    const SequenceLengths &lengths = problem.sequences[s];
    auto firstRow = [&](const Tensor &tensor, int64_t head, int64_t offset) {
      return isList ? head * tensor.shape[2] + offset
                    : (s * tensor.shape[1] + head) * tensor.shape[2];
    };
    for (int64_t h = 0; h < problem.heads; ++h) {
      Head head{problem, lengths, how, h, {}, {}};
      int64_t kvRow = firstRow(k, h / problem.groupSize(), kvOffset);
      head.kTransposed.resize(lengths.kv * d);
      head.v.resize(lengths.kv * dv);
      for (int64_t j = 0; j < lengths.kv; ++j) {
        for (int64_t c = 0; c < d; ++c)
          head.kTransposed[c * lengths.kv + j] = k.get((kvRow + j) * d + c);
        for (int64_t c = 0; c < dv; ++c)
          head.v[j * dv + c] = v.get((kvRow + j) * dv + c);
      }
      int64_t qRow = firstRow(q, h, qOffset);
      for (int64_t i = 0; i < lengths.q; ++i) {
        double rowLse;
        head.run(i, q, qRow + i, out, rowLse);
        for (int64_t c = 0; o && c < dv; ++c)
          o->set((qRow + i) * dv + c, out[c]);
        if (lse)
          lse->set(qRow + i, rowLse);
      }
    }
    qOffset += lengths.q;
    kvOffset += lengths.kv;
  }
}

void dash_run::computeDelta(const Tensor &o, const Tensor &dOut, Tensor &delta) {
  int64_t columns = o.shape.back();
  for (int64_t row = 0, e = delta.numElements(); row < e; ++row) {
    float sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
      // In two steps, so that no compiler fuses them.
      volatile float product = o.get(row * columns + c) * dOut.get(row * columns + c);
      sum += product;
    }
    delta.set(row, sum);
  }
}
