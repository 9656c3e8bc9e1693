// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/panels.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/packed_floats.hpp>
#include <memory>
#include <optional>

namespace commensal::kernels::cpu {

/// How a blocked convolution is computed; its static shape decides.
enum class ConvWay {
  kDirect,     // group 1
  kWinograd,   // the Winograd clause
  kDepthwise,  // every channel by itself
  kGrouped,    // groups that divide a block
};

/// None: there is no blocked kernel for it.
std::optional<ConvWay> way_of(const shape_inference::Conv& conv);

/// The constant weights and bias of a blocked convolution, in the form that its way wants.
class BlockedWeights {
 public:
  /// `weights` [O, C/group, KH, KW], `bias` [O] or null, of binary32.
  BlockedWeights(const BlockedKernels& kernels, ConvWay way, int winograd_tile,
                 const Tensor& weights, const Tensor* bias, std::int64_t group,
                 PackStore* store = nullptr);
  /// For kDirect, weights of 16-bit floats: they stay as they are, which takes half the memory. No
  /// bias.
  BlockedWeights(Pulse& pulse, const BlockedKernels& kernels, const HalfKernels& halves,
                 const Tensor& weights, PackStore* store);

  ConvWay way() const { return way_; }
  bool are_halves() const { return halves_.widen != nullptr; }
  /// Steps [k, k + count) of a panel, of kDirect; halves become binary32 in `scratch`.
  const float* steps(const Panels::Panel& panel, std::int64_t k, std::int64_t count,
                     float* scratch) const;
  /// kDirect: depth is (tap * C + c). kWinograd: depth is c, `points` matrices one after another.
  const Panels& panels() const { return *panels_; }
  const float* matrix(int point = 0) const { return data_->data() + point * panels_->floats(); }
  /// kDepthwise: [block][tap][16]. kGrouped: [block][tap][c in group][16].
  const float* lanes() const { return data_->data(); }
  /// In whole blocks.
  const float* bias() const { return bias_.data(); }

 private:
  template <class T>
  void pack_direct(Pulse& pulse, const tensor::Shape& shape, const T* from, T* to) const;
  void pack_winograd(const BlockedKernels& kernels, const Tensor& weights, int tile,
                     float* to) const;
  static void pack_lanes(const Tensor& weights, float* to);

  ConvWay way_;
  std::optional<Panels> panels_;
  std::optional<PackedFloats> data_;  // of halves, two in one
  HalfKernels halves_;
  AlignedFloats bias_;
};

}  // namespace commensal::kernels::cpu
