// SPDX-License-Identifier: Apache-2.0
// Adagrad, Adam and Momentum of ai.onnx.preview.training: elementwise over any number of tensors.
// Inputs are R (learning rate), T (step) and then each kind of state for all tensors, one kind
// after another; outputs are the new values without the gradients. Each line below is evaluated
// as written, every operation rounded to binary32.
#include <cmath>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;

// The element at one index: the tensor, its gradient, and one or two moments; before and after.
struct Element {
  float x = 0, g = 0, first = 0, second = 0;
};

struct Adagrad {
  static constexpr int kMoments = 1;
  float decay = 0, epsilon = 0, norm = 0;

  static core::Result<Adagrad> make(const Attributes& given) {
    Adagrad op;
    COMMENSAL_ASSIGN(op.decay, given.real("decay_factor", 0));
    COMMENSAL_ASSIGN(op.epsilon, given.real("epsilon", 1e-6f));
    COMMENSAL_ASSIGN(op.norm, given.real("norm_coefficient", 0));
    return op;
  }
  Element next(Element e, float r, std::int64_t t) const {
    const float rate = r / (1 + static_cast<float>(t) * decay);
    const float g = norm * e.x + e.g;
    e.first = e.first + g * g;
    e.x = e.x - rate * g / (std::sqrt(e.first) + epsilon);
    return e;
  }
};

struct Adam {
  static constexpr int kMoments = 2;
  float alpha = 0, beta = 0, epsilon = 0, norm = 0, norm_post = 0;

  static core::Result<Adam> make(const Attributes& given) {
    Adam op;
    COMMENSAL_ASSIGN(op.alpha, given.real("alpha", 0.9f));
    COMMENSAL_ASSIGN(op.beta, given.real("beta", 0.999f));
    COMMENSAL_ASSIGN(op.epsilon, given.real("epsilon", 1e-6f));
    COMMENSAL_ASSIGN(op.norm, given.real("norm_coefficient", 0));
    COMMENSAL_ASSIGN(op.norm_post, given.real("norm_coefficient_post", 0));
    return op;
  }
  Element next(Element e, float r, std::int64_t t) const {
    const float g = norm * e.x + e.g;
    e.first = alpha * e.first + (1 - alpha) * g;
    e.second = beta * e.second + (1 - beta) * (g * g);
    float rate = r;
    if (t > 0) {
      const auto power = static_cast<float>(t);
      rate = r * std::sqrt(1 - math::pow<Lane>(beta, power)) / (1 - math::pow<Lane>(alpha, power));
    }
    const float x = e.x - rate * e.first / (std::sqrt(e.second) + epsilon);
    e.x = (1 - norm_post) * x;
    return e;
  }
};

struct Momentum {
  static constexpr int kMoments = 1;
  float alpha = 0, beta = 0, norm = 0;
  bool nesterov = false;

  static core::Result<Momentum> make(const Attributes& given) {
    Momentum op;
    COMMENSAL_ASSIGN(op.alpha, given.real("alpha", 0));
    COMMENSAL_ASSIGN(op.beta, given.real("beta", 0));
    COMMENSAL_ASSIGN(op.norm, given.real("norm_coefficient", 0));
    COMMENSAL_ASSIGN(const std::string mode, given.text("mode", "standard"));
    if (mode != "standard" && mode != "nesterov") {
      return fail(ErrorCode::kInvalidArgument,
                  "attribute 'mode' must be standard or nesterov, not '{}'", mode);
    }
    op.nesterov = mode == "nesterov";
    return op;
  }
  Element next(Element e, float r, std::int64_t t) const {
    const float g = norm * e.x + e.g;
    e.first = alpha * e.first + (t > 0 ? beta : 1.0f) * g;
    e.x = e.x - r * (nesterov ? g + alpha * e.first : e.first);
    return e;
  }
};

template <class Op>
struct TrainingPlan {
  static constexpr int kKinds = 2 + Op::kMoments;  // tensors, gradients, moments
  Op op;
  int tensors = 0;
  float rate = 0;
  std::int64_t t = 0;
  std::vector<TensorType> made;

  // Kind 0: the tensors, 1: their gradients, then the moments.
  int input(int kind, int tensor) const { return 2 + kind * tensors + tensor; }

  static core::Result<TrainingPlan> make(const Call& call) {
    TrainingPlan plan;
    const int states = static_cast<int>(call.inputs.size()) - 2;
    plan.tensors = states / kKinds;
    if (states % kKinds != 0 || call.output_count > (kKinds - 1) * plan.tensors) {
      return fail(ErrorCode::kInvalidArgument,
                  "{} inputs and {} outputs, expected 2 + {} and {} for each tensor", states + 2,
                  call.output_count, kKinds, kKinds - 1);
    }
    COMMENSAL_TRY(check(call, plan));
    COMMENSAL_ASSIGN(plan.op, Op::make(*call.attributes));
    plan.rate = paced<float>(call, 0)[0];
    plan.t = paced<std::int64_t>(call, 1)[0];
    for (int o = 0; o < call.output_count; ++o) {
      plan.made.push_back(call.in(plan.input(0, o % plan.tensors)).type());
    }
    return plan;
  }
  static core::Result<void> check(const Call& call, const TrainingPlan& plan) {
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      if (!call.has(i)) return fail(ErrorCode::kInvalidArgument, "input {} is absent", i);
      if (i != 1) COMMENSAL_TRY(shape_inference::check_dtype<Types<float>>(call, i));
      const Shape& expected = call.in(i < 2 ? 0 : plan.input(0, (i - 2) % plan.tensors)).shape();
      if (i >= 2 ? call.in(i).shape() != expected : call.in(i).elements() != 1) {
        return fail(ErrorCode::kInvalidArgument, "input {} must be {}, not {}", i,
                    i < 2 ? "one number" : expected.text(), call.in(i).shape().text());
      }
    }
    return shape_inference::check_dtype<Types<std::int64_t>>(call, 1);
  }
  std::vector<TensorType> types() const { return made; }

  float value(const Call& call, int output, std::int64_t index) const {
    const int tensor = output % tensors, kind = output / tensors;
    const auto at = [&](int k) {
      return paced<float>(call, input(k, tensor))[static_cast<std::size_t>(index)];
    };
    const Element before{at(0), at(1), at(2), Op::kMoments > 1 ? at(kKinds - 1) : 0.0f};
    const Element after = op.next(before, rate, t);
    return store<float>(kind == 0 ? after.x : kind == 1 ? after.first : after.second);
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return scalar_of(value(call, output, index));
  }
  void reads(const Call&, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, 0});
    out.push_back({1, 0});
    for (int k = 0; k < kKinds; ++k) out.push_back({input(k, output % tensors), index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      const auto y = outputs[static_cast<std::size_t>(o)].template mutable_data<float>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = value(call, o, static_cast<std::int64_t>(i));
      }
    }
  }
};

}  // namespace

constinit const Judge kAdagrad = judge_of<TrainingPlan<Adagrad>>();
constinit const Judge kAdam = judge_of<TrainingPlan<Adam>>();
constinit const Judge kMomentum = judge_of<TrainingPlan<Momentum>>();

}  // namespace commensal::kernels::ref
