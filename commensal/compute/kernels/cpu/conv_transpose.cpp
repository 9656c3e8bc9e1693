// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: outputs that are a stride apart meet the same taps. Those of a phase (one place
// for each residue of the strides) are a convolution of their own with some of the taps, which
// walks backwards over the input.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/conv_phases.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/cpu/window_columns.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/conv_transpose.hpp>
#include <cstring>
#include <numeric>
#include <optional>

namespace commensal::kernels::cpu {
namespace {

using shape_inference::ConvTranspose;
using shape_inference::Dims;
using shape_inference::Window;

/// Output place first + i * stride of each dimension is place i of the phase.
struct Part {
  Window window;  // walks backwards
  Dims first{};
  std::optional<TapLayout> layout = std::nullopt;  // of `forwards`, where it suits

  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this) + (layout ? layout->bytes() : 0);
  }
  /// The same, forwards: what TapLayout can have, its offsets in the opposite order.
  Window forwards() const {
    Window w = window;
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
      w.dilation[d] = -window.dilation[d];
      w.pad_begin[d] += (w.kernel[d] - 1) * w.dilation[d];
    }
    return w;
  }
};

Part part_of(const ConvTranspose& conv, const Phase& phase) {
  Part part;
  Window& w = part.window;
  w.rank = conv.window.rank;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    const std::int64_t stride = conv.window.stride[d], pad = conv.window.pad_begin[d];
    // The least q with q * stride + offset - pad >= 0.
    const std::int64_t short_by = pad - phase.offset[d];
    const std::int64_t q = short_by > 0 ? (short_by + stride - 1) / stride : -(-short_by / stride);
    part.first[d] = q * stride - short_by;
    const std::int64_t room = conv.window.out[d] - part.first[d];
    w.in[d] = conv.window.in[d];
    w.out[d] = room > 0 ? (room + stride - 1) / stride : 0;
    w.kernel[d] = phase.taps[d];
    w.stride[d] = 1;
    w.dilation[d] = -(conv.window.dilation[d] / std::gcd(stride, conv.window.dilation[d]));
    w.pad_begin[d] = -q;
  }
  const Window forwards = part.forwards();
  if (w.taps() > 0 && TapLayout::suits(forwards)) {
    part.layout.emplace(forwards);
    std::ranges::reverse(part.layout->offsets);
  }
  return part;
}

/// A convolution of one phase.
class PhaseRun {
 public:
  /// `sums`: a plane for each of the output's.
  PhaseRun(const ConvTranspose& conv, const Part& part, float* sums, std::size_t phase,
           const PhaseWeights& weights, const Call& call, Workspace& ws)
      : conv_(conv),
        part_(part),
        sums_(sums),
        phase_(phase),
        weights_(weights),
        ws_(ws),
        kernels_(kernels_for(ws.isa)),
        x_(call.in(0).data<float>().data()),
        bias_(conv.has_bias ? call.in(2).data<float>().data() : nullptr) {}

  /// Fills the sums. Error: kResourceExhausted.
  core::Result<void> run() {
    if (!part_.layout) {
      return multiply_columns([&](std::int64_t i) {
        return WindowColumns(kernels_, part_.window, plane(i), channels_);
      });
    }
    const TapLayout& layout = *part_.layout;
    if (channels_ == 1) return chains(layout);
    Room room;
    COMMENSAL_ASSIGN(const float* const copied,
                     split_planes(layout, x_, conv_.batch * conv_.channels, ws_, room));
    return multiply_columns([&](std::int64_t i) {
      const float* const from = copied + i * channels_ * layout.plane_floats();
      return TapColumns(kernels_, layout, from, channels_);
    });
  }

 private:
  /// Of group i % group of image i / group.
  const float* plane(std::int64_t i) const {
    return x_ + i * channels_ * part_.window.in_elements();
  }

  /// `make`: the right matrix of image and group i.
  template <class Make>
  core::Result<void> multiply_columns(const Make& make) {
    const std::int64_t places = part_.window.out_elements();
    const std::int64_t depth = part_.window.taps() * channels_;
    const auto product = [&](std::int64_t i, const ColumnSource& source) {
      const std::int64_t g = i % conv_.group;
      return Product{.a = weights_.rows(phase_, depth, g),
                     .b = &source,
                     .c = sums_ + i * rows_ * places,
                     .c_step = places,
                     .bias = bias_ == nullptr ? nullptr : bias_ + g * rows_,
                     .bias_row_step = 1};
    };
    return multiply_each({.rows = rows_, .depth = depth, .columns = places},
                         conv_.batch * conv_.group, make, product, ws_);
  }

