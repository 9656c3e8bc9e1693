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
  /// Taps along dimension d; there may be far more of them than there are elements.
  struct Span {
    std::int64_t begin = 0, count = 0;
  };
  /// Those of output place `out` that read within the input.
  Span inside(std::size_t d, std::int64_t out) const;
  std::int64_t taps_inside(const Dims& at) const;
  /// Calls f(tap, where it reads: an offset within the spatial dimensions of the input) for each
  /// tap of output position `at` that reads within the input, in order.
  template <class F>
  void for_taps(const Dims& at, F&& f) const {
    std::array<Span, limits::kRankMax> spans;
    for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
      spans[d] = inside(d, at[d]);
      if (spans[d].count == 0) return;
    }
    walk(at, spans.data(), 0, 0, 0, f);
  }
  /// Where tap `tap` of output position `at` reads; -1 in the padding.
  std::int64_t source(const Dims& at, const Dims& tap) const;

 private:
  /// Of dimension d and those after it, behind `tap` and `from` of those before.
  template <class F>
  void walk(const Dims& at, const Span* spans, std::size_t d, std::int64_t tap, std::int64_t from,
            F& f) const {
    if (d == static_cast<std::size_t>(rank)) return f(tap, from);
    const auto [begin, count] = spans[d];
    const std::int64_t first = from * in[d] + at[d] * stride[d] - pad_begin[d];
    for (std::int64_t t = begin; t < begin + count; ++t) {
      walk(at, spans, d + 1, tap * kernel[d] + t, first + t * dilation[d], f);
    }
  }
  std::int64_t product(const Dims& dims) const;
};

/// Reads attributes auto_pad, pads, strides, dilations and (pools) ceil_mode. `kernel` has one
/// entry for each spatial dimension of `input`.
/// Errors: kInvalidArgument, naming the attribute.
core::Result<Window> window_of(const Call& call, const tensor::Shape& input,
                               std::span<const std::int64_t> kernel);

}  // namespace commensal::kernels::shape_inference
