// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/recurrent_layer.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace commensal::kernels::cpu::recurrent {

RowFunction function_of(const ref::Activation& of, const CpuKernels& kernels,
                        const RecurrentRows& rows) {
  const auto unary = [&](Unary what) { return kernels.unary[static_cast<std::size_t>(what)]; };
  const UnaryFn by_kind[] = {rows.affine,
                             unary(Unary::kElu),
                             unary(Unary::kHardSigmoid),
                             unary(Unary::kLeakyRelu),
                             unary(Unary::kRelu),
                             rows.scaled_tanh,
                             unary(Unary::kSigmoid),
                             unary(Unary::kSoftplus),
                             rows.softsign,
                             unary(Unary::kTanh),
                             rows.thresholded_relu};
  return {by_kind[static_cast<std::size_t>(of.kind)], {of.alpha, of.beta}};
}

core::Result<Setting> Setting::of(const Call& call, Cell cell) {
  Setting made;
  made.cell = cell;
  made.gates = gates_of(cell);
  COMMENSAL_ASSIGN(const std::string way, call.attributes->text("direction", "forward"));
  COMMENSAL_ASSIGN(made.batch_first, call.attributes->integer("layout", 0));
  COMMENSAL_ASSIGN(made.linear_before_reset, call.attributes->integer("linear_before_reset", 0));
  COMMENSAL_ASSIGN(made.input_forget, call.attributes->integer("input_forget", 0));
  constexpr float kNone = std::numeric_limits<float>::infinity();
  COMMENSAL_ASSIGN(made.clip, call.attributes->real("clip", kNone));
  made.first_reverse = way == "reverse";
  made.has_clip = made.clip != kNone;
  const tensor::Shape &x = call.in(kX).shape(), &r = call.in(kR).shape();
  made.seq = x[made.batch_first ? 1 : 0];
  made.batch = x[made.batch_first ? 0 : 1];
  made.width = x[2];
  made.units = r[2];
  made.directions = r[0];
  COMMENSAL_ASSIGN(made.functions, ref::activations_of(call, made.directions, made.gates));
  return made;
}

namespace {

/// First rows: of each moment, and of what would follow the last.
std::vector<std::int64_t> first_rows(const Setting& setting, Pulse& pulse, const auto& items_of) {
  std::vector<std::int64_t> made;
  made.reserve(static_cast<std::size_t>(setting.seq) + 1);  // growing takes no pause
  made.push_back(0);
  for (std::int64_t t = 0; t < setting.seq; ++t) {
    made.push_back(made.back() + items_of(t));
    pulse();
  }
  return made;
}

/// How many are longer than l, for l from 0 to the longest there may be.
std::vector<std::int64_t> longer_than(std::span<const std::int32_t> lengths, std::int64_t longest,
                                      Pulse& pulse) {
  std::vector<std::int64_t> made;
  made.reserve(static_cast<std::size_t>(longest) + 1);
  for (std::int64_t l = 0; l <= longest; ++l) {
    made.push_back(0);
    pulse();
  }
  for (const std::int32_t length : lengths) {
    ++made[static_cast<std::size_t>(length)];
    pulse();
  }
  std::int64_t longer = 0;
  for (auto count = made.rbegin(); count != made.rend(); ++count) {
    longer += std::exchange(*count, longer);
    pulse();
  }
  return made;
}

}  // namespace

// By counting: a sort of many has no place to pause in.
Moments::Moments(const Setting& setting, const Call& call) : setting_(setting) {
  if (!call.has(kLengths)) {
    first_ = first_rows(setting, call.pulse, [&](std::int64_t) { return setting.batch; });
    return;
  }
  const auto lengths = call.in(kLengths).data<std::int32_t>();  // 0 to seq: infer has seen to it
  auto longer = longer_than(lengths, setting.seq, call.pulse);
  first_ = first_rows(setting, call.pulse,
                      [&](std::int64_t t) { return longer[static_cast<std::size_t>(t)]; });
  order_ = std::make_unique_for_overwrite<std::int64_t[]>(lengths.size());
  for (std::size_t item = 0; item < lengths.size(); ++item) {
    const auto rank = longer[static_cast<std::size_t>(lengths[item])]++;
    order_[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(item);
    call.pulse();
  }
}

void Elements::read(Input input, std::int64_t at, std::int64_t count, float* to) const {
  const Tensor& from = call_.in(input);
  if (halves_.widen != nullptr) return halves_.widen(half_bits(from) + at, to, count);
  std::memcpy(to, from.data<float>().data() + at, static_cast<std::size_t>(count) * sizeof(float));
}

void Elements::write(const float* from, std::int64_t count, Tensor& to, std::int64_t at) const {
  if (halves_.round != nullptr) return halves_.round(from, half_bits(to) + at, count);
  std::memcpy(to.mutable_data<float>().data() + at, from,
              static_cast<std::size_t>(count) * sizeof(float));
}

core::Result<Rows> pack_x(const Layer& layer, float* panels) {
  constexpr std::int64_t kPiece = 1 << 11;  // elements of a row
  const CpuKernels& kernels = kernels_for(layer.ws.isa);
  const std::int64_t rows = layer.moments.rows(), width = layer.setting.width;
  const std::int64_t height = kernels.tile_rows, pieces = ceil_div(width, kPiece);
  COMMENSAL_TRY(run_with_scratch(
      layer.ws, ceil_div(rows, height) * pieces, height * std::min(kPiece, width),
      [&](std::int64_t i, float* scratch) {
        const std::int64_t first = i / pieces * height, count = std::min(height, rows - first);
        const std::int64_t at = i % pieces * kPiece, some = std::min(kPiece, width - at);
        layer.moments.for_rows(first, count, [&](std::int64_t r, std::int64_t row) {
          layer.elements.read(kX, row * width + at, some, scratch + r * some);
        });
        pack_rows(kernels, scratch, count, some, some, 1, panels + first * width + at * height);
      }));
  return Rows{panels, width * height, height};
}

}  // namespace commensal::kernels::cpu::recurrent
