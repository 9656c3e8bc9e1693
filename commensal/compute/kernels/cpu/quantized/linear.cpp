// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear; Cast and CastLike of binary32 to
// binary16 and bytes, and of binary16 back.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/narrow.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/quantized/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/scale_index.hpp>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

constexpr std::int64_t kPiece = 16384;  // elements of a task

/// Calls task(begin, count) for pieces of [0, total), on all threads.
template <class Task>
void in_pieces(ThreadPool& threads, std::int64_t total, const Task& task) {
  threads.run((total + kPiece - 1) / kPiece,
              [&](std::int64_t i) { task(i * kPiece, std::min(kPiece, total - i * kPiece)); });
}

bool is_byte(DType type) { return type == DType::kUint8 || type == DType::kInt8; }

/// Scales and zero points of a call, and which rows of the tensor they serve.
struct Scaled {
  shape_inference::ScaleIndex place;
  std::vector<std::int32_t> zeros;
  std::span<const float> scales;

  static core::Result<Scaled> of(const Call& call) {
    Scaled made;
    COMMENSAL_ASSIGN(made.place, shape_inference::ScaleIndex::of(call));
    made.scales = call.in(1).data<float>();
    for (std::size_t i = 0; i < made.scales.size(); ++i) {
      made.zeros.push_back(
          static_cast<std::int32_t>(ref::code_at(call, 2, static_cast<std::int64_t>(i))));
    }
    return made;
  }

  /// Calls task(row, begin) for rows that one scale serves, or one a position.
  template <class Task>
  void for_rows(ThreadPool& threads, std::int64_t total, DType codes, const Task& task) const {
    LinearRow row{.scales = scales.data(), .zeros = zeros.data(), .codes = codes};
    const std::int64_t length = place.view.length, inner = place.view.inner_size;
    if (place.single) {
      in_pieces(threads, total, [&](std::int64_t begin, std::int64_t count) {
        LinearRow piece = row;
        piece.count = count;
        task(piece, begin);
      });
    } else if (inner == 1) {
      row.count = length;
      row.scales_step = row.zeros_step = 1;
      threads.run(total / length, [&](std::int64_t i) { task(row, i * length); });
    } else {
      row.count = inner;
      threads.run(total / inner, [&](std::int64_t i) {
        LinearRow one = row;
        one.scales += i % length;
        one.zeros += i % length;
        task(one, i * inner);
      });
    }
  }
};

/// One scale for all elements or for each position along the axis, all binary32.
core::Result<bool> suits(const Call& call) {
  COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("block_size", 0));
  return block == 0 && call.in(1).dtype() == DType::kFloat32;
}

/// Casts binary32 to binary16 and bytes, and binary16 back; false: none of these.
bool narrowed(const Call& call, Tensor& output, Workspace& ws) {
  const NarrowKernels& kernels = narrow_kernels_for(ws.isa);
  const auto all = [&](auto kernel, const auto* x, auto* y) {
    in_pieces(ws.threads, output.elements(),
              [&](std::int64_t begin, std::int64_t count) { kernel(x + begin, y + begin, count); });
    return true;
  };
  const DType from = call.in(0).dtype(), to = output.dtype();
  if (from == DType::kFloat16 && to == DType::kFloat32) {
    return all(kernels.from_half, half_bits(call.in(0)), output.mutable_data<float>().data());
  }
  if (from != DType::kFloat32) return false;
  const float* const x = call.in(0).data<float>().data();
  if (to == DType::kFloat16) return all(kernels.to_half, x, half_bits(output));
  if (to == DType::kUint8) return all(kernels.to_uint8, x, output.mutable_bytes().data());
  if (to == DType::kInt8) return all(kernels.to_int8, x, output.mutable_bytes().data());
  return false;
}

}  // namespace

core::Result<void> quantize_linear(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const bool plain, suits(call));
  COMMENSAL_ASSIGN(const std::int64_t precision, call.attributes->integer("precision", 0));
  const bool exact = precision == 0 || precision == 1;  // that of binary32
  if (!plain || !exact || call.in(0).dtype() != DType::kFloat32 || !is_byte(outputs[0].dtype())) {
    return ref::kQuantizeLinear.best()(call, outputs, ws);
  }
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const Scaled scaled, Scaled::of(call));
  const float* const from = call.in(0).data<float>().data();
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  scaled.for_rows(ws.threads, outputs[0].elements(), outputs[0].dtype(),
                  [&](const LinearRow& row, std::int64_t begin) {
                    code_kernels_for(ws.isa).quantise(row, from + begin, to + begin);
                  });
  return {};
}

core::Result<void> dequantize_linear(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const bool plain, suits(call));
  const DType codes = call.in(0).dtype();
  // The difference of two int32 would not be exact.
  const bool exact = is_byte(codes) || (codes == DType::kInt32 && !call.has(2));
  if (!plain || !exact || outputs[0].dtype() != DType::kFloat32) {
    return ref::kDequantizeLinear.best()(call, outputs, ws);
  }
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const Scaled scaled, Scaled::of(call));
  const std::uint8_t* const from = call.in(0).bytes().data();
  const std::int64_t size = tensor::traits(codes).size;
  float* const to = outputs[0].mutable_data<float>().data();
  scaled.for_rows(ws.threads, outputs[0].elements(), codes,
                  [&](const LinearRow& row, std::int64_t begin) {
                    code_kernels_for(ws.isa).dequantise(row, from + begin * size, to + begin);
                  });
  return {};
}

core::Result<void> cast(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (!outputs.empty() && narrowed(call, outputs[0], ws)) return {};
  return ref::kCast.best()(call, outputs, ws);
}
core::Result<void> cast_like(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (!outputs.empty() && narrowed(call, outputs[0], ws)) return {};
  return ref::kCastLike.best()(call, outputs, ws);
}

core::Result<void> dynamic_quantize_linear(const Call& call, std::span<Tensor> outputs,
                                           Workspace& ws) {
  const CodeKernels& kernels = code_kernels_for(ws.isa);
  const auto x = call.in(0).data<float>();
  const auto total = static_cast<std::int64_t>(x.size());
  std::vector<Extremes> found(static_cast<std::size_t>((total + kPiece - 1) / kPiece));
  in_pieces(ws.threads, total, [&](std::int64_t begin, std::int64_t count) {
    found[static_cast<std::size_t>(begin / kPiece)] = kernels.extremes(x.data() + begin, count);
  });
  Extremes all;
  for (const Extremes& one : found) {
    if (std::isnan(one.low)) {
      all = one;
      break;
    }
    all = {std::min(all.low, one.low), std::max(all.high, one.high)};
  }
  const float scale = (all.high - all.low) / 255.0f;
  const auto zero = ref::code_of<std::uint8_t>((0.0f - all.low) / scale, 0);
  const std::int32_t zero_point = zero;
  LinearRow row{.scales = &scale, .zeros = &zero_point};
  std::uint8_t* const to = outputs[0].mutable_bytes().data();
  in_pieces(ws.threads, total, [&](std::int64_t begin, std::int64_t count) {
    LinearRow piece = row;
    piece.count = count;
    kernels.quantise(piece, x.data() + begin, to + begin);
  });
  if (outputs.size() > 1) outputs[1].mutable_data<float>()[0] = ref::store<float>(scale);
  if (outputs.size() > 2) outputs[2].mutable_data<std::uint8_t>()[0] = zero;
  return {};
}

}  // namespace commensal::kernels::cpu
