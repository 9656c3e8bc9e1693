// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/pack_room.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <mutex>

namespace commensal::kernels::cpu {

/// The weights of a Conv in the forms that its fast paths want. Whether F(2x2) or F(4x4) applies
/// depends on the size of the picture, which is not known when weights are packed: the filters are
/// transformed when the first call asks for them.
/// Thread-safety: any thread.
class ConvWeights final : public Packed {
 public:
  /// `weights`: [O, C/group, K...] of binary32; it is kept (a Tensor shares its memory).
  /// Error: kResourceExhausted.
  static core::Result<std::shared_ptr<const ConvWeights>> of(Pulse& pulse,
                                                             const CpuKernels& kernels,
                                                             const Tensor& weights,
                                                             std::int64_t group,
                                                             bool winograd_applies, PackRoom room);

  bool all_finite() const { return all_finite_; }
  const float* plain() const { return weights_.data<float>().data(); }
  /// The left matrix of a group: row o, depth (tap * C/group + c). Not where Winograd applies.
  Rows group_rows(std::int64_t group) const;
  /// The left matrix of a transformed point: row o, depth c. `tile` is 2 or 4.
  /// Error: kResourceExhausted.
  core::Result<Rows> point_rows(int tile, int point, ThreadPool& threads) const;

 private:
  ConvWeights(Pulse& pulse, const CpuKernels& kernels, const Tensor& weights, std::int64_t group,
              bool winograd_applies, PackRoom room);
  core::Result<void> pack_direct(Pulse& pulse);
  void transform(int tile, float* to, ThreadPool& threads) const;
  std::int64_t out_channels() const { return weights_.shape()[0]; }
  std::int64_t group_channels() const { return weights_.shape()[1]; }

  const CpuKernels& kernels_;
  Tensor weights_;
  std::int64_t group_;
  std::int64_t taps_;
  bool all_finite_;
  std::int64_t group_floats_ = 0;  // of a group in direct_, of a point in winograd_
  PackRoom room_;
  std::shared_ptr<float> direct_;

  struct Transformed {
    std::once_flag once;
    core::Result<std::shared_ptr<float>> filters = nullptr;
  };
  mutable Transformed winograd_[2];  // F(2x2), F(4x4)
};

}  // namespace commensal::kernels::cpu
