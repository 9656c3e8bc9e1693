// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, one step of the sequence after the other: backpropagation through time.
// Source: the equations of ONNX, docs/Operators.md.
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/ref/recurrent_activation.hpp>
#include <limits>

namespace commensal::grad::rules {

namespace {

using kernels::ref::Activation;
using kernels::ref::ActivationKind;
using Values = std::vector<Value>;
using tensor::DType;

enum Given : std::size_t { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeephole };

/// Steps of all directions together; each becomes some twenty nodes and as many on the way back.
constexpr std::int64_t kUnrolledMax = 1 << 13;

Value activated(Value x, const Activation& how) {
  const auto alpha = static_cast<double>(how.alpha), beta = static_cast<double>(how.beta);
  const auto by = [&](std::string_view op) {
    return x.maker->add(op, {x}, attributes_of({{"alpha", how.alpha}}));
  };
  switch (how.kind) {
    case ActivationKind::kAffine:
      return x * alpha + beta;
    case ActivationKind::kElu:
      return by("Elu");
    case ActivationKind::kHardSigmoid:
      return x.maker->add("HardSigmoid", {x},
                          attributes_of({{"alpha", how.alpha}, {"beta", how.beta}}));
    case ActivationKind::kLeakyRelu:
      return by("LeakyRelu");
    case ActivationKind::kRelu:
      return apply("Relu", x);
    case ActivationKind::kScaledTanh:
      return apply("Tanh", x * beta) * alpha;
    case ActivationKind::kSigmoid:
      return apply("Sigmoid", x);
    case ActivationKind::kSoftplus:
      return apply("Softplus", x);
    case ActivationKind::kSoftsign:
      return apply("Softsign", x);
    case ActivationKind::kTanh:
      return apply("Tanh", x);
    case ActivationKind::kThresholdedRelu:
      return by("ThresholdedRelu");
  }
  return x;
}

/// One direction of a layer: [N, gates * H] at a time.
struct Direction {
  std::int64_t hidden = 0;
  Value recurrent;  // R turned: [H, gates * H]
  Value bias;       // of the recurrent sums, [gates * H]; no maker: none
  Value peephole;   // [3 * H]
  std::vector<Activation> activations;
  double clip = std::numeric_limits<double>::infinity();
  bool linear_before_reset = false, input_forget = false;

