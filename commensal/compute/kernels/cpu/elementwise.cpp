// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and of two broadcast ones.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>
#include <cstring>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;
using Outputs = std::span<Tensor>;

/// Elements of a task: enough to be worth a thread's while, few enough to share evenly.
constexpr std::int64_t kTaskElements = 16384;

core::Result<void> map(Unary what, const UnaryParameters& parameters, const Call& call,
                       Tensor& output, Workspace& ws) {
  const UnaryFn fn = kernels_for(ws.isa).unary[static_cast<std::size_t>(what)];
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  const std::int64_t count = output.elements();
  ws.threads.run(ceil_div(count, kTaskElements), [&](std::int64_t task) {
    const std::int64_t from = task * kTaskElements;
    fn(x + from, y + from, std::min(kTaskElements, count - from), parameters);
  });
  return {};
}

core::Result<void> unary(Unary what, const Judge& judge, const Call& call, Outputs outputs,
                         Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return judge.best()(call, outputs, ws);
  return map(what, {}, call, outputs[0], ws);
}

/// Of any number of inputs: the first two, then each of the others with what they gave; over
/// their number at last where it is a mean.
core::Result<void> variadic(Binary what, bool is_mean, const Judge& judge, const Call& call,
                            Outputs outputs, Workspace& ws) {
  using shape_inference::BroadcastRows;
  // Pow's exponent may be of another type.
  const auto is_float32 = [](const Tensor* input) { return input->dtype() == DType::kFloat32; };
  const std::size_t count = call.inputs.size();
  if (count < 2 || count > BroadcastRows::kInputsMax ||
      !std::ranges::all_of(call.inputs, is_float32)) {
    return judge.best()(call, outputs, ws);
  }
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto broadcast,
                   call.memo.of([&] { return shape_inference::Broadcast::of(call); }));
  const BroadcastRows rows(*broadcast, call);
  const auto& kernels = kernels_for(ws.isa).binary;
  const BinaryFn fn = kernels[static_cast<std::size_t>(what)];
  std::array<const float*, BroadcastRows::kInputsMax> x{};
  for (std::size_t i = 0; i < count; ++i) x[i] = call.inputs[i]->data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  const auto divisor = static_cast<float>(count);
  constexpr std::int64_t kPart = 2048;  // what comes out of two inputs is still in the first cache
  rows.for_each(ws.threads, [&](std::int64_t row, std::int64_t from, std::int64_t to) {
    const std::int64_t part = count > 2 ? kPart : to - from;
    for (; from < to; from += part) {
      const std::int64_t length = std::min(part, to - from);
      float* const made = y + row * rows.inner() + from;
      const auto at = [&](int i) {
        return x[static_cast<std::size_t>(i)] + rows.offset(i, row) + from * rows.step(i);
      };
      fn(at(0), rows.step(0), at(1), rows.step(1), made, length);
      for (int i = 2; i < static_cast<int>(count); ++i)
        fn(made, 1, at(i), rows.step(i), made, length);
      if (is_mean)
        kernels[static_cast<std::size_t>(Binary::kDiv)](made, 1, &divisor, 0, made, length);
    }
  });
  return {};
}

core::Result<void> binary(Binary what, const Judge& judge, const Call& call, Outputs outputs,
                          Workspace& ws) {
  return variadic(what, false, judge, call, outputs, ws);
}

/// A bound of Clip: an attribute before opset 11, then an input; `absent` where there is none.
core::Result<float> bound(const Call& call, std::string_view name, int input, float absent) {
  if (call.opset < 11) return call.attributes->real(name, absent);
  return call.has(input) ? call.in(input).data<float>()[0] : absent;
}

}  // namespace

core::Result<void> clip(const Call& call, Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return ref::kClip.best()(call, outputs, ws);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  COMMENSAL_ASSIGN(const float low, bound(call, "min", 1, -kInfinity));
  COMMENSAL_ASSIGN(const float high, bound(call, "max", 2, kInfinity));
  return map(Unary::kClip, {low, high}, call, outputs[0], ws);
}

core::Result<void> gelu(const Call& call, Outputs outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::string way, call.attributes->text("approximate", "none"));
  return unary(way == "tanh" ? Unary::kGeluTanh : Unary::kGelu, ref::kGelu, call, outputs, ws);
}

core::Result<void> hard_sigmoid(const Call& call, Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return ref::kHardSigmoid.best()(call, outputs, ws);
  COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 0.2f));
  COMMENSAL_ASSIGN(const float beta, call.attributes->real("beta", 0.5f));
  return map(Unary::kHardSigmoid, {alpha, beta}, call, outputs[0], ws);
}

core::Result<void> dropout(const Call& call, Outputs outputs, Workspace& ws) {
  const auto scalar = [&](int i) { return call.has(i) && call.in(i).elements() == 1; };
  const bool asks = call.opset >= 12 && scalar(2) && call.in(2).data<bool>()[0];
  const bool drops_nothing =
      scalar(1) && call.in(1).dtype() == DType::kFloat32 && call.in(1).data<float>()[0] == 0;
  const bool serves =
      call.in(0).dtype() == DType::kFloat32 && call.opset >= 12 && (!asks || drops_nothing);
  if (!serves) return ref::kDropout.best()(call, outputs, ws);
  Pulse pulse(&ws.threads);
  if (outputs.size() > 1) {
    const auto mask = outputs[1].mutable_data<bool>();
    for (bool& one : mask) {
      pulse();
      one = true;
    }
  }
  if (asks) return map(Unary::kStore, {}, call, outputs[0], ws);
  const auto from = call.in(0).bytes();
  copy(pulse, outputs[0].mutable_bytes().data(), from.data(), from.size());
  return {};
}

