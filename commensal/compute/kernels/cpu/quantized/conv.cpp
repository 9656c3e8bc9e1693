// SPDX-License-Identifier: Apache-2.0
// ConvInteger and QLinearConv: as cpu/conv.cpp's direct form, four channels being one. The weights
// are the left matrix; padding is the zero point of X, whose steps add 0.
#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/depthwise.hpp>
#include <commensal/compute/kernels/cpu/quantized/ops.hpp>
#include <commensal/compute/kernels/cpu/quantized/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>
#include <cstring>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

using shape_inference::CodeRoles;

/// Weights [O, C / group, taps...] as left matrices, one a group, depth = tap * words + word.
class ConvCodes final : public Packed {
 public:
  ConvCodes(const Tensor& weights, std::int64_t group, Isa isa)
      : isa_(isa),
        rows_(weights.shape()[0] / group),
        channels_(weights.shape()[1]),
        taps_(weights.shape().elements(2, weights.shape().rank())),
        layout_{&code_kernels_for(isa), taps_ * words_of(channels_)},
        panels_(layout_.floats(rows_) * group),
        sums_(static_cast<std::size_t>(weights.shape()[0])) {
    const std::uint8_t flip = left_flip(weights.dtype());
    const std::uint8_t* from = weights.bytes().data();
    for (std::int64_t g = 0; g < group; ++g, from += rows_ * channels_ * taps_) {
      pack_group(from, flip, g);
    }
  }

  /// What they take of memory, and of it while they are made.
  static std::int64_t floats(const shape_inference::Conv& conv, Isa isa) {
    const LeftLayout layout{&code_kernels_for(isa),
                            conv.window.taps() * words_of(conv.group_channels())};
    return layout.floats(conv.group_out_channels()) * conv.group + conv.out_channels +
           2 * layout.panel_floats();
  }
  const LeftLayout& layout() const { return layout_; }
  const float* panels(std::int64_t group) const {
    return panels_.data() + group * layout_.floats(rows_);
  }
  std::span<const std::int32_t> sums() const { return sums_; }

 private:
  void pack_group(const std::uint8_t* from, std::uint8_t flip, std::int64_t group) {
    const std::int64_t height = layout_.kernels->tile_rows, bytes = layout_.words * kCodesInWord;
    std::vector<std::uint8_t> codes(static_cast<std::size_t>(height * bytes), flip);
    AlignedFloats scratch(layout_.panel_floats());
    for (std::int64_t row = 0; row < rows_; row += height) {
      const std::int64_t here = std::min(height, rows_ - row);
      for (std::int64_t r = 0; r < here; ++r) {
        order(from + (row + r) * channels_ * taps_, codes.data() + r * bytes);
      }
      layout_.pack({.from = codes.data(), .count = bytes, .flip = flip}, here, bytes, isa_,
                   scratch.data(),
                   panels_.data() + group * layout_.floats(rows_) + row * layout_.row_floats(),
                   sums_.data() + group * rows_ + row);
    }
  }
  void order(const std::uint8_t* from, std::uint8_t* to) const {
    const std::int64_t step = words_of(channels_) * kCodesInWord;
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (std::int64_t tap = 0; tap < taps_; ++tap) to[tap * step + c] = *from++;
    }
  }

  Isa isa_;
  std::int64_t rows_, channels_, taps_;
  LeftLayout layout_;
  AlignedFloats panels_;
  std::vector<std::int32_t> sums_;
};

bool is_depthwise(const Tensor& weights) { return weights.shape()[1] == 1; }

core::Result<std::shared_ptr<const Packed>> pack(const Call& call, const CodeRoles& roles,
                                                 Isa isa) {
  if (!call.has(roles.b.codes)) return nullptr;
  const Tensor& weights = call.in(roles.b.codes);
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  const bool suits = tensor::traits(weights.dtype()).size == 1 && weights.shape().rank() >= 3 &&
                     weights.shape().rank() <= 4 && weights.elements() > 0 && group >= 1 &&
                     weights.shape()[0] % group == 0;
  if (!suits) return nullptr;  // infer will refuse it, or ref/ serve
  if (is_depthwise(weights)) {
    return std::make_shared<const DepthwiseCodes>(call.pulse, weights, isa);
  }
  return std::make_shared<const ConvCodes>(weights, group, isa);
}

/// What the runs of a call have in common: made once for all runs of a node.
struct ConvCall {
  shape_inference::CodeConv codes;
  // What serves; none of it where plain loops are to.
  std::optional<TapLayout> layout;  // of several channels a group
  std::optional<WordTaps> taps;     // of one