  core::Result<void> chains(const TapLayout& layout) {
    return run_with_scratch(
        ws_, conv_.batch * conv_.channels, layout.plane_floats() + kernels_.lanes,
        [&](std::int64_t i, float* scratch) {
          Pulse pulse(&ws_.threads);
          layout.fill(pulse, kernels_, plane(i), 0.0f, scratch);
          for (std::int64_t m = 0; m < rows_; ++m) {
            const std::int64_t o = i % conv_.channels * rows_ + m;
            float* const to = sums_ + (i * rows_ + m) * part_.window.out_elements();
            TapPlane taps = layout.plane(scratch, to);
            taps.weights = weights_.chain(phase_, part_.window.taps(), o);
            taps.bias = bias_ == nullptr ? 0.0f : bias_[o];
            fold_taps(pulse, layout, taps, kernels_.taps.chain);
          }
        });
  }

  const ConvTranspose& conv_;
  const Part& part_;
  float* sums_;
  std::size_t phase_;
  const PhaseWeights& weights_;
  Workspace& ws_;
  const CpuKernels& kernels_;
  const float *x_, *bias_;
  std::int64_t channels_ = conv_.channels / conv_.group;
  std::int64_t rows_ = conv_.out_channels / conv_.group;
};

/// What a line of outputs takes from one of the parts that share it.
struct Strand {
  const float* from = nullptr;
  std::int64_t first = 0, count = 0;
};

void weave(std::span<const Strand> strands, float* to) {
  const auto stride = std::ssize(strands);
  if (stride == 2 && strands[0].count > 0 && strands[1].count > 0) {
    const Strand& even = strands[strands[0].first == 0 ? 0 : 1];
    const Strand& odd = strands[strands[0].first == 0 ? 1 : 0];
    std::int64_t i = 0;
    for (std::array<float, 32> made; i + 16 <= odd.count;
         i += 16) {  // compilers make vectors of it
      for (std::size_t k = 0; k < 16; ++k) {
        made[2 * k] = even.from[i + static_cast<std::int64_t>(k)];
        made[2 * k + 1] = odd.from[i + static_cast<std::int64_t>(k)];
      }
      std::memcpy(to + 2 * i, made.data(), sizeof made);
    }
    for (; i < odd.count; ++i) {
      to[2 * i] = even.from[i];
      to[2 * i + 1] = odd.from[i];
    }
    if (even.count > odd.count) to[2 * odd.count] = even.from[odd.count];
    return;
  }
  for (const Strand& strand : strands) {
    if (stride == 1) std::copy_n(strand.from, strand.count, to);
    for (std::int64_t i = 0; i < strand.count && stride > 1; ++i) {
      to[strand.first + i * stride] = strand.from[i];
    }
  }
}

/// One plane of the output, out of parts that differ in the last dimension alone, whose sums lie
/// one behind the other: of `planes` planes each.
void spread(Pulse& pulse, const ConvTranspose& conv, std::span<const Part> parts, const float* sums,
            std::int64_t planes, std::int64_t plane, float* to) {
  const auto last = static_cast<std::size_t>(conv.window.rank - 1);
  const Part& leading = parts.front();
  std::int64_t lines = 1;
  for (std::size_t d = 0; d < last; ++d) lines *= leading.window.out[d];
  std::array<Strand, 8> few;
  std::vector<Strand> many(parts.size() > few.size() ? parts.size() : 0);
  const auto strands = many.empty() ? std::span(few).first(parts.size()) : std::span(many);
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t at = 0, rest = line, step = conv.window.out[last];
    for (std::size_t d = last; d-- > 0;) {
      at += (leading.first[d] + rest % leading.window.out[d] * conv.window.stride[d]) * step;
      rest /= leading.window.out[d];
      step *= conv.window.out[d];
    }
    const float* from = sums;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const std::int64_t width = part.window.out[last];
      strands[i] = {from + (plane * lines + line) * width, part.first[last], width};
      from += planes * lines * width;
    }
    weave(strands, to + at);
    pulse(conv.window.out[last]);
  }
}

core::Result<void> run_parts(const ConvTranspose& conv, std::span<const Part> parts,
                             std::size_t phase, const PhaseWeights& weights, const Call& call,
                             Tensor& output, Workspace& ws) {
  const std::int64_t planes = conv.batch * conv.out_channels;
  const std::int64_t out_plane = conv.window.out_elements();
  float* const y = output.mutable_data<float>().data();
  const bool is_all = parts.size() == 1 && parts[0].window.out_elements() == out_plane;
  if (is_all) return PhaseRun(conv, parts[0], y, phase, weights, call, ws).run();
  std::int64_t places = 0;
  for (const Part& part : parts) places += part.window.out_elements();
  if (places == 0) return {};
  Room room;
  COMMENSAL_ASSIGN(float* const sums, room.of(ws.arena, planes * places));
  float* of_part = sums;
  for (const Part& part : parts) {
    const std::int64_t floats = planes * part.window.out_elements();
    if (floats > 0) {
      COMMENSAL_TRY(PhaseRun(conv, part, of_part, phase, weights, call, ws).run());
    }
    of_part += floats;
    ++phase;
  }
  ws.threads.run(planes, [&](std::int64_t plane) {
    Pulse pulse(&ws.threads);
    spread(pulse, conv, parts, sums, planes, plane, y + plane * out_plane);
  });
  return {};
}

