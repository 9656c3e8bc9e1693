// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/depthwise.hpp>
#include <commensal/compute/kernels/cpu/quantized/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>

namespace commensal::kernels::cpu {

namespace {

/// Where the words of a plane's taps lie.
struct WordTaps {
  TapLayout layout;
  std::int64_t across;                // words of a row of the kernel
  std::int64_t width;                 // of a row of the padded plane, in codes
  std::vector<std::int64_t> offsets;  // row by row

  explicit WordTaps(const shape_inference::Window& window)
      : layout(window),
        across(words_of(layout.geometry.kernel_width)),
        width(layout.split.width * layout.split.parts) {
    for (std::int64_t ky = 0; ky < layout.geometry.kernel_height; ++ky) {
      for (std::int64_t q = 0; q < across; ++q) {
        offsets.push_back(layout.offsets[static_cast<std::size_t>(
            ky * layout.geometry.kernel_width + q * kCodesInWord)]);
      }
    }
  }
  std::int64_t words() const { return static_cast<std::int64_t>(offsets.size()); }
  std::int64_t padded() const { return layout.split.rows * width; }
  /// What the last word reads beyond its own code.
  std::int64_t beyond() const { return (kCodesInWord - 1) * layout.geometry.dilation_x; }

  /// The plane with `around` on all sides.
  void pad(const std::uint8_t* plane, std::uint8_t around, std::uint8_t* to) const {
    const PlaneSplit& s = layout.split;
    std::fill_n(to, padded() + beyond(), around);
    const std::int64_t columns = std::min(s.in_width, width - s.left);
    for (std::int64_t y = 0; y < std::min(s.in_height, s.rows - s.top); ++y) {
      std::copy_n(plane + y * s.in_width, std::max<std::int64_t>(columns, 0),
                  to + (y + s.top) * width + s.left);
    }
  }
  /// Codes in the order of the taps, in words, what fills them being `none`.
  std::vector<std::uint8_t> ordered(const std::uint8_t* from, std::uint8_t none) const {
    std::vector<std::uint8_t> made;
    for (std::int64_t ky = 0; ky < layout.geometry.kernel_height; ++ky) {
      made.insert(made.end(), from, from + layout.geometry.kernel_width);
      from += layout.geometry.kernel_width;
      made.resize(static_cast<std::size_t>((ky + 1) * across * kCodesInWord), none);
    }
    return made;
  }
};

/// The weights of all output channels, and ones, as words.
struct WordWeights {
  std::int64_t floats;  // of a channel
  std::vector<float> words, ones;
  std::vector<std::int32_t> terms, zeros;

  WordWeights(const Call& call, const shape_inference::CodeRoles& roles,
              const shape_inference::CodeConv& codes, const WordTaps& taps,
              const CodeKernels& kernels)
      : floats(taps.words() * kernels.left_parts) {
    const Tensor& w = call.in(roles.b.codes);
    const std::uint8_t flip = left_flip(w.dtype());
    const std::int64_t count = codes.conv.window.taps();
    words.resize(static_cast<std::size_t>(codes.conv.out_channels * floats));
    std::vector<std::int32_t> sums;
    for (std::int64_t o = 0; o < codes.conv.out_channels; ++o) {
      const auto bytes = taps.ordered(w.bytes().data() + o * count, flip);
      sums.push_back(kernels.left_row({.from = bytes.data(),
                                       .count = taps.words() * kCodesInWord,
                                       .flip = flip,
                                       .to = words.data() + o * floats}));
    }
    LeftTerms left = LeftTerms::of(sums, count, [&](std::int64_t o) {
      return left_zero(call, roles.b.codes, roles.b.zero, codes.w.zero.at(0, 0, o));
    });
    terms = std::move(left.terms);
    zeros = std::move(left.zeros);
    if (!left.has_zeros) return;
    const std::vector<std::uint8_t> all(static_cast<std::size_t>(count), 1);
    const auto bytes = taps.ordered(all.data(), 0);
    ones.resize(static_cast<std::size_t>(floats));
    kernels.left_row(
        {.from = bytes.data(), .count = taps.words() * kCodesInWord, .to = ones.data()});
  }
};

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
    const Call& call, const shape_inference::CodeRoles& roles,
    const shape_inference::CodeConv& codes,
    const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish, Workspace& ws) {
  const CodeKernels& kernels = code_kernels_for(ws.isa);
  const shape_inference::Conv& conv = codes.conv;
  const WordTaps taps(conv.window);
  const WordWeights weights(call, roles, codes, taps, kernels);
  const Tensor& x = call.in(roles.a.codes);
  const std::int32_t zero = right_zero(call, roles.a.codes, roles.a.zero, 0);
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
        if (!weights.ones.empty()) {
          plane.out = ones;
          plane.weights = weights.ones.data();
          kernels.taps(plane);
          plane.out = sums;
        }
        const std::int64_t many = conv.group_out_channels(), first = i % conv.channels * many;
        for (std::int64_t o = first; o < first + many; ++o) {
          plane.weights = weights.words.data() + o * weights.floats;
          kernels.taps(plane);
          CodeFinish f = finish(i / conv.channels, o);
          f.c = reinterpret_cast<const std::int32_t*>(sums);
          f.rows = 1;
          f.columns = static_cast<int>(conv.window.out_elements());
          f.row_terms = weights.terms.data() + o;
          f.column_zeros = &zero;
          if (!weights.ones.empty()) {
            f.row_zeros = weights.zeros.data() + o;
            f.column_sums = reinterpret_cast<const std::int32_t*>(ones);
          }
          kernels.finish(f);
        }
      });
}

}  // namespace commensal::kernels::cpu
