// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/recurrent_activation.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;

// Default parameters are those of the operators of the same names.
struct Known {
  std::string_view name;
  bool takes_alpha, takes_beta;
  Activation usual;
};

// In the order of ActivationKind. Each line is the operator's formula in docs/numerics.md.
constexpr Known kKnown[] = {
    {"Affine", true, true, {[](float x, float a, float b) { return a * x + b; }, 1, 0}},
    {"Elu",
     true,
     false,
     {[](float x, float a, float) { return x < 0 ? a * (math::exp<Lane>(x) - 1) : x; }, 1, 0}},
    {"HardSigmoid",
     true,
     true,
     {[](float x, float a, float b) {
        return math::maximum<Lane>(math::minimum<Lane>(std::fma(a, x, b), 1), 0);
      },
      0.2f, 0.5f}},
    {"LeakyRelu",
     true,
     false,
     {[](float x, float a, float) { return math::leaky_relu<Lane>(x, a); }, 0.01f, 0}},
    {"Relu", false, false, {[](float x, float, float) { return math::relu<Lane>(x); }, 0, 0}},
    {"ScaledTanh",
     true,
     true,
     {[](float x, float a, float b) { return a * math::tanh<Lane>(b * x); }, 1, 1}},
    {"Sigmoid", false, false, {[](float x, float, float) { return math::sigmoid<Lane>(x); }, 0, 0}},
    {"Softplus",
     false,
     false,
     {[](float x, float, float) { return math::softplus<Lane>(x); }, 0, 0}},
    {"Softsign", false, false, {[](float x, float, float) { return x / (1 + std::abs(x)); }, 0, 0}},
    {"Tanh", false, false, {[](float x, float, float) { return math::tanh<Lane>(x); }, 0, 0}},
    {"ThresholdedRelu",
     true,
     false,
     {[](float x, float a, float) { return x > a || x != x ? x : 0.0f; }, 1, 0}},
};

std::vector<std::string> usual_of(std::int64_t gates) {
  if (gates == 1) return {"Tanh"};
  if (gates == 3) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

// The next of a list of parameters, or what is usual.
float next_of(const std::vector<float>& list, std::size_t& next, float usual) {
  return next < list.size() ? list[next++] : usual;
}

}  // namespace

core::Result<std::vector<Activation>> activations_of(const Call& call, std::int64_t directions,
                                                     std::int64_t gates) {
  const std::vector<std::string> usual = usual_of(gates);
  std::vector<std::string> names;
  for (std::int64_t d = 0; d < directions; ++d) {
    names.insert(names.end(), usual.begin(), usual.end());
  }
  const std::size_t expected = names.size();
  COMMENSAL_ASSIGN(names, call.attributes->texts("activations", names));
  if (names.size() != expected) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'activations' names {}, expected {}",
                names.size(), expected);
  }
  COMMENSAL_ASSIGN(const auto alphas, call.attributes->reals("activation_alpha"));
  COMMENSAL_ASSIGN(const auto betas, call.attributes->reals("activation_beta"));
  std::size_t alpha = 0, beta = 0;
  std::vector<Activation> made;
  for (const std::string& name : names) {
    const auto* known = std::ranges::find(kKnown, name, &Known::name);
    if (known == std::end(kKnown)) {
      return fail(ErrorCode::kUnsupported, "the activation '{}' is not known", name);
    }
    made.push_back(known->usual);
    made.back().kind = static_cast<ActivationKind>(known - std::begin(kKnown));
    if (known->takes_alpha) made.back().alpha = next_of(alphas, alpha, known->usual.alpha);
    if (known->takes_beta) made.back().beta = next_of(betas, beta, known->usual.beta);
  }
  return made;
}

}  // namespace commensal::kernels::ref
