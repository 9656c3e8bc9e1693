// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/grad/rules.hpp>
#include <numbers>

namespace commensal::grad::rules {

namespace {

Value square(Value x) { return x * x; }

constexpr double kPi = std::numbers::pi;

/// dy where the condition holds, else nothing.
void pass_where(Step& step, Value condition) { step.give(0, select(condition, step.dy(), 0.0)); }

}  // namespace

void abs(Step& step) { step.give(0, step.dy() * apply("Sign", step.x())); }
void acos(Step& step) { step.give(0, -(step.dy() / apply("Sqrt", 1.0 - square(step.x())))); }
void acosh(Step& step) { step.give(0, step.dy() / apply("Sqrt", square(step.x()) - 1.0)); }
void asin(Step& step) { step.give(0, step.dy() / apply("Sqrt", 1.0 - square(step.x()))); }
void asinh(Step& step) { step.give(0, step.dy() / apply("Sqrt", square(step.x()) + 1.0)); }
void atan(Step& step) { step.give(0, step.dy() / (square(step.x()) + 1.0)); }
void atanh(Step& step) { step.give(0, step.dy() / (1.0 - square(step.x()))); }
void cos(Step& step) { step.give(0, -(step.dy() * apply("Sin", step.x()))); }
void cosh(Step& step) { step.give(0, step.dy() * apply("Sinh", step.x())); }
void exp(Step& step) { step.give(0, step.dy() * step.y()); }
void log(Step& step) { step.give(0, step.dy() / step.x()); }
void neg(Step& step) { step.give(0, -step.dy()); }
void reciprocal(Step& step) { step.give(0, -(step.dy() * square(step.y()))); }
void relu(Step& step) { pass_where(step, greater(step.x(), 0.0)); }
void sin(Step& step) { step.give(0, step.dy() * apply("Cos", step.x())); }
void sinh(Step& step) { step.give(0, step.dy() * apply("Cosh", step.x())); }
void sigmoid(Step& step) { step.give(0, step.dy() * (step.y() * (1.0 - step.y()))); }
void softplus(Step& step) { step.give(0, step.dy() * apply("Sigmoid", step.x())); }
void softsign(Step& step) { step.give(0, step.dy() / square(apply("Abs", step.x()) + 1.0)); }
void sqrt(Step& step) { step.give(0, (step.dy() * 0.5) / step.y()); }
void tan(Step& step) { step.give(0, step.dy() * (square(step.y()) + 1.0)); }
void tanh(Step& step) { step.give(0, step.dy() * (1.0 - square(step.y()))); }
void flat(Step&) {}

void celu(Step& step) {
  const double alpha = step.real("alpha", 1.0f);
  step.give(0, select(greater(step.x(), 0.0), step.dy(), step.dy() * (step.y() / alpha + 1.0)));
}

void elu(Step& step) {
  const double alpha = step.real("alpha", 1.0f);
  step.give(0, select(greater(step.x(), 0.0), step.dy(), step.dy() * (step.y() + alpha)));
}

void selu(Step& step) {
  const double alpha = step.real("alpha", 1.67326319217681884765625f);
  const double gamma = step.real("gamma", 1.05070102214813232421875f);
  step.give(
      0, select(greater(step.x(), 0.0), step.dy() * gamma, step.dy() * (step.y() + gamma * alpha)));
}

void erf(Step& step) {
  const Value bell = apply("Exp", -square(step.x()));
  step.give(0, step.dy() * (bell * (2 / std::sqrt(kPi))));
}

void gelu(Step& step) {
  const Value x = step.x();
  if (step.text("approximate", "none") == "tanh") {
    const double scale = std::sqrt(2 / kPi);
    const Value t = apply("Tanh", (x + (square(x) * x) * 0.044715) * scale);
    const Value inner = (square(x) * (3 * 0.044715) + 1.0) * scale;
    step.give(0, step.dy() * ((t + 1.0) * 0.5 + (x * 0.5) * ((1.0 - square(t)) * inner)));
  } else {
    const Value cdf = (apply("Erf", x * std::sqrt(0.5)) + 1.0) * 0.5;
    const Value bell = apply("Exp", square(x) * -0.5) * (1 / std::sqrt(2 * kPi));
    step.give(0, step.dy() * (cdf + x * bell));
  }
}

void hard_sigmoid(Step& step) {
  const double alpha = step.real("alpha", 0.2f);
  const Value inside = step.maker().add("And", {greater(step.y(), 0.0), less(step.y(), 1.0)});
  step.give(0, select(inside, step.dy() * alpha, 0.0));
}

void hard_swish(Step& step) {
  const Value x = step.x();
  const Value slope = select(greater(x, -3.0), select(less(x, 3.0), x / 3.0 + 0.5, 1.0), 0.0);
  step.give(0, step.dy() * slope);
}

void leaky_relu(Step& step) {
  const double alpha = step.real("alpha", 0.01f);
  step.give(0, select(less(step.x(), 0.0), step.dy() * alpha, step.dy()));
}

void mish(Step& step) {
  const Value x = step.x();
  const Value t = apply("Tanh", apply("Softplus", x));
  step.give(0, step.dy() * (t + (x * (1.0 - square(t))) * apply("Sigmoid", x)));
}

void swish(Step& step) {
  const double alpha = step.real("alpha", 1.0f);
  const Value s = apply("Sigmoid", step.x() * alpha);
  step.give(0, step.dy() * (s + (step.x() * alpha) * (s * (1.0 - s))));
}

void shrink(Step& step) {
  const double lambda = step.real("lambd", 0.5f);
  pass_where(step, greater(apply("Abs", step.x()), lambda));
}

void thresholded_relu(Step& step) { pass_where(step, greater(step.x(), step.real("alpha", 1.0f))); }

}  // namespace commensal::grad::rules
