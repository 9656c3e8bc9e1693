// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_audit.hpp>
#include <commensal/verify/spot/contents.hpp>
#include <commensal/verify/spot/dice.hpp>
#include <commensal/verify/spot/question.hpp>
#include <commensal/verify/spot/spans.hpp>
#include <numeric>

namespace commensal::spot {
namespace {

using kernels::Call;
using kernels::Operator;
using tensor::TensorType;

constexpr std::uint64_t kElementsOfLeaf = 16;  // that are looked at where a leaf is no small call

std::int64_t size_of(const TensorType& type) { return tensor::traits(type.dtype).size; }
std::int64_t in_leaf(const TensorType& type) {
  return static_cast<std::int64_t>(crypto::kMerkleLeafBytes) / size_of(type);
}

void add(LeafSet& set, const TensorType& type, std::int64_t first, std::int64_t count) {
  const auto leaf = [&](std::int64_t element) {
    return static_cast<std::uint64_t>(element * size_of(type)) / crypto::kMerkleLeafBytes;
  };
  for (std::uint64_t l = leaf(first); count > 0 && l <= leaf(first + count - 1); ++l) {
    if (set.empty() || set.back() != l) set.push_back(l);
  }
}

void tidy(LeafSet& set) {
  if (!std::ranges::is_sorted(set)) std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
}

/// How likely each node is drawn, as running sums.
struct Wheel {
  std::vector<std::uint64_t> upto;
  std::uint64_t total() const { return upto.empty() ? 0 : upto.back(); }
  std::size_t at(std::uint64_t ball) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(upto, ball) - upto.begin());
  }
  double share(std::size_t n) const {
    const std::uint64_t weight = upto[n] - (n == 0 ? 0 : upto[n - 1]);
    return static_cast<double>(weight) / static_cast<double>(total());
  }
};

struct Wheels {
  Wheel own, before, leaves, large;
  std::optional<std::size_t> last;  // product

  explicit Wheels(const Survey& survey) {
    // Sums of sums must fit 64 bits.
    const std::uint64_t unit = (survey.work >> 40) + 1;
    std::uint64_t sum = 0;
    const auto push = [](Wheel& wheel, std::uint64_t weight) {
      wheel.upto.push_back(wheel.total() + weight);
    };
    for (std::size_t n = 0; n < survey.nodes.size(); ++n) {
      const Spot& spot = survey.nodes[n];
      const bool is_product = spot.is_product && spot.check != Check::kNone;
      sum += spot.work / unit;
      push(own, is_product ? std::max<std::uint64_t>(spot.work / unit, 1) : 0);
      push(before, is_product ? std::max<std::uint64_t>(sum, 1) : 0);
      push(leaves, !spot.is_product && spot.check != Check::kNone ? spot.leaves : 0);
      push(large, spot.is_large ? 1 : 0);
      if (is_product) last = n;
    }
  }
};

/// An output and an element of it, or a leaf.
void aim(Question& question, const graph::Node& node, const Survey& survey, Dice& dice,
         bool by_leaf) {
  std::uint64_t total = 0;
  const auto amount = [&](graph::ValueId id) -> std::uint64_t {
    if (id == graph::kAbsent) return 0;
    const auto& type = *survey.known.types[static_cast<std::size_t>(id)];
    return by_leaf ? all_leaves(type).size() : static_cast<std::uint64_t>(type.shape.elements());
  };
  for (const graph::ValueId id : node.outputs) total += amount(id);
  std::uint64_t ball = dice.below(total);
  while (ball >= amount(node.outputs[question.output])) {
    ball -= amount(node.outputs[question.output++]);
  }
  question.place = static_cast<std::int64_t>(ball);
}

}  // namespace

core::Result<void> check(const Terms& terms) {
  for (const std::uint64_t count : {terms.elements, terms.last, terms.leaves, terms.products}) {
    if (count > limits::kAuditDrawsMax) {
      return core::fail(core::ErrorCode::kResourceExhausted,
                        "audit: {} draws of a kind, at most {} are accepted", count,
                        limits::kAuditDrawsMax);
    }
  }
  return {};
}

Digest audit_seed(const Digest& beacon, const Digest& receipt_id, const Digest& list_root) {
  return crypto::tagged_hash("commensal/sublinear/v1", beacon, receipt_id, list_root);
}

std::vector<Question> draw(const graph::Graph& graph, const Survey& survey, const Terms& terms,
                           const Digest& seed) {
  const Wheels wheels(survey);
  Dice dice("commensal/sublinear-draw/v1", seed);
  std::vector<Question> made;
  const auto ask = [&](Method method, std::size_t node) {
    Question question{method, node, 0, 0, {}};
    const bool by_leaf = method == Method::kLeaf && survey.nodes[node].check == Check::kLeaf;
    if (method == Method::kLeaf && !by_leaf) question.method = Method::kElement;
    if (method == Method::kElement || method == Method::kLeaf) {
      aim(question, graph.nodes[node], survey, dice, by_leaf);
    }
    question.seed = crypto::tagged_hash("commensal/sublinear-question/v1", seed,
                                        std::array<std::uint8_t, 2>{
                                            static_cast<std::uint8_t>(made.size() >> 8),
                                            static_cast<std::uint8_t>(made.size())});
    made.push_back(question);
  };
  const auto spin = [&](const Wheel& wheel, Method method) {
    if (wheel.total() > 0) ask(method, wheel.at(dice.below(wheel.total())));
  };
  for (std::uint64_t i = 0; i < terms.elements; ++i) {
    spin(i % 2 == 0 ? wheels.before : wheels.own, Method::kElement);
  }
  for (std::uint64_t i = 0; i < terms.last && wheels.last; ++i) ask(Method::kElement, *wheels.last);
  for (std::uint64_t i = 0; i < terms.leaves; ++i) spin(wheels.leaves, Method::kLeaf);
  for (std::uint64_t i = 0; i < terms.products; ++i) spin(wheels.large, Method::kVector);
  for (std::size_t n = 0; n < survey.nodes.size() && terms.all_elementwise; ++n) {
    const bool is_elementwise = graph.nodes[n].op->kind == kernels::Kind::kElementwise;
    if (is_elementwise && survey.nodes[n].check != Check::kNone) ask(Method::kWhole, n);
  }
  return made;
}

