// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/recurrent_activation.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

template <Op kOp>
Operand named(const Emitter& emit, Operand x, Operand, Operand) {
  return emit.put(kOp, {x});
}
Operand affine(const Emitter& emit, Operand x, Operand a, Operand b) {
  return emit.add(emit.mul(a, x), b);
}
Operand elu(const Emitter& emit, Operand x, Operand a, Operand) {
  const Operand less = emit.sub(emit.put(Op::kExp32, {x}), emit.one());
  const Operand bent = emit.mul(a, less);
  return emit.select(emit.less(x, emit.zero()), bent, x);
}
Operand hard_sigmoid(const Emitter& emit, Operand x, Operand a, Operand b) {
  const Operand below = emit.minimum(emit.fma(a, x, b), emit.one());
  return emit.maximum(below, emit.zero());
}
Operand leaky_relu(const Emitter& emit, Operand x, Operand a, Operand) {
  const Operand bent = emit.mul(a, x);
  return emit.select(emit.less(x, emit.zero()), bent, x);
}
Operand relu(const Emitter& emit, Operand x, Operand, Operand) {
  return emit.maximum(x, emit.zero());
}
Operand scaled_tanh(const Emitter& emit, Operand x, Operand a, Operand b) {
  return emit.mul(a, emit.put(Op::kTanh32, {emit.mul(b, x)}));
}
Operand softsign(const Emitter& emit, Operand x, Operand, Operand) {
  return emit.div(x, emit.add(emit.one(), emit.absolute(x)));
}
Operand thresholded_relu(const Emitter& emit, Operand x, Operand a, Operand) {
  const Operand other = emit.select(emit.equal(x, x), emit.zero(), x);
  return emit.select(emit.less(a, x), x, other);
}

struct Known {
  std::string_view name;
  bool takes_alpha, takes_beta;
  Activation usual;
};
constexpr std::uint32_t kOne = 0x3f800000;
constexpr Known kKnown[] = {
    {"Affine", true, true, {affine, kOne, 0}},
    {"Elu", true, false, {elu, kOne, 0}},
    {"HardSigmoid", true, true, {hard_sigmoid, 0x3e4ccccd, 0x3f000000}},  // 0.2, 0.5
    {"LeakyRelu", true, false, {leaky_relu, 0x3c23d70a, 0}},              // 0.01
    {"Relu", false, false, {relu, 0, 0}},
    {"ScaledTanh", true, true, {scaled_tanh, kOne, kOne}},
    {"Sigmoid", false, false, {named<Op::kSigmoid32>, 0, 0}},
    {"Softplus", false, false, {named<Op::kSoftplus32>, 0, 0}},
    {"Softsign", false, false, {softsign, 0, 0}},
    {"Tanh", false, false, {named<Op::kTanh32>, 0, 0}},
    {"ThresholdedRelu", true, false, {thresholded_relu, kOne, 0}},
};

}  // namespace

std::optional<std::vector<Activation>> activations_of(const NodeText& node, std::int64_t directions,
                                                      std::size_t each) {
  const std::size_t expected = each * static_cast<std::size_t>(directions);
  std::vector<std::string> names = node.texts("activations");
  for (std::size_t i = 0; !node.has("activations") && i < expected; ++i) {
    names.emplace_back(each > 1 && i % each == 0 ? "Sigmoid" : "Tanh");
  }
  if (names.size() != expected) return std::nullopt;
  const auto alphas = node.reals("activation_alpha"), betas = node.reals("activation_beta");
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> made;
  for (const std::string& name : names) {
    const auto* known = std::ranges::find(kKnown, name, &Known::name);
    if (known == std::end(kKnown)) return std::nullopt;
    made.push_back(known->usual);
    if (known->takes_alpha && alpha < alphas.size()) made.back().alpha = alphas[alpha++];
    if (known->takes_beta && beta < betas.size()) made.back().beta = betas[beta++];
  }
  return made;
}

}  // namespace commensal::arbiter