  static core::Result<ConvCall> of(const Call& call, const CodeRoles& roles) {
    ConvCall made;
    COMMENSAL_ASSIGN(made.codes, shape_inference::CodeConv::of(call, roles));
    const shape_inference::Conv& conv = made.codes.conv;
    if (!TapLayout::suits_picture(conv.window) || conv.depth() == 0) return made;
    if (conv.group_channels() == 1) {
      made.taps.emplace(conv.window);
    } else {
      made.layout.emplace(conv.window);
    }
    return made;
  }
  std::int64_t bytes() const {
    const std::int64_t beside = layout ? layout->bytes() : taps ? taps->bytes() : 0;
    return static_cast<std::int64_t>(sizeof *this) + beside;
  }
};

/// The codes of X as planes of words, one picture and group after the other: padded and split for
/// the taps, or as they lie.
class WordPlanes {
 public:
  WordPlanes(const shape_inference::Conv& conv, const TapLayout& layout)
      : conv_(conv),
        layout_(layout),
        words_(words_of(conv.group_channels())),
        plane_(layout.is_pointwise() ? conv.window.in_elements() : layout.plane_floats()) {}

  /// Error: kResourceExhausted.
  core::Result<void> fill(const Call& call, const CodeRoles& roles, Workspace& ws) {
    const bool in_place = layout_.is_pointwise();
    const std::int64_t pixels = conv_.window.in_elements(), channels = conv_.group_channels();
    const std::int64_t planes = conv_.batch * conv_.group * words_;
    const Tensor& x = call.in(roles.a.codes);
    const CpuKernels& kernels = kernels_for(ws.isa);
    COMMENSAL_ASSIGN(data_, room_.of(ws.arena, planes * plane_ + kernels.lanes));
    const std::int32_t zero = right_zero(call, roles.a.codes, roles.a.zero, 0);
    const auto task = [&](std::int64_t i, float* scratch) {
      const std::int64_t channel = i % words_ * kCodesInWord;
      CodeRows rows{.from = x.bytes().data() + (i / words_ * channels + channel) * pixels,
                    .row_step = pixels,
                    .rows = std::min(kCodesInWord, channels - channel),
                    .columns = pixels,
                    .flip = right_flip(x.dtype()),
                    .to = in_place ? data_ + i * plane_ : scratch,
                    .to_step = pixels};
      code_kernels_for(ws.isa).right_rows(rows);
      if (in_place) return;
      std::uint8_t bytes[kCodesInWord] = {};
      std::fill_n(bytes, rows.rows, static_cast<std::uint8_t>(zero));
      float around;
      std::memcpy(&around, bytes, sizeof(around));
      Pulse pulse(&ws.threads);
      layout_.fill(pulse, kernels, scratch, around, data_ + i * plane_);
    };
    return run_with_scratch(ws, planes, in_place ? 1 : pixels, task);
  }

  /// Calls f(columns) with the right matrix of product i.
  template <class F>
  auto with_columns(std::int64_t i, const CpuKernels& kernels, const F& f) const {
    const float* const from = data_ + i * words_ * plane_;
    if (layout_.is_pointwise()) return f(MatrixColumns(kernels, from, plane_, 1));
    return f(TapColumns(kernels, layout_, from, words_));
  }

 private:
  const shape_inference::Conv& conv_;
  const TapLayout& layout_;
  std::int64_t words_, plane_;  // of a group; floats
  Room room_;
  float* data_ = nullptr;
};

/// What becomes of the sums of one call.
class Ends {
 public:
  Ends(const Call& call, const CodeRoles& roles, const shape_inference::CodeConv& codes,
       Tensor& output)
      : conv_(codes.conv),
        type_(output.dtype()),
        to_(output.mutable_bytes().data()),
        factors_(roles.y.scale < 0 ? 0 : codes.conv.out_channels) {
    if (conv_.has_bias) bias_ = call.in(roles.bias).data<std::int32_t>().data();
    if (roles.y.scale < 0) return;
    y_zero_ = static_cast<std::int32_t>(ref::code_at(call, roles.y.zero, 0));
    for (std::int64_t o = 0; o < conv_.out_channels; ++o) {
      const float product = ref::real_at(call.in(roles.a.scale), 0) *
                            ref::real_at(call.in(roles.b.scale), codes.w.scale.at(0, 0, o));
      factors_[o] = product / ref::real_at(call.in(roles.y.scale), 0);
    }
  }
  /// For the planes of an image from output channel `o` on.
  CodeFinish finish(std::int64_t image, std::int64_t o) const {
    const std::int64_t plane = conv_.window.out_elements();
    return {.bias = bias_ == nullptr ? nullptr : bias_ + o,
            .type = type_,
            .factors = factors_.size() == 0 ? nullptr : factors_.data() + o,
            .factors_row_step = 1,
            .zeros = &y_zero_,
            .to = to_ + (image * conv_.out_channels + o) * plane * tensor::traits(type_).size,
            .to_step = plane};
  }

