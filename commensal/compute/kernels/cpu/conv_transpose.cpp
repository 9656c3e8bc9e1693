// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: outputs that are a stride apart meet the same taps. Those of a phase (one place
// for each residue of the strides) are a convolution of their own with some of the taps, which
// walks backwards over the input.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/window_columns.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/conv_transpose.hpp>

namespace commensal::kernels::cpu {
namespace {

using shape_inference::ConvTranspose;
using shape_inference::Dims;
using shape_inference::Window;

/// The taps begin, begin + stride, ... of each dimension.
struct Phase {
  Dims begin{}, taps{};
};

std::vector<Phase> phases_of(int rank, const Dims& kernel, const Dims& stride) {
  std::vector<Phase> made = {{}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    std::vector<Phase> all;
    for (const Phase& before : made) {
      for (std::int64_t r = 0; r < stride[d]; ++r) {
        Phase one = before;
        one.begin[d] = r;
        one.taps[d] = r < kernel[d] ? (kernel[d] - r + stride[d] - 1) / stride[d] : 0;
        all.push_back(one);
      }
    }
    made = std::move(all);
  }
  return made;
}

std::int64_t product_of(int rank, const Dims& dims) {
  std::int64_t all = 1;
  for (int d = 0; d < rank; ++d) all *= dims[static_cast<std::size_t>(d)];
  return all;
}

/// The left matrices of all phases and groups.
class Weights final : public Packed {
 public:
  Weights(Pulse& pulse, const CpuKernels& kernels, const Tensor& w, const Dims& stride,
          std::int64_t group)
      : kernels_(kernels), rows_(w.shape()[1]), channels_(w.shape()[0] / group) {
    const int rank = w.shape().rank() - 2;
    Dims kernel{};
    for (int d = 0; d < rank; ++d) kernel[static_cast<std::size_t>(d)] = w.shape()[d + 2];
    const Tensor read = w.read_once();
    const auto all = read.data<float>();
    all_finite_ = std::ranges::all_of(all, [&](float one) {
      pulse();
      return std::isfinite(one);
    });
    for (const Phase& phase : phases_of(rank, kernel, stride)) {
      const std::int64_t depth = product_of(rank, phase.taps) * channels_;
      const std::int64_t floats = packed_rows_floats(kernels, rows_, depth);
      auto& made = phases_.emplace_back(
          std::make_unique<AlignedFloats>(std::max<std::int64_t>(floats * group, 1)));
      std::vector<float> plain(static_cast<std::size_t>(rows_ * depth));
      for (std::int64_t g = 0; g < group; ++g) {
        const float* const from = all.data() + g * channels_ * rows_ * product_of(rank, kernel);
        gather(pulse, phase, rank, kernel, stride, from, plain);
        pack_rows(kernels, plain.data(), rows_, depth, depth, 1, made->data() + g * floats);
      }
    }
  }
  bool all_finite() const { return all_finite_; }
  Rows rows(std::size_t phase, std::int64_t depth, std::int64_t group) const {
    const std::int64_t floats = packed_rows_floats(kernels_, rows_, depth);
    return {phases_[phase]->data() + group * floats, depth * kernels_.tile_rows,
            kernels_.tile_rows};
  }

 private:
  /// Row o, column (tap * channels + c), from [C, O, K...].
  void gather(Pulse& pulse, const Phase& phase, int rank, const Dims& kernel, const Dims& stride,
              const float* from, std::vector<float>& to) const {
    const std::int64_t taps = product_of(rank, phase.taps), all = product_of(rank, kernel);
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t tap = 0, rest = t, step = 1;
      for (int d = rank - 1; d >= 0; --d) {
        const auto k = static_cast<std::size_t>(d);
        tap += (phase.begin[k] + rest % phase.taps[k] * stride[k]) * step;
        rest /= phase.taps[k];
        step *= kernel[k];
      }
      for (std::int64_t o = 0; o < rows_; ++o) {
        for (std::int64_t c = 0; c < channels_; ++c) {
          pulse();
          to[static_cast<std::size_t>((o * taps + t) * channels_ + c)] =
              from[(c * rows_ + o) * all + tap];
        }
      }
    }
  }

  const CpuKernels& kernels_;
  std::int64_t rows_, channels_;  // of a group
  bool all_finite_ = true;
  std::vector<std::unique_ptr<AlignedFloats>> phases_;
};

/// Output place (first + i) * stride + begin - pad of each dimension is place i of the phase.
struct Part {
  Window window;
  Dims first{};  // output place of the phase's place 0
};

Part part_of(const ConvTranspose& conv, const Phase& phase) {
  Part part;
  Window& w = part.window;
  w.rank = conv.window.rank;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    const std::int64_t stride = conv.window.stride[d], pad = conv.window.pad_begin[d];
    // The least q with q * stride + begin - pad >= 0.
    const std::int64_t short_by = pad - phase.begin[d];
    const std::int64_t q = short_by > 0 ? (short_by + stride - 1) / stride : -(-short_by / stride);
    part.first[d] = q * stride - short_by;
    const std::int64_t room = conv.window.out[d] - part.first[d];
    w.in[d] = conv.window.in[d];
    w.out[d] = room > 0 ? (room + stride - 1) / stride : 0;
    w.kernel[d] = phase.taps[d];
    w.stride[d] = 1;
    w.dilation[d] = -1;
    w.pad_begin[d] = -q;
  }
  return part;
}