core::Result<void> abs(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAbs, ref::kAbs, call, outputs, ws);
}
core::Result<void> ceil(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kCeil, ref::kCeil, call, outputs, ws);
}
core::Result<void> erf(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kErf, ref::kErf, call, outputs, ws);
}
core::Result<void> exp(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kExp, ref::kExp, call, outputs, ws);
}
core::Result<void> floor(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kFloor, ref::kFloor, call, outputs, ws);
}
core::Result<void> hard_swish(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kHardSwish, ref::kHardSwish, call, outputs, ws);
}
core::Result<void> log(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kLog, ref::kLog, call, outputs, ws);
}
core::Result<void> neg(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kNeg, ref::kNeg, call, outputs, ws);
}
core::Result<void> reciprocal(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kReciprocal, ref::kReciprocal, call, outputs, ws);
}
core::Result<void> relu(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kRelu, ref::kRelu, call, outputs, ws);
}
core::Result<void> round(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kRound, ref::kRound, call, outputs, ws);
}
core::Result<void> sigmoid(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kSigmoid, ref::kSigmoid, call, outputs, ws);
}
core::Result<void> softplus(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kSoftplus, ref::kSoftplus, call, outputs, ws);
}
core::Result<void> sqrt(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kSqrt, ref::kSqrt, call, outputs, ws);
}
core::Result<void> tanh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kTanh, ref::kTanh, call, outputs, ws);
}

core::Result<void> acos(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAcos, ref::kAcos, call, outputs, ws);
}
core::Result<void> acosh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAcosh, ref::kAcosh, call, outputs, ws);
}
core::Result<void> asin(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAsin, ref::kAsin, call, outputs, ws);
}
core::Result<void> asinh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAsinh, ref::kAsinh, call, outputs, ws);
}
core::Result<void> atan(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAtan, ref::kAtan, call, outputs, ws);
}
core::Result<void> atanh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kAtanh, ref::kAtanh, call, outputs, ws);
}
core::Result<void> cos(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kCos, ref::kCos, call, outputs, ws);
}
core::Result<void> cosh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kCosh, ref::kCosh, call, outputs, ws);
}
core::Result<void> sin(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kSin, ref::kSin, call, outputs, ws);
}
core::Result<void> sinh(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kSinh, ref::kSinh, call, outputs, ws);
}
core::Result<void> tan(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kTan, ref::kTan, call, outputs, ws);
}
core::Result<void> mish(const Call& call, Outputs outputs, Workspace& ws) {
  return unary(Unary::kMish, ref::kMish, call, outputs, ws);
}

namespace {
/// Of a function with the parameter alpha.
core::Result<void> with_alpha(Unary what, float usual, const Judge& judge, const Call& call,
                              Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32) return judge.best()(call, outputs, ws);
  COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", usual));
  return map(what, {.first = alpha}, call, outputs[0], ws);
}
}  // namespace

core::Result<void> celu(const Call& call, Outputs outputs, Workspace& ws) {
  return with_alpha(Unary::kCelu, 1, ref::kCelu, call, outputs, ws);
}
core::Result<void> elu(const Call& call, Outputs outputs, Workspace& ws) {
  return with_alpha(Unary::kElu, 1, ref::kElu, call, outputs, ws);
}
core::Result<void> selu(const Call& call, Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() != DType::kFloat32 || call.opset < 6) {
    return ref::kSelu.best()(call, outputs, ws);
  }
  COMMENSAL_ASSIGN(const float alpha, call.attributes->real("alpha", 1.67326319217681884765625f));
  COMMENSAL_ASSIGN(const float gamma, call.attributes->real("gamma", 1.05070102214813232421875f));
  return map(Unary::kSelu, {alpha, gamma}, call, outputs[0], ws);
}
core::Result<void> leaky_relu(const Call& call, Outputs outputs, Workspace& ws) {
  return with_alpha(Unary::kLeakyRelu, 0.01f, ref::kLeakyRelu, call, outputs, ws);
}
core::Result<void> swish(const Call& call, Outputs outputs, Workspace& ws) {
  return with_alpha(Unary::kSwish, 1, ref::kSwish, call, outputs, ws);
}

core::Result<void> add(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kAdd, ref::kAdd, call, outputs, ws);
}
core::Result<void> div(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kDiv, ref::kDiv, call, outputs, ws);
}
core::Result<void> max(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kMax, ref::kMax, call, outputs, ws);
}
core::Result<void> mean(const Call& call, Outputs outputs, Workspace& ws) {
  return variadic(Binary::kAdd, true, ref::kMean, call, outputs, ws);
}
core::Result<void> min(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kMin, ref::kMin, call, outputs, ws);
}
core::Result<void> mul(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kMul, ref::kMul, call, outputs, ws);
}
core::Result<void> pow(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kPow, ref::kPow, call, outputs, ws);
}
core::Result<void> sub(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kSub, ref::kSub, call, outputs, ws);
}
core::Result<void> sum(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kAdd, ref::kSum, call, outputs, ws);
}

}  // namespace commensal::kernels::cpu
