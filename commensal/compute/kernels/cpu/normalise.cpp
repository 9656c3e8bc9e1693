// SPDX-License-Identifier: Apache-2.0
// Normalisations and Softmax.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/doubles.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/groups.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>
#include <commensal/compute/kernels/shape_inference/softmax.hpp>

namespace commensal::kernels::cpu {

using tensor::DType;

namespace {
/// `bn` is of the call as it came: of 16-bit floats, perhaps.
core::Result<bool> batch_norm_served(const shape_inference::BatchNorm& bn, const Call& call,
                                     std::span<Tensor> outputs, Workspace& ws) {
  const auto is_single = [&](int input) { return call.in(input).dtype() == DType::kFloat32; };
  if (bn.trains || !is_single(0) || !is_single(1)) return false;
  if (bn.type.shape.elements() == 0) return true;
  const UnaryFn normalise = kernels_for(ws.isa).unary[static_cast<std::size_t>(Unary::kNormalise)];
  const float* x = call.in(0).data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  const float *const scales = call.in(1).data<float>().data(),
                     *const biases = call.in(2).data<float>().data(),
                     *const means = call.in(3).data<float>().data(),
                     *const variances = call.in(4).data<float>().data();
  ws.threads.run(bn.type.shape.elements() / bn.plane, [&](std::int64_t i) {
    const std::int64_t c = i % bn.channels;
    const float scale = scales[c] / std::sqrt(variances[c] + bn.epsilon);
    normalise(x + i * bn.plane, y + i * bn.plane, bn.plane, {means[c], scale, biases[c]});
  });
  return true;
}
}  // namespace

core::Result<void> batch_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto bn,
                   call.memo.of([&] { return shape_inference::batch_norm_of(call); }));
  return serve(call, outputs, ws, ref::kBatchNormalization,
               [&](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return batch_norm_served(*bn, own, made, space);
               });
}

namespace {
struct LayerNorm {
  std::int64_t rows = 0, length = 0, rows_a_task = 1, tasks = 0;
  float epsilon = 0;

  static core::Result<LayerNorm> of(const Call& call) {
    const tensor::Shape& shape = call.in(0).shape();
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
    LayerNorm made{.rows = shape.elements(0, axis), .length = shape.elements(axis, shape.rank())};
    COMMENSAL_ASSIGN(made.epsilon, call.attributes->real("epsilon", 1e-5f));
    made.rows_a_task = std::max<std::int64_t>(8192 / made.length, 1);
    made.tasks = ceil_div(made.rows, made.rows_a_task);
    return made;
  }
};

core::Result<bool> layer_norm_served(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return false;
  COMMENSAL_ASSIGN(const auto norm, call.memo.of([&] { return LayerNorm::of(call); }));
  const std::int64_t rows = norm->rows, length = norm->length;
  const float epsilon = norm->epsilon;
  const auto normalise = kernels_for(ws.isa).layer_norm;
  const float* x = call.in(0).data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  const float* scale = call.in(1).data<float>().data();
  const float* bias = call.has(2) ? call.in(2).data<float>().data() : nullptr;
  float* facts[2] = {nullptr, nullptr};
  for (std::size_t o = 1; o < outputs.size(); ++o) {
    facts[o - 1] = outputs[o].mutable_data<float>().data();
  }
  ws.threads.run(norm->tasks, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * norm->rows_a_task);
    for (std::int64_t row = task * norm->rows_a_task; row < end; ++row) {
      const NormFacts made =
          normalise({x + row * length, y + row * length, length, scale, bias, epsilon});
      if (facts[0] != nullptr) facts[0][row] = ref::store<float>(made.mean);
      if (facts[1] != nullptr) facts[1][row] = ref::store<float>(made.scale);
    }
  });
  return true;
}

core::Result<bool> groups_served(const shape_inference::Groups& groups, const Call& call,
                                 Tensor& output, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return false;
  if (output.elements() == 0) return true;
  const CpuKernels& kernels = kernels_for(ws.isa);
  const UnaryFn normalise = kernels.unary[static_cast<std::size_t>(Unary::kNormaliseTwice)];
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const auto scale = call.in(1).data<float>(), bias = call.in(2).data<float>();
  ws.threads.run(output.elements() / groups.size, [&](std::int64_t group) {
    const std::int64_t first = group * groups.size;
    const NormFacts facts = kernels.norm_facts(x + first, groups.size, groups.epsilon);
    for (std::int64_t at = first; at < first + groups.size; at += groups.stretch) {
      const auto p = static_cast<std::size_t>(groups.parameter(at));
      normalise(x + at, y + at, groups.stretch, {facts.mean, facts.scale, scale[p], bias[p]});
    }
  });
  return true;
}

template <shape_inference::GroupForm kForm>
core::Result<void> normalise_groups(const Judge& judge, const Call& call, std::span<Tensor> outputs,
                                    Workspace& ws) {
  const auto parse = [&]() -> core::Result<shape_inference::Groups> {
    COMMENSAL_ASSIGN(auto made, shape_inference::groups_of(call, kForm));
    COMMENSAL_ASSIGN(made.epsilon, call.attributes->real("epsilon", 1e-5f));
    return made;
  };
  COMMENSAL_ASSIGN(const auto groups, call.memo.of(parse));
  return serve(call, outputs, ws, judge,
               [&](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return groups_served(*groups, own, made[0], space);
               });
}
}  // namespace