 private:
  const shape_inference::Conv& conv_;
  tensor::DType type_;
  std::uint8_t* to_;
  const std::int32_t* bias_ = nullptr;
  std::int32_t y_zero_ = 0;
  Few<float> factors_;
};

core::Result<void> direct(const Call& call, const CodeRoles& roles, const ConvCall& made,
                          const ConvCodes& weights, const Ends& ends, Workspace& ws) {
  const shape_inference::Conv& conv = made.codes.conv;
  WordPlanes x(conv, *made.layout);
  COMMENSAL_TRY(x.fill(call, roles, ws));
  const LeftTerms terms(weights.sums(), conv.depth(), [&](std::int64_t o) {
    return left_zero(call, roles.b.codes, roles.b.zero, made.codes.w.zero.at(0, 0, o));
  });
  const std::int32_t x_zero = right_zero(call, roles.a.codes, roles.a.zero, 0);
  const std::int64_t rows = conv.group_out_channels(), count = conv.batch * conv.group;
  const CodeShape shape{rows, conv.window.out_elements(), weights.layout()};
  const CpuKernels& kernels = kernels_for(ws.isa);
  const auto product = [&](std::int64_t i, const ColumnSource& columns) -> CodeProduct {
    const std::int64_t row = i % conv.group * rows;
    CodeFinish finish = ends.finish(i / conv.group, row);
    finish.row_terms = terms.terms.data() + row;
    finish.column_zeros = &x_zero;
    if (terms.has_zeros) finish.row_zeros = terms.zeros.data() + row;
    return {weights.panels(i % conv.group), &columns, finish};
  };
  if (count == 1) {  // nothing is allocated
    return x.with_columns(0, kernels, [&](const auto& columns) {
      const CodeProduct one = product(0, columns);
      return multiply_codes(shape, {&one, 1}, ws);
    });
  }
  std::vector<std::unique_ptr<const ColumnSource>> sources;
  std::vector<CodeProduct> products;
  for (std::int64_t i = 0; i < count; ++i) {
    x.with_columns(i, kernels, [&]<class Columns>(const Columns& columns) {
      sources.push_back(std::make_unique<const Columns>(columns));
    });
    products.push_back(product(i, *sources.back()));
  }
  return multiply_codes(shape, products, ws);
}

core::Result<void> depthwise(const Call& call, const CodeRoles& roles, const ConvCall& made,
                             const DepthwiseCodes& weights, const Ends& ends, Workspace& ws) {
  const auto finish = [&ends](std::int64_t i, std::int64_t o) { return ends.finish(i, o); };
  return code_depthwise({call, roles, made.codes, *made.taps, weights}, finish, ws);
}

core::Result<void> conv(const Call& call, const CodeRoles& roles, KernelFn plain,
                        std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made, call.memo.of([&] { return ConvCall::of(call, roles); }));
  if (outputs[0].elements() == 0) return {};
  if (!made->layout && !made->taps) return plain(call, outputs, ws);
  const Ends ends(call, roles, made->codes, outputs[0]);
  const Tensor& weights = call.in(roles.b.codes);
  if (made->taps) {
    if (ws.packed == nullptr) {
      return depthwise(call, roles, *made, DepthwiseCodes(call.pulse, weights, ws.isa), ends, ws);
    }
    return depthwise(call, roles, *made, static_cast<const DepthwiseCodes&>(*ws.packed), ends, ws);
  }
  if (ws.packed != nullptr) {
    return direct(call, roles, *made, static_cast<const ConvCodes&>(*ws.packed), ends, ws);
  }
  // In the arena, which bounds what they take beside it.
  COMMENSAL_ASSIGN(const auto counted,
                   floats_from(ws.arena, ConvCodes::floats(made->codes.conv, ws.isa)));
  const ConvCodes own(weights, made->codes.conv.group, ws.isa);
  return direct(call, roles, *made, own, ends, ws);
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_conv_integer(const Call& call, Isa isa) {
  return pack(call, shape_inference::kInteger, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_qlinear_conv(const Call& call, Isa isa) {
  return pack(call, shape_inference::kRequantised, isa);
}
core::Result<void> conv_integer(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return conv(call, shape_inference::kInteger, ref::kConvInteger.run, outputs, ws);
}
core::Result<void> qlinear_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return conv(call, shape_inference::kRequantised, ref::kQlinearConv.run, outputs, ws);
}

}  // namespace commensal::kernels::cpu
