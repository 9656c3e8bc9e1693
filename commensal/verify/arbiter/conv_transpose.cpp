// SPDX-License-Identifier: Apache-2.0
// ConvTranspose: an element gathers what Conv would have scattered, by tap and then by channel;
// taps that meet no input are no steps.
#include <algorithm>
#include <commensal/verify/arbiter/products.hpp>

namespace commensal::arbiter {
namespace {

struct Transposed {
  Dims in, out, kernel, stride, dilation, pad_begin;
  std::int64_t batch = 0, channels = 0, out_channels = 0, group = 1;
  std::int64_t group_channels() const { return channels / group; }
  std::int64_t group_out_channels() const { return out_channels / group; }
};

// Attributes within what arithmetic of places can bear; nothing else.
std::optional<Dims> entries(const NodeText& node, std::string_view name, std::size_t count,
                            std::int64_t fallback) {
  Dims given = node.integers(name);
  if (given.empty()) given.assign(count, fallback);
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto is_sane = [&](std::int64_t v) { return v >= fallback && v < kMost; };
  if (given.size() != count || !std::ranges::all_of(given, is_sane)) return std::nullopt;
  return given;
}

// Takes the pads off `out`, which is everything that the kernel reaches.
bool set_pads(Transposed& t, const NodeText& node, const Dims& pads) {
  const std::size_t count = t.in.size();
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  const bool same = auto_pad.starts_with("SAME"), stated = node.has("output_shape");
  const auto sizes = entries(node, "output_shape", count, 0);
  if (!sizes) return false;
  const bool odd_at_end = auto_pad == "SAME_UPPER" || (!same && node.opset < 11);
  for (std::size_t d = 0; d < count; ++d) {
    std::int64_t begin = auto_pad == "VALID" ? 0 : pads[d];
    std::int64_t end = auto_pad == "VALID" ? 0 : pads[d + count];
    if (stated || same) {
      const std::int64_t size = stated ? (*sizes)[d] : t.in[d] * t.stride[d];
      const std::int64_t total = t.out[d] - size, half = total < 0 ? total : total / 2;
      begin = odd_at_end && total > 0 ? half : total - half;
      end = total - begin;
    }
    t.pad_begin.push_back(begin);
    t.out[d] -= begin + end;
    if (t.out[d] < 0) return false;
  }
  return true;
}

std::optional<Transposed> transposed_of(const NodeCall& call) {
  const Dims x = dims_of(call.inputs[0]), w = dims_of(call.inputs[1]);
  Transposed t;
  t.group = call.node.integer("group", 1);
  if (x.size() < 3 || w.size() != x.size() || w[0] != x[1] || t.group < 1 ||
      t.group > std::max<std::int64_t>(x[1], 1) || x[1] % t.group != 0) {
    return std::nullopt;
  }
  t.batch = x[0];
  t.channels = x[1];
  t.out_channels = w[1] * t.group;
  t.in.assign(x.begin() + 2, x.end());
  t.kernel.assign(w.begin() + 2, w.end());
  const std::size_t count = t.in.size();
  const auto strides = entries(call.node, "strides", count, 1);
  const auto dilations = entries(call.node, "dilations", count, 1);
  const auto pads = entries(call.node, "pads", 2 * count, 0);
  const auto more = entries(call.node, "output_padding", count, 0);
  if (!strides || !dilations || !pads || !more) return std::nullopt;
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < count; ++d) {
    if (t.in[d] < 1 || t.kernel[d] < 1 || t.kernel[d] > kTapsMax / taps || t.in[d] >> 31 != 0)
      return {};
    taps *= t.kernel[d];
    t.out.push_back((*strides)[d] * (t.in[d] - 1) + (*more)[d] +
                    (t.kernel[d] - 1) * (*dilations)[d] + 1);
  }
  t.stride = *strides;
  t.dilation = *dilations;
  return set_pads(t, call.node, *pads) ? std::optional(std::move(t)) : std::nullopt;
}

TypeResult transposed_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && call.has(1) && is_float(call.inputs[0]) &&
                     call.inputs[1].dtype == call.inputs[0].dtype;
  const auto t = there ? transposed_of(call) : std::nullopt;
  const bool fits =
      t && (!call.has(2) || call.inputs[2] == shaped(call.inputs[0].dtype, {t->out_channels}));
  if (!fits) return unsupported("inputs that do not fit");
  Dims dims = {t->batch, t->out_channels};
  dims.insert(dims.end(), t->out.begin(), t->out.end());
  return shaped(call.inputs[0].dtype, dims);
}

// The offset in the input of what `tap` brings to place `at`; -1: nothing.
std::int64_t source_of(const Transposed& t, const Dims& at, const Dims& tap) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::int64_t reach = at[d] + t.pad_begin[d] - tap[d] * t.dilation[d];
    if (reach < 0 || reach % t.stride[d] != 0 || reach / t.stride[d] >= t.in[d]) return -1;
    offset = offset * t.in[d] + reach / t.stride[d];
  }
  return offset;
}

void conv_transpose(const NodeCall& call, std::size_t output, std::int64_t element,
                    StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Transposed t = *transposed_of(call);
  const std::int64_t out = product(t.out), in = product(t.in), taps = product(t.kernel);
  const std::int64_t channel = element / out % t.out_channels;
  const std::int64_t image = element / out / t.out_channels;
  const std::int64_t first = channel / t.group_out_channels() * t.group_channels();
  const Dims at = split(element % out, t.out);
  std::vector<std::pair<std::int64_t, std::int64_t>> met;  // the tap, and where in the input
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    const std::int64_t source = source_of(t, at, split(tap, t.kernel));
    if (source >= 0) met.emplace_back(tap, source);
  }
  const std::int64_t depth = t.group_channels();
  Operand acc[] = {emit.zero()};
  steps.fold(static_cast<std::int64_t>(met.size()) * depth, acc,
             [&](std::int64_t i, std::span<Operand> state) {
               const auto& [tap, source] = met[static_cast<std::size_t>(i / depth)];
               const std::int64_t c = first + i % depth;
               const std::int64_t row =
                   c * t.group_out_channels() + channel % t.group_out_channels();
               state[0] = emit.fma(element_of(1, row * taps + tap),
                                   element_of(0, (image * t.channels + c) * in + source), state[0]);
             });
  add_bias(emit, acc[0], call.has(2) ? element_of(2, channel) : emit.zero());
}

}  // namespace

std::span<const OperatorRow> conv_transpose_rows() {
  static constexpr OperatorRow kRows[] = {
      {"ConvTranspose", 1, 0, "floats", transposed_type, conv_transpose},
  };
  return kRows;
}

}  // namespace commensal::arbiter