/// The places of one plane of a phase into the output's.
void spread(const ConvTranspose& conv, const Part& part, const float* from, float* plane) {
  const auto last = static_cast<std::size_t>(part.window.rank - 1);
  const std::int64_t width = part.window.out[last], stride = conv.window.stride[last];
  const std::int64_t lines = part.window.out_elements() / std::max<std::int64_t>(width, 1);
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t at = 0, rest = line, step = conv.window.out[last];
    for (std::size_t d = last; d-- > 0;) {
      at += (part.first[d] + rest % part.window.out[d] * conv.window.stride[d]) * step;
      rest /= part.window.out[d];
      step *= conv.window.out[d];
    }
    float* const to = plane + at + part.first[last];
    for (std::int64_t x = 0; x < width; ++x) to[x * stride] = from[line * width + x];
  }
}

core::Result<void> run_phase(const ConvTranspose& conv, const Part& part, std::size_t phase,
                             const Weights& weights, const Call& call, Tensor& output,
                             Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const std::int64_t channels = conv.channels / conv.group, rows = conv.out_channels / conv.group;
  const std::int64_t places = part.window.out_elements();
  const std::int64_t depth = part.window.taps() * channels;
  if (places == 0) return {};
  COMMENSAL_ASSIGN(const auto sums, floats_from(ws.arena, conv.batch * conv.out_channels * places));
  const float* const x = call.in(0).data<float>().data();
  const float* const bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  std::vector<WindowColumns> sources;
  std::vector<Product> products;
  sources.reserve(static_cast<std::size_t>(conv.batch * conv.group));
  for (std::int64_t i = 0; i < conv.batch * conv.group; ++i) {
    const std::int64_t g = i % conv.group;
    sources.emplace_back(kernels, part.window, x + i * channels * part.window.in_elements(),
                         channels);
    products.push_back({.a = weights.rows(phase, depth, g),
                        .b = &sources.back(),
                        .c = sums.get() + i * rows * places,
                        .c_step = places,
                        .bias = bias == nullptr ? nullptr : bias + g * rows,
                        .bias_row_step = 1});
  }
  COMMENSAL_TRY(multiply({.rows = rows, .depth = depth, .columns = places}, products, ws));
  float* const y = output.mutable_data<float>().data();
  ws.threads.run(conv.batch * conv.out_channels, [&](std::int64_t plane) {
    spread(conv, part, sums.get() + plane * places, y + plane * conv.window.out_elements());
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

core::Result<std::shared_ptr<const Packed>> pack_conv_transpose(const Call& call, Isa isa) {
  if (!call.has(1) || call.in(1).dtype() != tensor::DType::kFloat32) return nullptr;
  const tensor::Shape& w = call.in(1).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  COMMENSAL_ASSIGN(const auto given, call.attributes->integers("strides"));
  if (w.rank() < 3 || w.elements() == 0 || group < 1 || w[0] % group != 0) return nullptr;
  if (!given.empty() && static_cast<int>(given.size()) != w.rank() - 2) return nullptr;
  Dims stride{};
  std::int64_t phases = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank() - 2); ++d) {
    stride[d] = given.empty() ? 1 : given[d];
    if (stride[d] < 1 || stride[d] > kPhasesMax)
      return nullptr;  // infer refuses it, or ref/ serves
    phases *= stride[d];
    if (phases > kPhasesMax) return nullptr;
  }
  return std::make_shared<const Weights>(call.pulse, kernels_for(isa), call.in(1), stride, group);
}

core::Result<void> conv_transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (call.in(0).dtype() != tensor::DType::kFloat32) {
    return ref::kConvTranspose.best()(call, outputs, ws);
  }
  COMMENSAL_ASSIGN(const ConvTranspose conv, shape_inference::conv_transpose_of(call));
  std::shared_ptr<const Packed> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, pack_conv_transpose(call, ws.isa));
  }
  const auto* weights = static_cast<const Weights*>(ws.packed == nullptr ? made.get() : ws.packed);
  const auto rank = static_cast<std::size_t>(conv.window.rank);
  const bool dilates = std::any_of(conv.window.dilation.begin(),
                                   conv.window.dilation.begin() + static_cast<std::ptrdiff_t>(rank),
                                   [](std::int64_t one) { return one != 1; });
  // Taps outside are skipped. Filling them with zeros is the same, but for weights like infinity.
  const bool serves = weights != nullptr && weights->all_finite() && !dilates &&
                      is_dense(conv.window) && outputs[0].elements() > 0;
  if (!serves) {
    return ref::kConvTranspose.best()(call, outputs, ws);
  }
  const auto phases = phases_of(conv.window.rank, conv.window.kernel, conv.window.stride);
  for (std::size_t i = 0; i < phases.size(); ++i) {
    COMMENSAL_TRY(run_phase(conv, part_of(conv, phases[i]), i, *weights, call, outputs[0], ws));
  }
  return {};
}

}  // namespace commensal::kernels::cpu
