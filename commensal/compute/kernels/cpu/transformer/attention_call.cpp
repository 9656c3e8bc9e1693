// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/transformer/attention_call.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::cpu {

namespace {

using core::ErrorCode;
using core::fail;
using Ints = std::vector<std::int64_t>;

constexpr std::size_t kViewInts = 5;

core::Result<HeadsView> view_of(const Ints& ints, std::size_t at) {
  if (ints.size() < at + kViewInts) {
    return fail(ErrorCode::kInvalidArgument, "a view of {} numbers, expected {}",
                ints.size() - std::min(at, ints.size()), kViewInts);
  }
  HeadsView view{ints[at], {}};
  for (std::size_t i = 0; i < view.steps.size(); ++i) view.steps[i] = ints[at + 1 + i];
  return view;
}

core::Result<HeadsView> named_view(const Call& call, std::string_view name) {
  COMMENSAL_ASSIGN(const Ints ints, call.attributes->integers(name));
  return view_of(ints, 0);
}

void append(Ints& to, const HeadsView& view) {
  to.push_back(view.from);
  to.insert(to.end(), view.steps.begin(), view.steps.end());
}

Ints ints_of(const HeadsView& view) {
  Ints ints;
  append(ints, view);
  return ints;
}

core::Result<std::vector<ScoreStep>> steps_of(const Call& call, const std::string& prefix) {
  COMMENSAL_ASSIGN(const std::string kinds, call.attributes->text(prefix + "steps", ""));
  COMMENSAL_ASSIGN(const auto numbers, call.attributes->reals(prefix + "numbers"));
  COMMENSAL_ASSIGN(const Ints biases, call.attributes->integers(prefix + "biases"));
  std::vector<ScoreStep> steps;
  std::size_t bias = 0;
  for (const char kind : kinds) {
    ScoreStep step{kind, 0, {}};
    if (kind == '+') {
      COMMENSAL_ASSIGN(step.bias, view_of(biases, bias));
      bias += kViewInts;
    } else if (steps.size() < numbers.size()) {
      step.number = numbers[steps.size()];
    }
    steps.push_back(step);
  }
  return steps;
}

void set_steps(Attributes& to, const std::string& prefix, const std::vector<ScoreStep>& steps) {
  std::string kinds;
  std::vector<float> numbers;
  Ints biases;
  for (const ScoreStep& step : steps) {
    kinds += step.kind;
    numbers.push_back(step.number);
    if (step.kind == '+') append(biases, step.bias);
  }
  to.set(prefix + "steps", kinds);
  to.set(prefix + "numbers", numbers);
  to.set(prefix + "biases", biases);
}

/// Every entry of the view lies in a tensor of `elements`.
core::Result<void> check_inside(const HeadsView& view, const std::array<std::int64_t, 4>& sizes,
                                std::int64_t elements) {
  std::int64_t least = view.from, most = view.from;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return {};
    (view.steps[d] < 0 ? least : most) += (sizes[d] - 1) * view.steps[d];
  }
  if (least >= 0 && most < elements) return {};
  return fail(ErrorCode::kInvalidArgument, "a view of [{}, {}] leaves its {} elements", least, most,
              elements);
}

}  // namespace

core::Result<AttentionCall> AttentionCall::of(const Call& call) {
  for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
    COMMENSAL_TRY(shape_inference::check_dtype<ref::Types<float>>(call, i));
  }
  AttentionCall a;
  COMMENSAL_ASSIGN(const Ints sizes, call.attributes->integers("sizes"));
  if (sizes.size() != 6) return fail(ErrorCode::kInvalidArgument, "{} sizes", sizes.size());
  a.batch = sizes[0], a.heads = sizes[1], a.queries = sizes[2];
  a.keys = sizes[3], a.depth = sizes[4], a.columns = sizes[5];
  COMMENSAL_ASSIGN(a.q, named_view(call, "q"));
  COMMENSAL_ASSIGN(a.k, named_view(call, "k"));
  COMMENSAL_ASSIGN(a.v, named_view(call, "v"));
  COMMENSAL_ASSIGN(a.y, named_view(call, "y"));
  COMMENSAL_ASSIGN(a.q_steps, steps_of(call, "q_"));
  COMMENSAL_ASSIGN(a.steps, steps_of(call, ""));
  COMMENSAL_ASSIGN(const Ints dims, call.attributes->integers("shape"));
  COMMENSAL_ASSIGN(a.shape, tensor::Shape::of(dims));
  COMMENSAL_TRY(check_inside(a.q, {a.batch, a.heads, a.queries, a.depth}, call.in(0).elements()));
  COMMENSAL_TRY(check_inside(a.k, {a.batch, a.heads, a.keys, a.depth}, call.in(1).elements()));
  COMMENSAL_TRY(check_inside(a.v, {a.batch, a.heads, a.keys, a.columns}, call.in(2).elements()));
  COMMENSAL_TRY(check_inside(a.y, {a.batch, a.heads, a.queries, a.columns}, a.shape.elements()));
  int input = 3;
  for (const ScoreStep& step : a.steps) {
    if (step.kind != '+') continue;
    if (!call.has(input)) return fail(ErrorCode::kInvalidArgument, "input {} is missing", input);
    COMMENSAL_TRY(check_inside(step.bias, {a.batch, a.heads, a.queries, a.keys},
                               call.in(input++).elements()));
  }
  return a;
}

Attributes AttentionCall::attributes() const {
  Attributes made;
  made.set("sizes", Ints{batch, heads, queries, keys, depth, columns});
  made.set("q", ints_of(q));
  made.set("k", ints_of(k));
  made.set("v", ints_of(v));
  made.set("y", ints_of(y));
  set_steps(made, "q_", q_steps);
  set_steps(made, "", steps);
  made.set("shape", Ints(shape.dims().begin(), shape.dims().end()));
  return made;
}

}  // namespace commensal::kernels::cpu
