// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and of two broadcast ones.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/cpu/doubles.hpp>
#include <commensal/compute/kernels/cpu/extremes.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>
#include <cstring>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;
using Outputs = std::span<Tensor>;

/// Elements of a task: enough to be worth a thread's while, few enough to share evenly.
constexpr std::int64_t kTaskElements = 16384;

/// What is computed in binary32.
bool is_single(DType dtype) { return dtype == DType::kFloat32 || is_half(dtype); }

/// Elements that are widened, or made of two inputs, while they are in the first cache.
constexpr std::int64_t kPart = 1024;

core::Result<void> map(Unary what, const UnaryParameters& parameters, const Call& call,
                       Tensor& output, Workspace& ws) {
  const UnaryFn fn = kernels_for(ws.isa).unary[static_cast<std::size_t>(what)];
  const std::int64_t count = output.elements();
  const auto in_tasks = [&](const auto& task) {
    ws.threads.run(ceil_div(count, kTaskElements), [&](std::int64_t i) {
      task(i * kTaskElements, std::min(count, (i + 1) * kTaskElements));
    });
  };
  if (is_half(output.dtype())) {
    const HalfKernels halves = half_kernels_for(ws.isa, output.dtype());
    const std::uint16_t* x = half_bits(call.in(0));
    std::uint16_t* y = half_bits(output);
    in_tasks([&](std::int64_t from, std::int64_t to) {
      alignas(64) float part[kPart];
      for (; from < to; from += kPart) {
        const std::int64_t length = std::min(kPart, to - from);
        halves.widen(x + from, part, length);
        fn(part, part, length, parameters);
        halves.round(part, y + from, length);
      }
    });
    return {};
  }
  const float* x = call.in(0).data<float>().data();
  float* y = output.mutable_data<float>().data();
  in_tasks(
      [&](std::int64_t from, std::int64_t to) { fn(x + from, y + from, to - from, parameters); });
  return {};
}

core::Result<void> unary(Unary what, const Judge& judge, const Call& call, Outputs outputs,
                         Workspace& ws) {
  const DType dtype = call.in(0).dtype();
  if (dtype == DType::kFloat64 && map_doubles(what, call.in(0), outputs[0], ws)) return {};
  if (!is_single(dtype)) return judge.best()(call, outputs, ws);
  return map(what, {}, call, outputs[0], ws);
}

using shape_inference::BroadcastRows;

/// Neighbours of an output's row, and where its inputs' are: they run or stand still, as `rows`
/// says.
struct Part {
  const BroadcastRows& rows;
  std::array<const std::uint8_t*, BroadcastRows::kInputsMax> x{};
  int inputs = 0;
  std::uint8_t* y = nullptr;
  std::int64_t count = 0;
};

/// Calls make(part) for all of an output, of the type of its inputs, at most `largest` elements at
/// a time.
template <class Make>
core::Result<void> in_parts(const Call& call, Tensor& output, std::int64_t largest, Workspace& ws,
                            const Make& make) {
  if (output.elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto broadcast,
                   call.memo.of([&] { return shape_inference::Broadcast::of(call); }));
  const BroadcastRows rows(*broadcast, call);
  const std::int64_t size = tensor::traits(output.dtype()).size;
  std::uint8_t* const y = output.mutable_bytes().data();
  rows.for_each(ws.threads, [&](std::int64_t row, std::int64_t from, std::int64_t to) {
    for (; from < to; from += largest) {
      Part part{.rows = rows};
      part.inputs = static_cast<int>(call.inputs.size());
      for (int i = 0; i < part.inputs; ++i) {
        part.x[static_cast<std::size_t>(i)] =
            call.in(i).bytes().data() + (rows.offset(i, row) + from * rows.step(i)) * size;
      }
      part.y = y + (row * rows.inner() + from) * size;
      part.count = std::min(largest, to - from);
      make(part);
    }
  });
  return {};
}

/// The first two inputs, then each of the others with what they gave.
template <class T, class Fn>
void fold(const Fn& fn, const Part& part) {
  const auto at = [&](int i) {
    return reinterpret_cast<const T*>(part.x[static_cast<std::size_t>(i)]);
  };
  T* const y = reinterpret_cast<T*>(part.y);
  fn(at(0), part.rows.step(0), at(1), part.rows.step(1), y, part.count);
  for (int i = 2; i < part.inputs; ++i) {
    fn(y, 1, at(i), part.rows.step(i), y, part.count);
  }
}

/// The same of 16-bit floats, as binary32 until `last(y, count)` has ended it.
template <class Last>
void fold_halves(BinaryFn fn, const HalfKernels& halves, const Part& part, const Last& last) {
  alignas(64) float made[kPart], next[kPart];
  const auto widened = [&](int i, float* to) {
    const auto* bits = reinterpret_cast<const std::uint16_t*>(part.x[static_cast<std::size_t>(i)]);
    halves.widen(bits, to, part.rows.step(i) == 0 ? 1 : part.count);
    return to;
  };
  fn(widened(0, made), part.rows.step(0), widened(1, next), part.rows.step(1), made, part.count);
  for (int i = 2; i < part.inputs; ++i) {
    fn(made, 1, widened(i, next), part.rows.step(i), made, part.count);
  }
  last(made, part.count);
  halves.round(made, reinterpret_cast<std::uint16_t*>(part.y), part.count);
}

