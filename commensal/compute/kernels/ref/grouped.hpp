// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/each.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>

/// Operators that normalise elements of input 0 by facts of the group that they belong to. One is a
/// type Op:
///   using In = Types<...>;  DType dtype;          of input 0
///   std::int64_t groups, count;                   how many groups, elements of each
///   static core::Result<Op> make(const Call&);
///   std::vector<TensorType> types() const;
///   std::int64_t member(std::int64_t group, std::int64_t i) const;      of input 0
///   std::int64_t group_of(int output, std::int64_t index) const;
///   using Facts<C>: a struct with `C last`, the result of the last step that was taken
///   template <class C, class At> Facts<C> facts(At at, std::int64_t steps) const;
///       at(i) is member i of the group
///   std::int64_t steps() const;
///   template <class T> Scalar value(const Call&, const Facts<Compute<T>>&, int output,
///                                   std::int64_t index) const;
///   void more_reads(const Call&, int output, std::int64_t index, std::vector<ElementRef>&) const;
///       of the other inputs
namespace commensal::kernels::ref {

template <class Op>
struct GroupedPlan {
  Op op;

  static core::Result<GroupedPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return GroupedPlan{std::move(op)};
  }
  std::vector<TensorType> types() const { return op.types(); }

  template <class T>
  auto facts(const Call& call, std::int64_t group, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    const auto at = [&](std::int64_t i) {
      call.pulse();
      return load(x[static_cast<std::size_t>(op.member(group, i))]);
    };
    return op.template facts<Compute<T>>(at, steps);
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(typename Op::In{}, op.dtype, [&]<class T>() {
      const auto made = facts<T>(call, op.group_of(output, index), kAllSteps);
      return op.template value<T>(call, made, output, index);
    });
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    const std::int64_t group = op.group_of(output, index);
    for (std::int64_t i = 0; i < op.count; ++i) out.push_back({0, op.member(group, i)});
    op.more_reads(call, output, index, out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(typename Op::In{}, op.dtype, [&]<class T>() {
      std::vector<decltype(facts<T>(call, 0, 0))> all;
      for (std::int64_t g = 0; g < op.groups; ++g) all.push_back(facts<T>(call, g, kAllSteps));
      for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
        Tensor& output = outputs[static_cast<std::size_t>(o)];
        const auto bytes = output.mutable_bytes();
        for (std::int64_t i = 0; i < output.elements(); ++i) {
          call.pulse();
          const auto& made = all[static_cast<std::size_t>(op.group_of(o, i))];
          put(bytes, i, op.template value<T>(call, made, o, i));
        }
      }
    });
  }
  std::int64_t steps(const Call&, int, std::int64_t) const { return op.steps(); }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    return visit(typename Op::In{}, op.dtype, [&]<class T>() {
      const auto made = facts<T>(call, op.group_of(output, index), steps);
      return scalar_of(store<Compute<T>>(made.last));
    });
  }
};

template <class Op>
constexpr Judge grouped() {
  return judge_of<GroupedPlan<Op>>();
}

/// Mean and variance in two passes: `mean = sum(x) / n`, `variance = sum(d * d) / n` with
/// d = x - mean. Steps: those of the first sum, then those of the second.
template <class C>
struct Moments {
  C mean{0}, variance{0}, last{0};

  static std::int64_t steps(std::int64_t count) { return 2 * (count + Sum<C>::kTreeSteps); }

  template <class At>
  static Moments of(std::int64_t count, At at, std::int64_t steps) {
    const std::int64_t half = count + Sum<C>::kTreeSteps;
    Moments made;
    Sum<C> sum(steps);
    for (std::int64_t i = 0; i < count; ++i) sum.add(i, at(i));
    made.mean = sum.total() / static_cast<C>(count);
    made.last = sum.last();
    if (steps <= half) return made;
    Sum<C> squares(steps == kAllSteps ? kAllSteps : steps - half);
    for (std::int64_t i = 0; i < count; ++i) {
      const C d = at(i) - made.mean;
      squares.add(i, d * d);
    }
    made.variance = squares.total() / static_cast<C>(count);
    made.last = squares.last();
    return made;
  }
};

}  // namespace commensal::kernels::ref
