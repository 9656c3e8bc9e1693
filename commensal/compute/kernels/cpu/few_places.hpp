// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

/// Convolutions whose kernel is nearly as large as the picture, so that a picture has few places of
/// output: what the gradient of a Conv's weights is. A matrix product of rows (picture and place)
/// and columns (channels of output) over taps and channels, which reads the rows where they lie.
namespace commensal::kernels::cpu {

/// `height` lines of `width` taps of `channels` steps each, which every row takes with the same
/// weights: sums[r * columns + o] goes on from itself, or from +0.
struct FewPlacesTile {
  static constexpr int kRows = 6;
  const float* rows[kRows] = {};
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t line_step = 0, tap_step = 0;  // of rows
  const float* weights = nullptr;            // `columns` a step
  std::int64_t weights_line_step = 0;
  float* sums = nullptr;
  bool resume = false;
};

struct FewPlacesKernels {
  int columns = 0;
  void (*add)(const FewPlacesTile&) = nullptr;
};
const FewPlacesKernels& few_places_kernels_for(Isa isa);

bool suits_few_places(const shape_inference::Conv& conv);
/// False, and nothing is done, where weights that are infinite or no numbers meet a padding.
/// Error: kResourceExhausted.
core::Result<bool> conv_of_few_places(const shape_inference::Conv& conv, const Call& call,
                                      Tensor& output, Workspace& ws);

}  // namespace commensal::kernels::cpu
