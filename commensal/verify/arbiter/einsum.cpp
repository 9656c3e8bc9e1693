// SPDX-License-Identifier: Apache-2.0
// Einsum: one chain over the labels that are summed, in alphabetical order, the last one fastest.
#include <algorithm>
#include <commensal/verify/arbiter/products.hpp>
#include <map>

namespace commensal::arbiter {
namespace {

// Letters, and digits for the dimensions of the ellipsis, counted from its end.
using Labels = std::string;

struct Einsum {
  Labels output, summed;
  std::vector<Labels> operands;
  std::map<char, std::int64_t> dims;

  Dims sizes(const Labels& labels) const {
    Dims made;
    for (const char label : labels) made.push_back(dims.at(label));
    return made;
  }
};

std::optional<Labels> labels_of(std::string_view term, std::int64_t ellipsis_rank) {
  Labels made;
  bool has_ellipsis = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == '.') {
      if (has_ellipsis || term.substr(i, 3) != "..." || ellipsis_rank > 10) return std::nullopt;
      has_ellipsis = true;
      i += 2;
      for (std::int64_t d = ellipsis_rank; d-- > 0;) made += static_cast<char>('0' + d);
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      made += c;
    } else {
      return std::nullopt;
    }
  }
  return made;
}

bool set_operands(Einsum& e, const NodeCall& call, std::string_view terms) {
  if (static_cast<std::size_t>(std::ranges::count(terms, ',')) + 1 != call.inputs.size())
    return false;
  for (const Shaped& input : call.inputs) {
    const std::string_view term = terms.substr(0, terms.find(','));
    terms.remove_prefix(std::min(terms.size(), term.size() + 1));
    const bool has_ellipsis = term.find('.') != std::string_view::npos;
    const auto letters = static_cast<std::int64_t>(term.size()) - (has_ellipsis ? 3 : 0);
    const auto labels = labels_of(term, input.rank() - letters);
    if (!labels || static_cast<std::int64_t>(labels->size()) != input.rank()) return false;
    for (std::size_t d = 0; d < labels->size(); ++d) {
      std::int64_t& dim = e.dims.try_emplace((*labels)[d], 1).first->second;
      if (dim != input.dim(d) && dim != 1 && input.dim(d) != 1) return false;
      if (dim == 1) dim = input.dim(d);
    }
    e.operands.push_back(*labels);
  }
  return true;
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

std::optional<Einsum> einsum_of(const NodeCall& call) {
  std::string equation = call.node.text("equation", "");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  Einsum e;
  if (!set_operands(e, call, std::string_view(equation).substr(0, arrow))) return std::nullopt;
  const auto ellipsis = std::ranges::count_if(e.dims, [](const auto& x) { return x.first <= '9'; });
  const auto output =
      labels_of(arrow == std::string::npos ? implicit(e) : equation.substr(arrow + 2), ellipsis);
  if (!output) return std::nullopt;
  e.output = *output;
  for (std::size_t i = 0; i < e.output.size(); ++i) {
    if (!e.dims.contains(e.output[i]) || e.output.find(e.output[i]) != i) return std::nullopt;
  }
  for (const auto& [label, dim] : e.dims) {
    if (e.output.find(label) == Labels::npos) e.summed += label;
  }
  const Shaped summed = shaped(call.inputs[0].dtype, e.sizes(e.summed));
  return summed.valid() ? std::optional(std::move(e)) : std::nullopt;
}

TypeResult einsum_type(const NodeCall& call, std::size_t output) {
  const bool there = output == 0 && call.has(0) && has_kit(call.inputs[0]) &&
                     std::ranges::all_of(call.inputs, [&](const Shaped& input) {
                       return input.dtype == call.inputs[0].dtype;
                     });
  const auto e = there ? einsum_of(call) : std::nullopt;
  if (!e) return unsupported("inputs that do not fit");
  return shaped(call.inputs[0].dtype, e->sizes(e->output));
}

// Where operand `o` lies for these places of the labels.
std::int64_t place_of(const NodeCall& call, const Einsum& e, std::size_t o,
                      const std::map<char, std::int64_t>& at) {
  std::int64_t place = 0;
  for (std::size_t d = 0; d < e.operands[o].size(); ++d) {
    const std::int64_t dim = call.inputs[o].dim(d);
    place = place * dim + (dim == 1 ? 0 : at.at(e.operands[o][d]));
  }
  return place;
}

void einsum(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Emitter emit = computing(call, output, steps);
  const Einsum e = *einsum_of(call);
  std::map<char, std::int64_t> at;
  const auto set = [&](const Labels& labels, std::int64_t position) {
    const Dims places = split(position, e.sizes(labels));
    for (std::size_t d = 0; d < labels.size(); ++d) at[labels[d]] = places[d];
  };
  set(e.output, element);
  Operand acc[] = {emit.zero()};
  steps.fold(product(e.sizes(e.summed)), acc, [&](std::int64_t k, std::span<Operand> state) {
    set(e.summed, k);
    const auto x = [&](std::size_t o) {
      return element_of(static_cast<int>(o), place_of(call, e, o, at));
    };
    const std::size_t count = e.operands.size();
    Operand made = x(0);
    for (std::size_t o = 1; o + 1 < count; ++o) made = emit.mul(made, x(o));
    state[0] = emit.fma(made, count > 1 ? x(count - 1) : emit.one(), state[0]);
  });
  add_bias(emit, acc[0], emit.zero());
}

}  // namespace

std::span<const OperatorRow> einsum_rows() {
  static constexpr OperatorRow kRows[] = {
      {"Einsum", 12, 0, "floats, integers", einsum_type, einsum},
  };
  return kRows;
}

}  // namespace commensal::arbiter
