// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>
#include <span>

namespace commensal::kernels::shape_inference {

using Dims = std::array<std::int64_t, limits::kRankMax>;

/// The sliding window of Conv and the pools over the spatial dimensions of an input [N, C, D...]:
/// kernel, strides, dilations and pads resolved, auto_pad and ceil_mode included.
struct Window {
  int rank = 0;  // spatial dimensions
  Dims in{}, out{}, kernel{}, stride{}, dilation{}, pad_begin{}, pad_end{};

  std::int64_t taps() const { return product(kernel); }
  std::int64_t in_elements() const { return product(in); }
  std::int64_t out_elements() const { return product(out); }

  /// Splits a row-major position among `dims` (`rank` of them) into coordinates.
  Dims split(std::int64_t position, const Dims& dims) const;
  /// Where tap `tap` of output position `at` reads: an offset within the spatial dimensions of the
  /// input, or -1 in the padding.
  std::int64_t source(const Dims& at, const Dims& tap) const;

 private:
  std::int64_t product(const Dims& dims) const;
};

/// Reads attributes auto_pad, pads, strides, dilations and (pools) ceil_mode. `kernel` has one
/// entry for each spatial dimension of `input`.
/// Errors: kInvalidArgument, naming the attribute.
core::Result<Window> window_of(const Call& call, const tensor::Shape& input,
                               std::span<const std::int64_t> kernel);

}  // namespace commensal::kernels::shape_inference