/// Whether there are several inputs, of one type (Pow's exponent may be of another).
bool are_alike(const Call& call) {
  const std::size_t count = call.inputs.size();
  return count >= 2 && count <= BroadcastRows::kInputsMax &&
         std::ranges::all_of(call.inputs, [&](const Tensor* input) {
           return input->dtype() == call.in(0).dtype();
         });
}

/// Of any number of inputs; over their number at last where it is a mean.
core::Result<void> variadic(Binary what, bool is_mean, const Judge& judge, const Call& call,
                            Outputs outputs, Workspace& ws) {
  const DType dtype = call.in(0).dtype();
  if (!are_alike(call) || !is_single(dtype)) return judge.best()(call, outputs, ws);
  const auto& kernels = kernels_for(ws.isa).binary;
  const BinaryFn fn = kernels[static_cast<std::size_t>(what)];
  const auto divide = kernels[static_cast<std::size_t>(Binary::kDiv)];
  const auto divisor = static_cast<float>(call.inputs.size());
  const auto last = [&](float* y, std::int64_t count) {
    if (is_mean) divide(y, 1, &divisor, 0, y, count);
  };
  if (is_half(dtype)) {
    const HalfKernels halves = half_kernels_for(ws.isa, dtype);
    return in_parts(call, outputs[0], kPart, ws,
                    [&](const Part& part) { fold_halves(fn, halves, part, last); });
  }
  const std::int64_t largest = call.inputs.size() > 2 ? 2 * kPart : kTaskElements;
  return in_parts(call, outputs[0], largest, ws, [&](const Part& part) {
    fold<float>(fn, part);
    last(reinterpret_cast<float*>(part.y), part.count);
  });
}

/// Max and Min of all numbers.
core::Result<void> extreme(Binary what, const Judge& judge, const Call& call, Outputs outputs,
                           Workspace& ws) {
  const DType dtype = call.in(0).dtype();
  const ExtremeFn fn =
      what == Binary::kMax ? larger_for(ws.isa, dtype) : smaller_for(ws.isa, dtype);
  if (fn == nullptr || !are_alike(call)) return variadic(what, false, judge, call, outputs, ws);
  return in_parts(call, outputs[0], kPart, ws,
                  [&](const Part& part) { fold<std::uint8_t>(fn, part); });
}

core::Result<void> binary(Binary what, const Judge& judge, const Call& call, Outputs outputs,
                          Workspace& ws) {
  return variadic(what, false, judge, call, outputs, ws);
}

/// A bound of Clip: an attribute before opset 11, then an input; `absent` where there is none.
core::Result<float> bound(const Call& call, std::string_view name, int input, float absent) {
  if (call.opset < 11) return call.attributes->real(name, absent);
  if (!call.has(input)) return absent;
  return ref::visit(ref::Floats32{}, call.in(input).dtype(),
                    [&]<class T>() { return ref::load(call.in(input).data<T>()[0]); });
}

}  // namespace

core::Result<void> clip(const Call& call, Outputs outputs, Workspace& ws) {
  if (!is_single(call.in(0).dtype())) {
    if (clip_between(call, outputs[0], ws)) return {};
    return ref::kClip.best()(call, outputs, ws);
  }
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
  if (!is_single(call.in(0).dtype())) return ref::kHardSigmoid.best()(call, outputs, ws);
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
  if (!is_single(call.in(0).dtype())) return judge.best()(call, outputs, ws);
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
  if (!is_single(call.in(0).dtype()) || call.opset < 6) {
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
  return extreme(Binary::kMax, ref::kMax, call, outputs, ws);
}
core::Result<void> mean(const Call& call, Outputs outputs, Workspace& ws) {
  return variadic(Binary::kAdd, true, ref::kMean, call, outputs, ws);
}
core::Result<void> min(const Call& call, Outputs outputs, Workspace& ws) {
  return extreme(Binary::kMin, ref::kMin, call, outputs, ws);
}
core::Result<void> mul(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kMul, ref::kMul, call, outputs, ws);
}
core::Result<void> pow(const Call& call, Outputs outputs, Workspace& ws) {
  if (call.in(0).dtype() == DType::kFloat64 && are_alike(call)) {
    const auto fn = double_kernels_for(ws.isa).pow;
    return in_parts(call, outputs[0], kTaskElements / 4, ws, [&](const Part& part) {
      fold<double>(fn, part);
      ws.threads.yield();  // special cases take long
    });
  }
  return binary(Binary::kPow, ref::kPow, call, outputs, ws);
}
core::Result<void> sub(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kSub, ref::kSub, call, outputs, ws);
}
core::Result<void> sum(const Call& call, Outputs outputs, Workspace& ws) {
  return binary(Binary::kAdd, ref::kSum, call, outputs, ws);
}

}  // namespace commensal::kernels::cpu
