// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/operators.hpp>

/// Matrix products and convolutions, direct and by the Winograd clause (docs/numerics.md): where
/// the terms of an element lie. Inside this room only.
namespace commensal::arbiter {

/// Where a chain's operands lie: A[a + i a_step] and B[b + i b_step], i in [0, k).
struct Stride {
  std::int64_t a = 0, a_step = 1, b = 0, b_step = 1, k = 0;
};

/// As matrices: vectors are rows or columns.
struct MatMul {
  Dims a, b, batch;
  bool vector_a = false, vector_b = false;
  std::int64_t m() const { return a[a.size() - 2]; }
  std::int64_t k() const { return a.back(); }
  std::int64_t n() const { return b.back(); }
  Dims to() const;
  /// Which matrix of `a` or `b` serves an element.
  std::int64_t matrix(const Dims& dims, std::int64_t element) const;
  Stride stride(std::int64_t element) const;
};
std::optional<MatMul> matmul_of(const Shaped& a, const Shaped& b);

struct Conv {
  Window window;
  std::int64_t batch = 0, channels = 0, out_channels = 0, group = 1;
  int tile = 0;  // side of an output tile by the Winograd clause; 0: it does not apply
  Dims to() const;
  std::int64_t channel(std::int64_t element) const {
    return element / product(window.out) % out_channels;
  }
};
/// Of these inputs. Precondition: the first two are there. Error: kUnsupported.
core::Result<Conv> conv_of(const NodeCall& call, std::size_t x = 0, std::size_t w = 1,
                           std::size_t bias = 2);

/// The terms of one element, by tap within the image and then by channel.
class ConvPlaces {
 public:
  ConvPlaces(const Conv& conv, std::int64_t element);
  std::int64_t count() const { return static_cast<std::int64_t>(taps_.size()) * depth_; }
  /// Elements of the input and of the weights, i in [0, count()).
  std::int64_t source(std::int64_t i) const { return at(i).x + i % depth_ * x_step_; }
  std::int64_t weight(std::int64_t i) const { return at(i).w + i % depth_ * w_step_; }

 private:
  struct Tap {
    std::int64_t x = 0, w = 0;
  };
  const Tap& at(std::int64_t i) const { return taps_[static_cast<std::size_t>(i / depth_)]; }

  std::vector<Tap> taps_;
  std::int64_t depth_ = 1, x_step_ = 1, w_step_ = 1;
};

/// 4 or 2 where the clause applies to this static shape, else 0.
int winograd_tile(const Conv& conv, bool is_float32);
/// The program of one element by the clause: for each channel the transforms of the filter (in
/// binary64) and of the tile's input, then one fused multiply-add for each point; then the
/// transform back and the bias.
void winograd(const Conv& conv, const Emitter& emit, std::int64_t element, Operand bias);

/// acc + bias, a bias of -0 counting as +0.
Operand add_bias(const Emitter& emit, Operand acc, Operand bias);

}  // namespace commensal::arbiter
