// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/depthwise.hpp>
#include <commensal/compute/kernels/cpu/quantized/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>

namespace commensal::kernels::cpu {

WordTaps::WordTaps(const shape_inference::Window& window)
    : layout(window),
      across(words_of(layout.geometry.kernel_width)),
      width(layout.split.width * layout.split.parts) {
  for (std::int64_t ky = 0; ky < layout.geometry.kernel_height; ++ky) {
    for (std::int64_t q = 0; q < across; ++q) {
      offsets.push_back(layout.offsets[static_cast<std::size_t>(ky * layout.geometry.kernel_width +
                                                                q * kCodesInWord)]);
    }
  }
}

void WordTaps::pad(const std::uint8_t* plane, std::uint8_t around, std::uint8_t* to) const {
  const PlaneSplit& s = layout.split;
  std::fill_n(to, padded() + beyond(), around);
  const std::int64_t columns = std::min(s.in_width, width - s.left);
  for (std::int64_t y = 0; y < std::min(s.in_height, s.rows - s.top); ++y) {
    std::copy_n(plane + y * s.in_width, std::max<std::int64_t>(columns, 0),
                to + (y + s.top) * width + s.left);
  }
}

DepthwiseCodes::DepthwiseCodes(Pulse& pulse, const Tensor& weights, Isa isa) {
  const CodeKernels& kernels = code_kernels_for(isa);
  const tensor::Shape& shape = weights.shape();
  const std::int64_t channels = shape[0], columns = shape[shape.rank() - 1];
  const std::int64_t rows = shape.rank() == 4 ? shape[2] : 1, across = words_of(columns);
  floats_ = rows * across * kernels.left_parts;
  // Codes in the order of the taps, in words, what fills them being `none`.
  std::vector<std::uint8_t> ordered(static_cast<std::size_t>(rows * across * kCodesInWord));
  const auto to_words = [&](const std::uint8_t* from, std::int64_t step, std::uint8_t none,
                            CodeRow row) {
    std::ranges::fill(ordered, none);
    for (std::int64_t y = 0; y < rows; ++y, from += step * columns) {
      std::copy_n(from, columns, ordered.data() + y * across * kCodesInWord);
    }
    row.from = ordered.data();
    row.count = std::ssize(ordered);
    return kernels.left_row(row);
  };
  words_.resize(static_cast<std::size_t>(channels * floats_));
  ones_.resize(static_cast<std::size_t>(floats_));
  sums_.reserve(static_cast<std::size_t>(channels));
  const std::uint8_t flip = left_flip(weights.dtype());
  for (std::int64_t o = 0; o < channels; ++o) {
    pulse(4 * floats_);
    sums_.push_back(to_words(weights.bytes().data() + o * rows * columns, 1, flip,
                             {.flip = flip, .to = words_.data() + o * floats_}));
  }
  const std::vector<std::uint8_t> row_of_ones(static_cast<std::size_t>(columns), 1);
  to_words(row_of_ones.data(), 0, 0, {.to = ones_.data()});
}

namespace {

/// The parts of a task's scratch.
struct Parts {
  std::int64_t words, split, out, bytes;  // floats

  Parts(const WordTaps& taps, std::int64_t out_elements, int lanes)
      : words(taps.padded() + lanes),
        split(taps.layout.plane_floats() + lanes),
        out(out_elements + lanes),
        bytes(words_of(taps.padded() + taps.beyond())) {}
  std::int64_t all() const { return words + split + 2 * out + bytes; }
};

}  // namespace

core::Result<void> code_depthwise(
    const DepthwiseCall& given, const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish,
    Workspace& ws) {
  const CodeKernels& kernels = code_kernels_for(ws.isa);
  const shape_inference::CodeRoles& roles = given.roles;
  const shape_inference::Conv& conv = given.codes.conv;
  const WordTaps& taps = given.taps;
  const LeftTerms terms(given.weights.sums(), conv.window.taps(), [&](std::int64_t o) {
    return left_zero(given.call, roles.b.codes, roles.b.zero, given.codes.w.zero.at(0, 0, o));
  });
  const Tensor& x = given.call.in(roles.a.codes);
  const std::int32_t zero = right_zero(given.call, roles.a.codes, roles.a.zero, 0);
  const std::uint8_t flip = right_flip(x.dtype()), around = static_cast<std::uint8_t>(zero) ^ flip;
  const Parts parts(taps, conv.window.out_elements(), kernels.lanes);
  return run_with_scratch(
      ws, conv.batch * conv.channels, parts.all(), [&](std::int64_t i, float* words) {
        float *const split = words + parts.words, *const sums = split + parts.split;
        float* const ones = sums + parts.out;
        auto* const bytes = reinterpret_cast<std::uint8_t*>(ones + parts.out);
        taps.pad(x.bytes().data() + i * conv.window.in_elements(), around, bytes);
        const TapLayout& layout = taps.layout;
        kernels.right_rows({.from = bytes,
                            .row_step = layout.geometry.dilation_x,
                            .rows = std::min(kCodesInWord, layout.geometry.kernel_width),
                            .columns = taps.padded(),
                            .flip = flip,
                            .to = words,
                            .to_step = taps.padded()});
        PlaneSplit s = layout.split;
        s.plane = words, s.in_height = s.rows, s.in_width = taps.width;
        s.top = s.left = 0;
        s.to = split;
        if (s.parts > 1) kernels_for(ws.isa).split_plane(s);
        TapPlane plane = layout.plane(s.parts > 1 ? split : words, sums);
        plane.offsets = taps.offsets.data();
        plane.taps = static_cast<int>(taps.words());
        if (terms.has_zeros) {
          plane.out = ones;
          plane.weights = given.weights.ones();
          kernels.taps(plane);
          plane.out = sums;
        }
        const std::int64_t many = conv.group_out_channels(), first = i % conv.channels * many;
        for (std::int64_t o = first; o < first + many; ++o) {
          plane.weights = given.weights.words(o);
          kernels.taps(plane);
          CodeFinish f = finish(i / conv.channels, o);
          f.c = reinterpret_cast<const std::int32_t*>(sums);
          f.rows = 1;
          f.columns = static_cast<int>(conv.window.out_elements());
          f.row_terms = terms.terms.data() + o;
          f.column_zeros = &zero;
          if (terms.has_zeros) {
            f.row_zeros = terms.zeros.data() + o;
            f.column_sums = reinterpret_cast<const std::int32_t*>(ones);
          }
          kernels.finish(f);
        }
      });
}

}  // namespace commensal::kernels::cpu
