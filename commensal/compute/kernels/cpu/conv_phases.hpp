// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <memory>
#include <numeric>
#include <vector>

/// A transposed convolution as several: outputs that are a stride apart meet the same taps.
namespace commensal::kernels::cpu {

/// Of each dimension the taps begin, begin + step, ... which meet the same outputs: tap `begin` of
/// the input's first place is `offset` places behind the output's first, padding included.
struct Phase {
  shape_inference::Dims begin{}, step{}, taps{}, offset{};
};

/// One for each residue of the strides, the last dimension's fastest.
inline std::vector<Phase> phases_of(int rank, const shape_inference::Dims& kernel,
                                    const shape_inference::Dims& stride,
                                    const shape_inference::Dims& dilation) {
  std::vector<Phase> made = {{}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::int64_t step = stride[d] / std::gcd(stride[d], dilation[d]);
    std::vector<Phase> all;
    for (const Phase& before : made) {
      for (std::int64_t r = 0; r < stride[d]; ++r) {
        Phase one = before;
        one.step[d] = step;
        one.offset[d] = r;
        while (one.begin[d] < step && one.begin[d] * dilation[d] % stride[d] != r) ++one.begin[d];
        if (one.begin[d] < std::min(step, kernel[d])) {
          one.taps[d] = (kernel[d] - one.begin[d] + step - 1) / step;
          one.offset[d] = one.begin[d] * dilation[d];
        }
        all.push_back(one);
      }
    }
    made = std::move(all);
  }
  return made;
}

inline std::int64_t product_of(int rank, const shape_inference::Dims& dims) {
  std::int64_t all = 1;
  for (int d = 0; d < rank; ++d) all *= dims[static_cast<std::size_t>(d)];
  return all;
}

/// The left matrices of all phases and groups.
class PhaseWeights final : public Packed {
 public:
  PhaseWeights(Pulse& pulse, const CpuKernels& kernels, const Tensor& w,
               const shape_inference::Dims& stride, const shape_inference::Dims& dilation,
               std::int64_t group)
      : kernels_(kernels), rows_(w.shape()[1]), channels_(w.shape()[0] / group) {
    const int rank = w.shape().rank() - 2;
    shape_inference::Dims kernel{};
    for (int d = 0; d < rank; ++d) kernel[static_cast<std::size_t>(d)] = w.shape()[d + 2];
    const Tensor read = w.read_once();
    const auto all = read.data<float>();
    all_finite_ = std::ranges::all_of(all, [&](float one) {
      pulse();
      return std::isfinite(one);
    });
    for (const Phase& phase : phases_of(rank, kernel, stride, dilation)) {
      const std::int64_t depth = product_of(rank, phase.taps) * channels_;
      const std::int64_t floats = packed_rows_floats(kernels, rows_, depth);
      auto& made = phases_.emplace_back(
          std::make_unique<AlignedFloats>(std::max<std::int64_t>(floats * group, 1)));
      std::vector<float> plain(static_cast<std::size_t>(rows_ * depth));
      std::vector<float>& chains = chains_.emplace_back();
      for (std::int64_t g = 0; g < group; ++g) {
        const float* const from = all.data() + g * channels_ * rows_ * product_of(rank, kernel);
        gather(pulse, phase, rank, kernel, from, plain);
        if (channels_ == 1) chains.insert(chains.end(), plain.begin(), plain.end());
        pack_rows(kernels, plain.data(), rows_, depth, depth, 1, made->data() + g * floats);
      }
    }
  }
  /// What they take of memory, and of it while they are made.
  static std::int64_t floats(const CpuKernels& kernels, const tensor::Shape& w,
                             std::int64_t group) {
    const std::int64_t depth = w.elements() / std::max<std::int64_t>(w[1] * group, 1);
    return packed_rows_floats(kernels, w[1], depth) * group + 2 * w.elements();
  }
  bool all_finite() const { return all_finite_; }
  Rows rows(std::size_t phase, std::int64_t depth, std::int64_t group) const {
    const std::int64_t floats = packed_rows_floats(kernels_, rows_, depth);
    return {phases_[phase]->data() + group * floats, depth * kernels_.tile_rows,
            kernels_.tile_rows};
  }
  /// Where groups have one channel of input: the taps of output channel o.
  const float* chain(std::size_t phase, std::int64_t taps, std::int64_t o) const {
    return chains_[phase].data() + o * taps;
  }

 private:
  /// Row o, column (tap * channels + c), from [C, O, K...].
  void gather(Pulse& pulse, const Phase& phase, int rank, const shape_inference::Dims& kernel,
              const float* from, std::vector<float>& to) const {
    const std::int64_t taps = product_of(rank, phase.taps), all = product_of(rank, kernel);
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t tap = 0, rest = t, step = 1;
      for (int d = rank - 1; d >= 0; --d) {
        const auto k = static_cast<std::size_t>(d);
        tap += (phase.begin[k] + rest % phase.taps[k] * phase.step[k]) * step;
        rest /= phase.taps[k];
        step *= kernel[k];
      }
      for (std::int64_t o = 0; o < rows_; ++o) {
        for (std::int64_t c = 0; c < channels_; ++c) {
          pulse();
          to[static_cast<std::size_t>((o * taps + t) * channels_ + c)] =
              from[(c * rows_ + o) * all + tap];
        }
      }
    }
  }

  const CpuKernels& kernels_;
  std::int64_t rows_, channels_;  // of a group
  bool all_finite_ = true;
  std::vector<std::unique_ptr<AlignedFloats>> phases_;
  std::vector<std::vector<float>> chains_;  // of phases
};

}  // namespace commensal::kernels::cpu