namespace {

/// turn(mean of `values` by the chance of each node, how often) for each kind of draw.
template <class F>
void for_draws(const Survey& survey, const Terms& terms, std::span<const double> values,
               const F& turn) {
  const Wheels wheels(survey);
  const auto spin = [&](const Wheel& wheel, std::uint64_t times) {
    double mean = 0;
    for (std::size_t n = 0; n < values.size() && wheel.total() > 0; ++n) {
      mean += wheel.share(n) * values[n];
    }
    turn(mean, times);
  };
  spin(wheels.before, (terms.elements + 1) / 2);
  spin(wheels.own, terms.elements / 2);
  spin(wheels.leaves, terms.leaves);
  if (wheels.last) turn(values[*wheels.last], terms.last);
}

}  // namespace

double catch_chance(const graph::Graph& graph, const Survey& survey, const Terms& terms,
                    std::span<const double> wrong) {
  double escape = 1;
  for_draws(survey, terms, wrong, [&](double hit, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) escape *= 1 - hit;
  });
  for (std::size_t n = 0; n < wrong.size() && terms.all_elementwise; ++n) {
    const bool is_elementwise = graph.nodes[n].op->kind == kernels::Kind::kElementwise;
    if (is_elementwise && survey.nodes[n].check != Check::kNone && wrong[n] > 0) escape = 0;
  }
  return 1 - escape;
}

double expected_of_draws(const Survey& survey, const Terms& terms,
                         std::span<const double> values) {
  double sum = 0;
  for_draws(survey, terms, values,
            [&](double mean, std::uint64_t times) { sum += mean * static_cast<double>(times); });
  return sum;
}

LeafSet all_leaves(const TensorType& type) {
  constexpr auto kBytes = static_cast<std::int64_t>(crypto::kMerkleLeafBytes);
  LeafSet made(static_cast<std::size_t>((type.bytes() + kBytes - 1) / kBytes));
  std::iota(made.begin(), made.end(), 0);
  return made;
}

bool is_sliceable(const Operator& op, const Call& call, std::size_t output) {
  if (op.kind != kernels::Kind::kElementwise || call.output_count != 1) return false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const tensor::Tensor* input = call.inputs[i];
    if (input == nullptr) continue;
    const bool fits = input->shape() == call.outputs[output].shape || input->elements() == 1;
    if (!fits || steers(op, static_cast<int>(i))) return false;
  }
  return true;
}

std::vector<std::int64_t> elements_asked(const Question& question, const Operator& op,
                                         const Call& call) {
  if (question.method == Method::kElement) return {question.place};
  const TensorType& type = call.outputs[question.output];
  const std::int64_t first = question.place * in_leaf(type);
  const std::int64_t count = std::min(in_leaf(type), type.shape.elements() - first);
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  if (is_sliceable(op, call, question.output) || all.size() <= kElementsOfLeaf) return all;
  Dice dice("commensal/sublinear-leaf/v1", question.seed);
  std::vector<std::int64_t> some;
  for (std::uint64_t i = 0; i < kElementsOfLeaf; ++i) {
    some.push_back(first + static_cast<std::int64_t>(dice.below(all.size())));
  }
  std::ranges::sort(some);
  some.erase(std::ranges::unique(some).begin(), some.end());
  return some;
}

LeafSet output_leaves(const Question& question, const TensorType& type) {
  LeafSet made;
  if (question.method == Method::kElement) add(made, type, question.place, 1);
  if (question.method == Method::kLeaf) made.push_back(static_cast<std::uint64_t>(question.place));
  if (question.method == Method::kVector) made = all_leaves(type);
  return made;
}

std::vector<LeafSet> input_leaves(const Question& question, const Operator& op, const Call& call) {
  std::vector<LeafSet> made(call.inputs.size());
  const auto type = [&](std::size_t i) -> const TensorType& { return call.inputs[i]->type(); };
  const bool by_element = question.method == Method::kElement || question.method == Method::kLeaf;
  std::vector<std::int64_t> elements;
  if (by_element) elements = elements_asked(question, op, call);
  std::vector<kernels::ElementRef> read;
  const auto put = [&](int input, std::int64_t first, std::int64_t count) {
    const auto i = static_cast<std::size_t>(input);
    add(made[i], type(i), first, count);
  };
  const bool is_sliced = by_element && is_sliceable(op, call, question.output);
  for (const std::int64_t element : elements) {
    if (is_sliced) break;
    if (product_spans(op, call, element, put)) continue;
    read.clear();
    op.reads(call, static_cast<int>(question.output), element, read);
    for (const auto& [input, at] : read) put(input, at, 1);
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (call.inputs[i] == nullptr) continue;
    if (!by_element || steers(op, static_cast<int>(i))) made[i] = all_leaves(type(i));
    if (is_sliced) {
      const bool is_one = call.inputs[i]->elements() == 1;
      add(made[i], type(i), is_one ? 0 : elements.front(),
          is_one ? 1 : static_cast<std::int64_t>(elements.size()));
    }
    tidy(made[i]);
  }
  return made;
}

}  // namespace commensal::spot