  Value gate(Value all, std::int64_t first, std::int64_t count = 1) const {
    return slice(all, {first * hidden}, {(first + count) * hidden}, {-1});
  }
  Value f(std::size_t which, Value x) const {
    if (clip < std::numeric_limits<double>::infinity()) {
      Maker& maker = *x.maker;
      const DType dtype = x.type().dtype;
      x = maker.add("Clip", {x, maker.number(-clip, dtype), maker.number(clip, dtype)});
    }
    return activated(x, activations[which]);
  }
  Value of_hidden(Value h, std::int64_t first, std::int64_t count) const {
    const Value made = h.maker->add("MatMul", {h, gate(recurrent, first, count)});
    return bias.maker == nullptr ? made : made + gate(bias, first, count);
  }
};

struct States {
  Value h, c;
};

States rnn_step(const Direction& d, Value x, const States& s) {
  return {d.f(0, x + d.of_hidden(s.h, 0, 1)), {}};
}

States gru_step(const Direction& d, Value x, const States& s) {
  const Value both = d.gate(x, 0, 2) + d.of_hidden(s.h, 0, 2);
  const Value z = d.f(0, d.gate(both, 0)), r = d.f(0, d.gate(both, 1));
  const Value inner =
      d.linear_before_reset ? r * d.of_hidden(s.h, 2, 1) : d.of_hidden(r * s.h, 2, 1);
  const Value n = d.f(1, d.gate(x, 2) + inner);
  return {(1.0 - z) * n + z * s.h, {}};
}

States lstm_step(const Direction& d, Value x, const States& s) {
  const Value all = x + d.of_hidden(s.h, 0, 4);
  const auto gate = [&](std::int64_t which, Value cell) {
    const Value sum = d.gate(all, which);
    return d.f(0, d.peephole.maker == nullptr ? sum : sum + d.gate(d.peephole, which) * cell);
  };
  const Value i = gate(0, s.c);
  const Value forget = d.input_forget ? 1.0 - i : gate(2, s.c);
  const Value c = forget * s.c + i * d.f(1, d.gate(all, 3));
  return {gate(1, c) * activated(c, d.activations[2]), c};
}

using Cell = States (*)(const Direction&, Value, const States&);

/// What one direction makes: Y [S, N, H], and the last states.
struct Unrolled {
  Value y;
  States last;
};

Unrolled unroll(const Direction& d, Cell cell, Value sums, States s, Value lengths) {
  Maker& maker = *sums.maker;
  const std::int64_t steps = sums.dim(0), batch = sums.dim(1);
  Values all;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Value x = reshape(slice(sums, {t}, {t + 1}, {0}), {batch, sums.dim(2)});
    States next = cell(d, x, s);
    Value shown = next.h;
    if (lengths.maker != nullptr) {  // what is over keeps its state, and shows nothing
      const Value runs = reshape(
          maker.add("Greater", {lengths, cast(maker.list({t}), DType::kInt32)}), {batch, 1});
      shown = select(runs, shown, 0.0);
      next.h = select(runs, next.h, s.h);
      if (next.c.maker != nullptr) next.c = select(runs, next.c, s.c);
    }
    s = next;
    all.push_back(reshape(shown, {1, batch, d.hidden}));
  }
  return {concat(all, 0), s};
}

/// [directions, ...] without the first axis, of direction `which`.
Value of_direction(Value all, std::int64_t which) {
  Dims dims = all.dims();
  dims.erase(dims.begin());
  return reshape(slice(all, {which}, {which + 1}, {0}), dims);
}

Values layer(Step& step, const Values& given, std::int64_t gates, Cell cell,
             const std::vector<Activation>& activations) {
  Maker& maker = step.maker();
  const DType dtype = given[kX].type().dtype;
  const auto has = [&](std::size_t i) { return i < given.size() && given[i].maker != nullptr; };
  const auto wide = [&](std::size_t i) {
    return dtype == DType::kFloat64 ? given[i] : cast(given[i], DType::kFloat32);
  };
  const bool batch_first = step.integer("layout", 0) != 0;
  const std::string direction = step.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const Value x = batch_first ? transpose(wide(kX), {1, 0, 2}) : wide(kX);
  const std::int64_t steps = x.dim(0), batch = x.dim(1), hidden = given[kR].dim(2);
  const Value lengths = has(kLengths) ? given[kLengths] : Value();
  const auto backwards = [&](Value along) {
    const Value all =
        cast(filled(maker, static_cast<double>(steps), {DType::kFloat32, maker.shape({batch})}),
             DType::kInt64);
    return maker.add(
        "ReverseSequence", {along, lengths.maker == nullptr ? all : cast(lengths, DType::kInt64)},
        attributes_of({{"batch_axis", std::int64_t{1}}, {"time_axis", std::int64_t{0}}}));
  };
  const auto first_state = [&](std::size_t i, std::int64_t which) {
    const DType type = x.type().dtype;
    if (!has(i)) return filled(maker, 0, {type, maker.shape({batch, hidden})});
    return of_direction(batch_first ? transpose(wide(i), {1, 0, 2}) : wide(i), which);
  };
  Values ys, hs, cs;
  for (std::int64_t which = 0; which < directions; ++which) {
    Direction d;
    d.hidden = hidden;
    d.recurrent = transpose_last(of_direction(wide(kR), which));
    const bool reverse = which == 1 || direction == "reverse";
    Value sums = maker.add(
        "MatMul", {reverse ? backwards(x) : x, transpose_last(of_direction(wide(kW), which))});
    if (has(kB)) {
      const Value both = of_direction(wide(kB), which);
      sums = sums + slice(both, {0}, {gates * hidden}, {0});
      d.bias = slice(both, {gates * hidden}, {2 * gates * hidden}, {0});
    }
    if (has(kPeephole)) d.peephole = of_direction(wide(kPeephole), which);
    const std::size_t each = activations.size() / static_cast<std::size_t>(directions);
    d.activations.assign(activations.begin() + which * static_cast<std::int64_t>(each),
                         activations.begin() + (which + 1) * static_cast<std::int64_t>(each));
    d.clip = step.real("clip", std::numeric_limits<float>::infinity());
    d.linear_before_reset = step.integer("linear_before_reset", 0) != 0;
    d.input_forget = step.integer("input_forget", 0) != 0;
    States s{first_state(kHidden, which), {}};
    if (gates == 4) s.c = first_state(kCell, which);
    const Unrolled made = unroll(d, cell, sums, s, lengths);
    ys.push_back(reshape(reverse ? backwards(made.y) : made.y, {steps, 1, batch, hidden}));
    hs.push_back(reshape(made.last.h, {1, batch, hidden}));
    if (gates == 4) cs.push_back(reshape(made.last.c, {1, batch, hidden}));
  }
  const auto state = [&](const Values& all) {
    const Value made = concat(all, 0);
    return cast(batch_first ? transpose(made, {1, 0, 2}) : made, dtype);
  };
  const Value y = concat(ys, 1);
  Values outputs = {cast(batch_first ? transpose(y, {2, 0, 1, 3}) : y, dtype), state(hs)};
  if (gates == 4) outputs.push_back(state(cs));
  return outputs;
}

void recurrent(Step& step, std::int64_t gates, Cell cell) {
  const std::int64_t directions = step.x(kW).dim(0);
  const std::int64_t steps = step.x().dim(step.integer("layout", 0) != 0 ? 1 : 0);
  if (steps < 1 || steps > kUnrolledMax / directions)
    return step.refuse(fmt::format("a sequence of {} has no gradient, expected 1 to {}", steps,
                                   kUnrolledMax / directions));
  const auto activations = step.read_call([&](const kernels::Call& call) {
    return kernels::ref::activations_of(call, directions, gates);
  });
  if (!step.maker().state()) return;
  step.through([&](const Values& xs) { return layer(step, xs, gates, cell, activations); });
}

}  // namespace

void rnn(Step& step) { recurrent(step, 1, rnn_step); }
void gru(Step& step) { recurrent(step, 3, gru_step); }
void lstm(Step& step) { recurrent(step, 4, lstm_step); }

}  // namespace commensal::grad::rules
