// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/einsum.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;
using Labels = Einsum::Labels;

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

core::Result<void> set_operands(const Call& call, std::string_view terms, Einsum& made) {
  const auto count = static_cast<std::size_t>(std::ranges::count(terms, ',')) + 1;
  if (count != call.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "the equation has {} terms for {} inputs", count,
                call.inputs.size());
  }
  for (int i = 0; i < static_cast<int>(count); ++i) {
    if (!call.has(i)) return fail(ErrorCode::kInvalidArgument, "input {} is absent", i);
    COMMENSAL_TRY(check_same_dtype(call, i));
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
      std::int64_t& dim =
          made.dims.try_emplace(labels[static_cast<std::size_t>(d)], 1).first->second;
      if (dim != shape[d] && dim != 1 && shape[d] != 1) {
        return fail(ErrorCode::kInvalidArgument, "label '{}' is {} and {}",
                    labels[static_cast<std::size_t>(d)], dim, shape[d]);
      }
      if (dim == 1) dim = shape[d];
    }
    made.operands.push_back(labels);
    made.shapes.push_back(shape);
  }
  return {};
}

// The ellipsis, then the labels that occur once.
std::string implicit(const Einsum& e) {
  std::string made = "...";
  for (const auto& [label, dim] : e.dims) {
    std::ptrdiff_t count = 0;
    for (const Labels& labels : e.operands) count += std::ranges::count(labels, label);
    if (count == 1 && label > '9') made += label;
  }
  return made;
}

}  // namespace

core::Result<Einsum> einsum_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Products>(call, 0));
  COMMENSAL_ASSIGN(std::string equation, call.attributes->text("equation", ""));
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  Einsum made;
  COMMENSAL_TRY(set_operands(call, std::string_view(equation).substr(0, arrow), made));
  const std::string named =
      arrow == std::string::npos ? implicit(made) : equation.substr(arrow + 2);
  const auto ellipsis = std::ranges::count_if(
      made.dims, [](const auto& one) { return one.first >= '0' && one.first <= '9'; });
  COMMENSAL_ASSIGN(made.output, labels_of(named, static_cast<int>(ellipsis)));
  std::vector<std::int64_t> sizes, steps;
  for (std::size_t i = 0; i < made.output.size(); ++i) {
    const char label = made.output[i];
    if (!made.dims.contains(label) || made.output.find(label) != i) {
      return fail(ErrorCode::kInvalidArgument, "label '{}' of the output", label);
    }
    sizes.push_back(made.dims[label]);
  }
  for (const auto& [label, dim] : made.dims) {
    if (made.output.find(label) != Labels::npos) continue;
    made.summed += label;
    steps.push_back(dim);
  }
  COMMENSAL_ASSIGN(const Shape shape, Shape::of(sizes));
  COMMENSAL_TRY(Shape::of(steps));  // bounds the loop
  made.to = {call.in(0).dtype(), shape};
  return made;
}

std::int64_t Einsum::depth() const {
  std::int64_t steps = 1;
  for (const char label : summed) steps *= dims.at(label);
  return steps;
}

std::int64_t Einsum::step(std::size_t operand, char label) const {
  const Shape& shape = shapes[operand];
  std::int64_t step = 0, stride = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const bool is_it = operands[operand][static_cast<std::size_t>(d)] == label;
    if (is_it && shape[d] != 1) step += stride;
    stride *= shape[d];
  }
  return step;
}

std::vector<Einsum::Loop> Einsum::loops(const Labels& labels) const {
  std::vector<Loop> made;
  for (const char label : labels) {
    Loop loop{dims.at(label), {}};
    if (loop.extent == 1) continue;
    for (std::size_t o = 0; o < operands.size(); ++o) loop.steps.push_back(step(o, label));
    const std::size_t at = output.find(label);
    std::int64_t own = at == Labels::npos ? 0 : 1;
    for (std::size_t i = at; own != 0 && i + 1 < output.size(); ++i) own *= dims.at(output[i + 1]);
    loop.steps.push_back(own);
    const auto runs_on = [&] {
      for (std::size_t v = 0; v < loop.steps.size(); ++v) {
        if (made.back().steps[v] != loop.steps[v] * loop.extent) return false;
      }
      return true;
    };
    if (!made.empty() && runs_on()) {
      loop.extent *= made.back().extent;
      made.back() = loop;
    } else {
      made.push_back(loop);
    }
  }
  return made;
}

std::int64_t Einsum::turns(const std::vector<Loop>& loops) {
  std::int64_t all = 1;
  for (const auto& loop : loops) all *= loop.extent;
  return all;
}

std::int64_t Einsum::place(const std::vector<Loop>& loops, std::size_t view, std::int64_t index) {
  std::int64_t at = 0;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    at += index % loop->extent * loop->steps[view];
    index /= loop->extent;
  }
  return at;
}

}  // namespace commensal::kernels::shape_inference
