// SPDX-License-Identifier: Apache-2.0
// Einsum: one chain per output over the labels that are summed, in alphabetical order, the last
// one fastest: acc = fma(x_0 * x_1 * ... , x_last, acc) from +0 (one operand: times 1).
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <map>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

// A term of the equation, expanded: letters, and digits for the dimensions of the ellipsis,
// counted from its end ('0' is the last one).
using Labels = std::string;

core::Result<Labels> labels_of(std::string_view term, int ellipsis_rank) {
  const auto malformed = [&] {
    return fail(ErrorCode::kInvalidArgument, "term '{}' of the equation does not fit its input",
                term);
  };
  Labels made;
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      if (has_ellipsis || term.substr(i, 3) != "...") return malformed();
      has_ellipsis = true;
      i += 2;
      for (int d = ellipsis_rank - 1; d >= 0; --d) made += static_cast<char>('0' + d);
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      made += term[i];
    } else {
      return malformed();
    }
  }
  return made;
}

struct EinsumPlan {
  TensorType to;
  Labels output, summed;
  std::vector<Labels> operands;
  std::vector<Shape> shapes;
  std::map<char, std::int64_t> dims;

  static core::Result<EinsumPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Products>(call, 0));
    COMMENSAL_ASSIGN(std::string equation, call.attributes->text("equation", ""));
    std::erase(equation, ' ');
    const std::size_t arrow = equation.find("->");
    EinsumPlan plan;
    COMMENSAL_TRY(plan.set_operands(call, equation.substr(0, arrow)));
    const std::string named =
        arrow == std::string::npos ? plan.implicit() : equation.substr(arrow + 2);
    const auto ellipsis = std::ranges::count_if(
        plan.dims, [](const auto& one) { return one.first >= '0' && one.first <= '9'; });
    COMMENSAL_ASSIGN(plan.output, labels_of(named, static_cast<int>(ellipsis)));
    std::vector<std::int64_t> sizes, steps;
    for (std::size_t i = 0; i < plan.output.size(); ++i) {
      const char label = plan.output[i];
      if (!plan.dims.contains(label) || plan.output.find(label) != i) {
        return fail(ErrorCode::kInvalidArgument, "label '{}' of the output", label);
      }
      sizes.push_back(plan.dims[label]);
    }
    for (const auto& [label, dim] : plan.dims) {
      if (plan.output.find(label) != Labels::npos) continue;
      plan.summed += label;
      steps.push_back(dim);
    }
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(sizes));
    COMMENSAL_TRY(Shape::of(steps));  // bounds the loop
    plan.to = {call.in(0).dtype(), shape};
    return plan;
  }
  core::Result<void> set_operands(const Call& call, std::string_view terms) {
    const auto count = static_cast<std::size_t>(std::ranges::count(terms, ',')) + 1;
    if (count != call.inputs.size()) {
      return fail(ErrorCode::kInvalidArgument, "the equation has {} terms for {} inputs", count,
                  call.inputs.size());
    }
    for (int i = 0; i < static_cast<int>(count); ++i) {
      if (!call.has(i)) return fail(ErrorCode::kInvalidArgument, "input {} is absent", i);
      COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
      const std::string_view term = terms.substr(0, terms.find(','));
      terms.remove_prefix(std::min(terms.size(), term.size() + 1));
      const Shape& shape = call.in(i).shape();
      const auto letters = static_cast<int>(term.size()) - (term.find('.') < term.size() ? 3 : 0);
      COMMENSAL_ASSIGN(const Labels labels, labels_of(term, shape.rank() - letters));
      if (static_cast<int>(labels.size()) != shape.rank()) {
        return fail(ErrorCode::kInvalidArgument, "term '{}' does not fit input {}", term,
                    shape.text());
      }
      for (int d = 0; d < shape.rank(); ++d) {
        std::int64_t& dim = dims.try_emplace(labels[static_cast<std::size_t>(d)], 1).first->second;
        if (dim != shape[d] && dim != 1 && shape[d] != 1) {
          return fail(ErrorCode::kInvalidArgument, "label '{}' is {} and {}",
                      labels[static_cast<std::size_t>(d)], dim, shape[d]);
        }
        if (dim == 1) dim = shape[d];
      }
      operands.push_back(labels);
      shapes.push_back(shape);
    }
    return {};
  }
  // The ellipsis, then the labels that occur once.
  std::string implicit() const {
    std::string made = "...";
    for (const auto& [label, dim] : dims) {
      std::ptrdiff_t count = 0;
      for (const Labels& labels : operands) count += std::ranges::count(labels, label);
      if (count == 1 && label > '9') made += label;
    }
    return made;
  }
  std::vector<TensorType> types() const { return {to}; }

  std::int64_t depth() const {
    std::int64_t steps = 1;
    for (const char label : summed) steps *= dims.at(label);
    return steps;
  }
  // Where each operand lies, at step `k` of an output.
  std::vector<std::int64_t> places(std::int64_t index, std::int64_t k) const {
    std::map<char, std::int64_t> at;
    const auto split = [&](const Labels& labels, std::int64_t position) {
      for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        at[*label] = position % dims.at(*label);
        position /= dims.at(*label);
      }
    };
    split(output, index);
    split(summed, k);
    std::vector<std::int64_t> made;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < operands[o].size(); ++d) {
        const std::int64_t dim = shapes[o][static_cast<int>(d)];
        place = place * dim + (dim == 1 ? 0 : at[operands[o][d]]);
      }
      made.push_back(place);
    }
    return made;
  }
  template <class T>
  Compute<T> chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    using C = Compute<T>;
    C acc{0};
    for (std::int64_t k = 0; k < std::min(steps, depth()); ++k) {
      call.pulse(32);  // a map is filled
      const auto at = places(index, k);
      const auto x = [&](std::size_t o) {
        return load(paced<T>(call, static_cast<int>(o))[static_cast<std::size_t>(at[o])]);
      };
      C product = x(0);
      for (std::size_t o = 1; o + 1 < at.size(); ++o) product = times(product, x(o));
      acc = step(product, at.size() > 1 ? x(at.size() - 1) : C{1}, acc);
    }
    return acc;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Products{}, to.dtype, [&]<class T>() {
      return scalar_of(store<T>(add_bias(chain<T>(call, index, depth()), Compute<T>{0})));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Products{}, to.dtype, [&]<class T>() {
      std::int64_t index = 0;
      for (T& y : outputs[0].mutable_data<T>()) {
        y = store<T>(add_bias(chain<T>(call, index++, depth()), Compute<T>{0}));
      }
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t k = 0; k < depth(); ++k) {
      const auto at = places(index, k);
      for (std::size_t o = 0; o < at.size(); ++o) out.push_back({static_cast<int>(o), at[o]});
    }
  }
  std::int64_t steps(const Call&, int, std::int64_t) const { return depth(); }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Products{}, to.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(chain<T>(call, index, steps)));
    });
  }
};

}  // namespace

constinit const Judge kEinsum = judge_of<EinsumPlan>();

}  // namespace commensal::kernels::ref
