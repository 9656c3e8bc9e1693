// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <vector>

namespace commensal::noise {

// What calibration compares outputs by, and the fake inputs it makes. Pure functions.

using Tensors = std::vector<tensor::Tensor>;

/// Bits of the elements that differ, of all there are; all of them where the types differ.
double share_of_bits_changed(const Tensors& a, const Tensors& b);
core::Digest hash_of(const Tensors& tensors);
/// The place of the largest element of each row along the last axis, the first of equals; NaN is
/// larger than all.
std::vector<std::int64_t> largest_places(const tensor::Tensor& tensor);

/// Tensors of the samples' types (the first sample's shapes), all elements the same.
Tensors filled_with_zero(const std::vector<Tensors>& samples);
/// The mean over all samples of what is floating, the smallest of what is not.
Tensors filled_with_mean(const std::vector<Tensors>& samples);
Tensors filled_with_largest(const std::vector<Tensors>& samples);

}  // namespace commensal::noise