constexpr std::int64_t kPhasesMax = 4096;

/// Whether most taps of most outputs meet an input: the judge walks only those that do.
bool is_dense(const Window& window) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    if (window.kernel[d] / window.stride[d] > 2 * window.in[d]) return false;
  }
  return true;
}

}  // namespace

/// Strides or dilations, 1 where none are given; nothing where those given are not for `rank`.
core::Result<std::optional<Dims>> steps_of(const Call& call, const char* name, int rank) {
  COMMENSAL_ASSIGN(const auto given, call.attributes->integers(name));
  if (!given.empty() && static_cast<int>(given.size()) != rank) return std::nullopt;
  Dims steps{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    steps[d] = given.empty() ? 1 : given[d];
    if (steps[d] < 1) return std::nullopt;
  }
  return steps;
}

core::Result<std::shared_ptr<const Packed>> pack_conv_transpose(const Call& call, Isa isa) {
  if (!call.has(1) || call.in(1).dtype() != tensor::DType::kFloat32) return nullptr;
  const tensor::Shape& w = call.in(1).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  if (w.rank() < 3 || w.elements() == 0 || group < 1 || w[0] % group != 0) return nullptr;
  COMMENSAL_ASSIGN(const auto stride, steps_of(call, "strides", w.rank() - 2));
  COMMENSAL_ASSIGN(const auto dilation, steps_of(call, "dilations", w.rank() - 2));
  if (!stride || !dilation) return nullptr;  // infer refuses it
  std::int64_t phases = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank() - 2); ++d) {
    if ((*stride)[d] > kPhasesMax) return nullptr;  // ref/ serves
    phases *= (*stride)[d];
    if (phases > kPhasesMax) return nullptr;
  }
  return std::make_shared<const PhaseWeights>(call.pulse, kernels_for(isa), call.in(1), *stride,
                                              *dilation, group);
}

namespace {

/// What the runs of a call have in common: made once for all runs of a node.
struct TransposeCall {
  ConvTranspose conv;
  std::vector<Part> parts;  // none where it is not dense, or has too many phases

  static core::Result<TransposeCall> of(const Call& call) {
    TransposeCall made;
    COMMENSAL_ASSIGN(made.conv, shape_inference::conv_transpose_of(call));
    const Window& w = made.conv.window;
    if (!is_dense(w) || call.in(1).elements() == 0) return made;
    std::int64_t phases = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
      if (w.stride[d] > kPhasesMax) return made;
      phases *= w.stride[d];
      if (phases > kPhasesMax) return made;
    }
    for (const Phase& phase : phases_of(w.rank, w.kernel, w.stride, w.dilation)) {
      made.parts.push_back(part_of(made.conv, phase));
    }
    return made;
  }
  std::int64_t bytes() const {
    auto all = static_cast<std::int64_t>(sizeof *this);
    for (const Part& part : parts) all += part.bytes();
    return all;
  }
};

core::Result<bool> served(const TransposeCall& parsed, const Call& call, std::span<Tensor> outputs,
                          Workspace& ws) {
  if (call.in(0).dtype() != tensor::DType::kFloat32 || parsed.parts.empty()) return false;
  std::shared_ptr<const Packed> made;  // where the weights are not constant
  std::shared_ptr<float> counted;      // in the arena, which bounds what they take beside it
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(
        counted, floats_from(ws.arena, PhaseWeights::floats(kernels_for(ws.isa), call.in(1).shape(),
                                                            parsed.conv.group)));
    COMMENSAL_ASSIGN(made, pack_conv_transpose(call, ws.isa));
  }
  const auto* weights =
      static_cast<const PhaseWeights*>(ws.packed == nullptr ? made.get() : ws.packed);
  // Taps outside are skipped. Filling them with zeros is the same, but for weights like infinity.
  const bool serves = weights != nullptr && weights->all_finite() && outputs[0].elements() > 0;
  if (!serves) return false;
  const Window& w = parsed.conv.window;
  const auto across = static_cast<std::size_t>(w.stride[static_cast<std::size_t>(w.rank - 1)]);
  for (std::size_t i = 0; i < parsed.parts.size(); i += across) {
    COMMENSAL_TRY(run_parts(parsed.conv, std::span(parsed.parts).subspan(i, across), i, *weights,
                            call, outputs[0], ws));
  }
  return true;
}

}  // namespace

core::Result<void> conv_transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of([&] { return TransposeCall::of(call); }));
  return serve(call, outputs, ws, ref::kConvTranspose,
               [&parsed](const Call& own, std::span<Tensor> to, Workspace& space) {
                 return served(*parsed, own, to, space);
               });
}

}  // namespace commensal::kernels::cpu
