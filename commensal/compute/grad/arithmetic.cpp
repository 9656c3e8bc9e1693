// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/grad/rules.hpp>
#include <limits>

namespace commensal::grad::rules {

namespace {

/// Before opset 7 the second input may lie on the first's dimensions from `axis` on.
bool is_plain_broadcast(Step& step) {
  if (step.opset() >= 7 || step.integer("broadcast", 0) == 0) return true;
  step.refuse("its attribute 'broadcast' of opsets before 7 has no gradient");
  return false;
}

}  // namespace

void add(Step& step) {
  if (!is_plain_broadcast(step)) return;
  step.give(0, step.dy());
  step.give(1, step.dy());
}

void sub(Step& step) {
  if (!is_plain_broadcast(step)) return;
  step.give(0, step.dy());
  step.give(1, [&] { return -sum_to(step.dy(), step.x(1).dims()); });
}

void mul(Step& step) {
  if (!is_plain_broadcast(step)) return;
  step.give(0, [&] { return step.dy() * step.x(1); });
  step.give(1, [&] { return step.dy() * step.x(0); });
}

void div(Step& step) {
  if (!is_plain_broadcast(step)) return;
  step.give(0, [&] { return step.dy() / step.x(1); });
  step.give(1, [&] { return -((step.dy() * step.y()) / step.x(1)); });
}

/// y = a - n * b, where the whole number n has no slope.
void mod(Step& step) {
  step.give(0, step.dy());
  step.give(1, [&] { return -(step.dy() * ((step.x(0) - step.y()) / step.x(1))); });
}

void pow(Step& step) {
  if (!is_plain_broadcast(step)) return;
  const Value x = step.x(0), exponent = cast(step.x(1), x.type().dtype);
  step.give(0, [&] {
    // x^0 is 1 everywhere, at 0 too, where 0 * 0^-1 would be no number.
    const Value nothing = step.maker().number(0, x.type().dtype);
    const Value is_flat = step.maker().add("Equal", {exponent, nothing});
    const Value slope = exponent * step.maker().add("Pow", {x, exponent - 1.0});
    return step.dy() * select(is_flat, nothing, slope);
  });
  step.give(1, [&] {  // of a base that is not positive: none
    const Value logarithm = select(greater(x, 0.0), apply("Log", x), 0.0);
    return cast((step.dy() * step.y()) * logarithm, step.x(1).type().dtype);
  });
}

void sum(Step& step) {
  for (std::size_t i = 0; i < step.inputs(); ++i) step.give(i, step.dy());
}

void mean(Step& step) {
  const Value each = step.dy() / static_cast<double>(step.inputs());
  for (std::size_t i = 0; i < step.inputs(); ++i) step.give(i, each);
}

/// All of it goes to the first input that is the extreme.
void extreme(Step& step) {
  Value left = step.dy();
  for (std::size_t i = 0; i < step.inputs(); ++i) {
    const Value is_it = step.maker().add("Equal", {step.x(i), step.y()});
    step.give(i, [&] { return select(is_it, left, 0.0); });
    left = select(is_it, step.maker().number(0, left.type().dtype), left);
  }
}

void prelu(Step& step) {
  const Value below = less(step.x(), 0.0);
  Value slope = step.x(1);
  if (step.opset() < 7 && slope.type().shape.elements() != 1) {  // one a channel: axis 1
    Dims dims(static_cast<std::size_t>(step.x().rank() - 1), 1);
    dims[0] = slope.dim(0);
    slope = grad::reshape(slope, dims);
  }
  step.give(0, [&] { return select(below, step.dy() * slope, step.dy()); });
  step.give(1, [&] {
    const Value each = select(below, step.dy() * step.x(), 0.0);
    return grad::reshape(sum_to(each, slope.dims()), step.x(1).dims());
  });
}

void clip(Step& step) {
  const auto infinite = static_cast<double>(std::numeric_limits<float>::infinity());
  const auto outside = [&](std::size_t input, std::string_view attribute, double none,
                           std::string_view comparison) -> Value {
    Maker& maker = step.maker();
    const Value bound =
        step.has(input)
            ? step.x(input)
            : maker.number(step.attributes().has(attribute) ? step.real(attribute, 0) : none,
                           step.x().type().dtype);
    return maker.add(comparison, {step.x(), bound});
  };
  const Value below = outside(1, "min", -infinite, "Less");
  const Value above = outside(2, "max", infinite, "Greater");
  const Value out = step.maker().add("Or", {below, above});
  step.give(0,
            [&] { return select(out, step.maker().number(0, step.x().type().dtype), step.dy()); });
  step.give(1, [&] {
    const Value only_below = step.maker().add("And", {below, apply("Not", above)});
    return select(only_below, step.dy(), 0.0);
  });
  step.give(2, [&] { return select(above, step.dy(), 0.0); });
}

void cast(Step& step) {
  step.give(0, [&] { return grad::cast(step.dy(), step.x().type().dtype); });
}

void where(Step& step) {
  step.give(1, [&] { return select(step.x(0), step.dy(), 0.0); });
  step.give(2, [&] {
    return select(step.x(0), step.maker().number(0, step.dy().type().dtype), step.dy());
  });
}

}  // namespace commensal::grad::rules
