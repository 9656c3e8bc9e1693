// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/rules.hpp>

namespace commensal::grad::rules {

namespace {

/// The reduced axes, and a value of the output's shape laid beside the input.
class Reduced {
 public:
  explicit Reduced(Step& step) : dims_(step.x().dims()) {
    Dims axes = step.integers("axes");
    if (step.has(1)) {
      const auto given = step.maker().integers(step.node().inputs[1]);
      if (!given) step.refuse("its axes are not known before it runs");
      axes = given.value_or(Dims());
    }
    const auto rank = static_cast<std::int64_t>(dims_.size());
    copies_ = axes.empty() && step.integer("noop_with_empty_axes", 0) != 0;
    if (axes.empty() && !copies_) axes = range(0, rank);
    for (const std::int64_t axis : axes) axes_.push_back(axis < 0 ? axis + rank : axis);
    std::ranges::sort(axes_);
    for (const std::int64_t axis : axes_) {
      count_ *= dims_[static_cast<std::size_t>(axis)];
      dims_[static_cast<std::size_t>(axis)] = 1;
    }
  }
  /// Whatever it is named, with noop_with_empty_axes it gives what it takes: done then.
  bool copies(Step& step) const {
    if (copies_) step.give(0, step.dy());
    return copies_;
  }
  Value beside(Value reduced) const { return reshape(reduced, dims_); }
  const Dims& axes() const { return axes_; }
  double count() const { return static_cast<double>(count_); }

 private:
  Dims dims_, axes_;
  std::int64_t count_ = 1;
  bool copies_ = false;
};

}  // namespace

void reduce_sum(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, expand(reduced.beside(step.dy()), step.x().dims()));
}

void reduce_mean(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, expand(reduced.beside(step.dy() / reduced.count()), step.x().dims()));
}

/// What ties shares equally.
void reduce_extreme(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  const Value is_it = step.maker().add("Equal", {step.x(), reduced.beside(step.y())});
  const Value ones = grad::cast(is_it, step.x().type().dtype);
  step.give(0, ones * (reduced.beside(step.dy()) / sum(ones, reduced.axes(), true)));
}

void reduce_l1(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, apply("Sign", step.x()) * reduced.beside(step.dy()));
}

void reduce_l2(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  // Of zeros: none, as Abs has it.
  const Value each = select(greater(step.y(), 0.0), step.dy() / step.y(), 0.0);
  step.give(0, step.x() * reduced.beside(each));
}

void reduce_sum_square(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, step.x() * reduced.beside(step.dy() * 2.0));
}

void reduce_log_sum(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, expand(reduced.beside(step.dy() / apply("Exp", step.y())), step.x().dims()));
}

void reduce_log_sum_exp(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  step.give(0, apply("Exp", step.x() - reduced.beside(step.y())) * reduced.beside(step.dy()));
}

/// The product of all others: y / x, but where there are zeros that of the rest at the only one.
void reduce_prod(Step& step) {
  const Reduced reduced(step);
  if (reduced.copies(step)) return;
  Maker& maker = step.maker();
  const Value x = step.x(), nothing = maker.number(0, x.type().dtype);
  const Value is_zero = maker.add("Equal", {x, nothing});
  const Value zeros = sum(grad::cast(is_zero, x.type().dtype), reduced.axes(), true);
  const Value divisor = select(is_zero, maker.number(1, x.type().dtype), x);
  const Value rest = reduced.axes().empty()
                         ? divisor
                         : maker.add("ReduceProd", {divisor, maker.list(reduced.axes())},
                                     attributes_of({{"keepdims", std::int64_t{1}}}));
  const Value at_zero = select(greater(zeros, 1.5), nothing, rest);
  const Value elsewhere = select(greater(zeros, 0.5), nothing, rest / divisor);
  step.give(0, select(is_zero, at_zero, elsewhere) * reduced.beside(step.dy()));
}

void cumsum(Step& step) {
  const std::int64_t reverse = step.integer("reverse", 0), exclusive = step.integer("exclusive", 0);
  step.give(0, [&] {
    return step.maker().add(
        "CumSum", {step.dy(), step.x(1)},
        attributes_of({{"exclusive", exclusive}, {"reverse", std::int64_t{reverse == 0 ? 1 : 0}}}));
  });
}

namespace {

/// Before opset 13 a row is all axes from `axis` on.
Dims row_axes(Step& step) {
  const bool older = step.opset() < 13;
  const auto axis = tensor::normalise_axis(step.integer("axis", older ? 1 : -1), step.x().rank());
  if (!axis) {
    step.refuse(axis.error().message);
    return {};
  }
  return older ? range(*axis, step.x().rank()) : Dims{*axis};
}

}  // namespace

void softmax(Step& step) {
  const Value y = step.y(), dy = step.dy();
  step.give(0, y * (dy - sum(dy * y, row_axes(step), true)));
}

void log_softmax(Step& step) {
  const Value dy = step.dy();
  step.give(0, dy - apply("Exp", step.y()) * sum(dy, row_axes(step), true));
}

}  // namespace commensal::grad::rules
