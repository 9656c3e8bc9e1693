// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <utility>
#include <vector>

/// The judge: plain loops that say what the bits are (docs/numerics.md).
///
/// An operator is written as a Plan: a small value made from a Call, which checks everything and
/// holds what was parsed. From it comes the whole Judge, whose functions so cannot
/// disagree on what a call means:
///   static core::Result<Plan> make(const Call&);
///   std::vector<TensorType> types() const;
///   void run(const Call&, std::span<Tensor> outputs) const;
///   Scalar element(const Call&, int output, std::int64_t index) const;
///   void reads(const Call&, int output, std::int64_t index, std::vector<ElementRef>&) const;
///       in any order, duplicates allowed
///   void run_rows(const Call&, std::span<Tensor> outputs, ThreadPool&) const;
///       (optional) the bits of `run`, sooner
///   static constexpr bool kPlainRows = true;
///       (optional) as `run` does, but on several threads
///   static constexpr bool kHoldsElements = true;
///       (optional) of other inputs than those that the row says shape it or are checked
///   and, where there is a reduction,
///   std::int64_t steps(const Call&, int output, std::int64_t index) const;
///   Scalar partial(const Call&, int output, std::int64_t index, std::int64_t steps) const;
namespace commensal::kernels::ref {

template <class Plan>
Plan checked_plan(const Call& call) {
  auto made = Plan::make(call);
  core::check(made.has_value(), "infer accepted this call");
  return *std::move(made);
}

/// For inference and runs: parsed once where the call's node keeps it.
template <class Plan>
core::Result<std::shared_ptr<const Plan>> kept_plan(const Call& call) {
  if constexpr (requires { Plan::kHoldsElements; }) {
    COMMENSAL_ASSIGN(auto plan, Plan::make(call));
    return std::make_shared<const Plan>(std::move(plan));
  } else {
    return call.memo.of([&] { return Plan::make(call); });
  }
}

/// For run_rows: where only `run` serves.
template <class Plan>
void run_judged(const Plan& plan, const Call& call, std::span<Tensor> outputs) {
  call.is_judged = true;
  plan.run(call, outputs);
}

template <class Plan>
concept Reduces = requires(const Plan& plan, const Call& call) {
  plan.steps(call, 0, 0);
};

template <class Plan>
concept RunsRows = requires(const Plan& plan, const Call& call, ThreadPool& threads) {
  plan.run_rows(call, {}, threads);
};

template <class Plan>
constexpr Judge judge_of() {
  Judge made;
  made.infer = [](const Call& call) -> core::Result<std::vector<TensorType>> {
    COMMENSAL_ASSIGN(const auto plan, kept_plan<Plan>(call));
    return plan->types();
  };
  made.run = [](const Call& call, std::span<Tensor> outputs, Workspace&) -> core::Result<void> {
    call.is_judged = true;
    COMMENSAL_ASSIGN(const auto plan, kept_plan<Plan>(call));
    plan->run(call, outputs);
    return {};
  };
  if constexpr (RunsRows<Plan>) {
    if constexpr (requires { Plan::kPlainRows; }) made.rows_are_plain = Plan::kPlainRows;
    made.rows = [](const Call& call, std::span<Tensor> outputs,
                   Workspace& ws) -> core::Result<void> {
      if constexpr (requires { Plan::kPlainRows; }) call.is_judged = Plan::kPlainRows;
      COMMENSAL_ASSIGN(const auto plan, kept_plan<Plan>(call));
      plan->run_rows(call, outputs, ws.threads);
      return {};
    };
  }
  made.reads = [](const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) {
    std::vector<ElementRef> found;
    checked_plan<Plan>(call).reads(call, output, index, found);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    out.insert(out.end(), found.begin(), found.end());
  };
  made.element = [](const Call& call, int output, std::int64_t index) {
    return checked_plan<Plan>(call).element(call, output, index);
  };
  if constexpr (Reduces<Plan>) {
    made.steps = [](const Call& call, int output, std::int64_t index) {
      return checked_plan<Plan>(call).steps(call, output, index);
    };
    made.partial = [](const Call& call, int output, std::int64_t index, std::int64_t steps) {
      return checked_plan<Plan>(call).partial(call, output, index, steps);
    };
  }
  return made;
}

/// Calls f(call, from, to) for all of [0, count) in pieces, on the pool's threads, each with a call
/// whose pulse is its own.
template <class F>
void in_pieces(const Call& call, ThreadPool& threads, std::int64_t count, std::int64_t piece,
               const F& f) {
  piece = std::max<std::int64_t>(piece, 1);
  if (count <= piece) {  // no copy of a call, and of its types, for a node of a few elements
    if (count > 0) f(call, std::int64_t{0}, count);
    return;
  }
  threads.run((count + piece - 1) / piece, [&](std::int64_t i) {
    Call own = call;
    own.pulse = Pulse(&threads);
    f(std::as_const(own), i * piece, std::min(count, (i + 1) * piece));
  });
}

/// Appends every element of an input (one that says how, like a shape or a list of axes).
inline void read_whole(const Call& call, int input, std::vector<ElementRef>& out) {
  if (!call.has(input)) return;
  for (std::int64_t i = 0; i < call.in(input).elements(); ++i) out.push_back({input, i});
}

}  // namespace commensal::kernels::ref