core::Result<void> layer_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return serve(call, outputs, ws, ref::kLayerNormalization, layer_norm_served);
}
core::Result<void> group_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return normalise_groups<shape_inference::GroupForm::kGroup>(ref::kGroupNormalization, call,
                                                              outputs, ws);
}
core::Result<void> instance_normalization(const Call& call, std::span<Tensor> outputs,
                                          Workspace& ws) {
  return normalise_groups<shape_inference::GroupForm::kInstance>(ref::kInstanceNormalization, call,
                                                                 outputs, ws);
}

namespace {

using RowFn = void (*)(const float* x, float* y, std::int64_t count);

/// Rows that lie across: `kAcross` neighbours at a time are turned round, and back.
core::Result<void> across(const shape_inference::Softmax& s, const float* x, float* y, RowFn fn,
                          Workspace& ws) {
  constexpr std::int64_t kAcross = 16;
  const std::int64_t length = s.view.length, inner = s.view.inner_size;
  const std::int64_t pieces = (inner + kAcross - 1) / kAcross;
  const std::int64_t outer = s.type.shape.elements() / (length * inner);
  return run_with_scratch(
      ws, outer * pieces, 2 * kAcross * length, [&](std::int64_t i, float* rows) {
        float* const made = rows + kAcross * length;
        const std::int64_t from = i % pieces * kAcross, count = std::min(kAcross, inner - from);
        const std::int64_t first = i / pieces * length * inner + from;
        for (std::int64_t k = 0; k < length; ++k) {
          for (std::int64_t c = 0; c < count; ++c) rows[c * length + k] = x[first + k * inner + c];
        }
        for (std::int64_t c = 0; c < count; ++c) fn(rows + c * length, made + c * length, length);
        for (std::int64_t k = 0; k < length; ++k) {
          for (std::int64_t c = 0; c < count; ++c) y[first + k * inner + c] = made[c * length + k];
        }
      });
}

/// A Softmax and its rows, several a task.
struct SoftmaxRows : shape_inference::Softmax {
  std::int64_t rows = 0, rows_a_task = 1, tasks = 0;

  static core::Result<SoftmaxRows> of(const Call& call) {
    SoftmaxRows made;
    COMMENSAL_ASSIGN(static_cast<shape_inference::Softmax&>(made),
                     shape_inference::softmax_of(call));
    if (made.type.shape.elements() == 0) return made;
    made.rows = made.type.shape.elements() / made.view.length;
    made.rows_a_task = std::max<std::int64_t>(4096 / made.view.length, 1);
    made.tasks = ceil_div(made.rows, made.rows_a_task);
    return made;
  }
  template <class F>
  void for_rows(std::int64_t task, const F& f) const {
    const std::int64_t end = std::min(rows, (task + 1) * rows_a_task);
    for (std::int64_t row = task * rows_a_task; row < end; ++row) f(row);
  }
};

/// Of 16-bit floats, row by row: what is widened is still in the first cache.
core::Result<void> half_rows(const SoftmaxRows& s, RowFn fn, const Call& call, Tensor& output,
                             Workspace& ws) {
  const HalfKernels halves = half_kernels_for(ws.isa, s.type.dtype);
  const std::uint16_t* x = half_bits(call.in(0));
  std::uint16_t* y = half_bits(output);
  const std::int64_t length = s.view.length;
  constexpr std::int64_t kPiece = 1 << 18;  // elements between two yields
  return run_with_scratch(ws, s.tasks, 2 * length, [&](std::int64_t task, float* wide) {
    s.for_rows(task, [&](std::int64_t row) {
      for (std::int64_t at = 0; at < length; at += kPiece) {
        halves.widen(x + row * length + at, wide + at, std::min(kPiece, length - at));
        if (at > 0) ws.threads.yield();
      }
      fn(wide, wide + length, length);
      for (std::int64_t at = 0; at < length; at += kPiece) {
        halves.round(wide + length + at, y + row * length + at, std::min(kPiece, length - at));
        if (at > 0) ws.threads.yield();
      }
    });
  });
}

core::Result<bool> softmax_served(const SoftmaxRows& s, RowFn fn, const Call& call, Tensor& output,
                                  Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return false;
  const std::int64_t length = s.view.length;
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  if (s.view.inner_size != 1) {
    COMMENSAL_TRY(across(s, x, y, fn, ws));
    return true;
  }
  ws.threads.run(s.tasks, [&](std::int64_t task) {
    s.for_rows(task, [&](std::int64_t row) { fn(x + row * length, y + row * length, length); });
  });
  return true;
}

core::Result<void> softmax_by(RowFn fn, bool logarithm, const Call& call, Tensor& output,
                              Workspace& ws, const Judge& judge) {
  COMMENSAL_ASSIGN(const auto kept, call.memo.of([&] { return SoftmaxRows::of(call); }));
  const SoftmaxRows& s = *kept;
  if (s.type.shape.elements() == 0) return {};
  if (s.type.dtype == DType::kFloat64) {
    return softmax_doubles({s.rows, s.view.length, s.view.inner_size, logarithm},
                           call.in(0).data<double>().data(), output.mutable_data<double>().data(),
                           ws);
  }
  if (is_half(s.type.dtype) && s.view.inner_size == 1) return half_rows(s, fn, call, output, ws);
  return serve(call, {&output, 1}, ws, judge,
               [&](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return softmax_served(s, fn, own, made[0], space);
               });
}

}  // namespace

core::Result<void> log_softmax(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return softmax_by(kernels_for(ws.isa).log_softmax, true, call, outputs[0], ws, ref::kLogSoftmax);
}
core::Result<void> softmax(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return softmax_by(kernels_for(ws.isa).softmax, false, call, outputs[0], ws, ref::kSoftmax);
}

}  // namespace commensal::kernels::cpu
