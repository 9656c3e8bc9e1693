// SPDX-License-Identifier: Apache-2.0
// RNN, GRU, LSTM (docs/numerics.md, "Recurrent networks"). An element depends on all steps of the
// sequence before its own. Of float32 their hidden states are elements of Y, agreed on where they
// come before the element: so forwards, and for Y_h and Y_c. Else all units of all steps before are
// part of the program, which then is long.
#include <algorithm>
#include <commensal/verify/arbiter/products.hpp>
#include <commensal/verify/arbiter/recurrent_activation.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeephole };
enum class Kind { kRnn, kGru, kLstm };
constexpr std::int64_t kGates[] = {1, 3, 4};

struct Layer {
  std::int64_t seq = 0, batch = 0, width = 0, hidden = 0, directions = 1, gates = 1;
  bool batch_first = false, first_reverse = false;
  std::vector<Activation> activations;               // of all directions, one after another
  std::optional<std::vector<std::int64_t>> lengths;  // of each item of the batch; else all

  std::int64_t length(std::int64_t b) const {
    return lengths ? (*lengths)[static_cast<std::size_t>(b)] : seq;
  }

  bool is_reverse(std::int64_t d) const { return d == 1 || first_reverse; }
  // Which moment step `s` reads and writes; its own inverse.
  std::int64_t moment(std::int64_t d, std::int64_t b, std::int64_t s) const {
    return is_reverse(d) ? length(b) - 1 - s : s;
  }
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (batch_first ? b * seq + t : t * batch + b) * width;
  }
  std::int64_t state_at(std::int64_t d, std::int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  std::int64_t y_at(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return (batch_first ? (b * seq + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }
  Dims state_dims() const {
    return batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  }
  Dims y_dims() const {
    return batch_first ? Dims{batch, seq, directions, hidden}
                       : Dims{seq, directions, batch, hidden};
  }
};

Kind kind_of(const NodeCall& call) {
  return call.node.name == "LSTM" ? Kind::kLstm : call.node.name == "GRU" ? Kind::kGru : Kind::kRnn;
}

bool set_lengths(Layer& l, const NodeCall& call) {
  if (!call.has(kLengths)) return true;
  const Shaped lengths = shaped(static_cast<std::uint8_t>(Element::kInt32), {l.batch});
  if (call.inputs[kLengths] != lengths || !call.lists[kLengths]) return false;
  l.lengths = call.lists[kLengths];
  return std::ranges::all_of(*l.lengths, [&](auto n) { return n >= 0 && n <= l.seq; });
}

bool fits(const NodeCall& call, std::size_t input, const Dims& dims) {
  return !call.has(input) || call.inputs[input] == shaped(call.inputs[kX].dtype, dims);
}

std::optional<Layer> layer_of(const NodeCall& call) {
  const bool there = call.has(kX) && call.has(kW) && call.has(kR) && is_binary32(call.inputs[kX]) &&
                     call.inputs[kX].rank() == 3 && call.inputs[kR].rank() == 3;
  if (!there) return std::nullopt;
  Layer l;
  const Shaped& x = call.inputs[kX];
  const std::string direction = call.node.text("direction", "forward");
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.first_reverse = direction == "reverse";
  l.batch_first = call.node.integer("layout", 0) != 0;
  l.seq = x.dim(l.batch_first ? 1 : 0);
  l.batch = x.dim(l.batch_first ? 0 : 1);
  l.width = x.dim(2);
  l.hidden = call.inputs[kR].dim(2);
  l.gates = kGates[static_cast<int>(kind_of(call))];
  const std::int64_t rows = l.gates * l.hidden, d = l.directions;
  constexpr std::int64_t kUnitsMax = 1 << 16;  // their states are kept side by side
  const bool sized = std::min(l.width, l.hidden) >= 1 && l.hidden <= kUnitsMax &&
                     fits(call, kW, {d, rows, l.width}) && fits(call, kR, {d, rows, l.hidden}) &&
                     fits(call, kB, {d, 2 * rows}) && fits(call, kHidden, l.state_dims()) &&
                     fits(call, kCell, l.state_dims()) && fits(call, kPeephole, {d, 3 * l.hidden});
  if (!sized || !set_lengths(l, call)) return std::nullopt;
  const std::size_t each = kind_of(call) == Kind::kRnn ? 1 : kind_of(call) == Kind::kGru ? 2 : 3;
  auto activations = activations_of(call.node, l.directions, each);
  if (!activations) return std::nullopt;
  l.activations = *std::move(activations);
  return l;
}

TypeResult recurrent_type(const NodeCall& call, std::size_t output) {
  const auto l = layer_of(call);
  if (!l || output > (kind_of(call) == Kind::kLstm ? 2u : 1u)) {
    return unsupported("no program for this form, element type or output");
  }
  return shaped(call.inputs[kX].dtype, output == 0 ? l->y_dims() : l->state_dims());
}

// One direction of one item of the batch.
struct Run {
  const NodeCall& call;
  const Layer& layer;
  const Emitter& emit;
  std::int64_t d = 0, b = 0;

  Operand weight(Input input, std::int64_t index) const {
    return call.has(input) ? element_of(static_cast<int>(input), index) : emit.zero();
  }
  Operand activated(std::size_t which, Operand x) const {
    if (call.node.has("clip")) {
      const std::uint32_t clip = call.node.real("clip", 0);
      const Operand above = emit.maximum(x, constant(clip ^ 0x80000000));
      x = emit.minimum(above, constant(clip));
    }
    return function(which)(emit, x);
  }
  const Activation& function(std::size_t which) const {
    const std::size_t each = layer.activations.size() / static_cast<std::size_t>(layer.directions);
    return layer.activations[static_cast<std::size_t>(d) * each + which];
  }
  std::int64_t row(std::int64_t gate, std::int64_t unit) const {
    return (d * layer.gates + gate) * layer.hidden + unit;
  }
  Operand bias(bool of_hidden, std::int64_t gate, std::int64_t unit) const {
    const std::int64_t part = 2 * d + (of_hidden ? 1 : 0);
    return weight(kB, (part * layer.gates + gate) * layer.hidden + unit);
  }
};

// What a step of the sequence starts from: the moment, and the hidden states before it.
struct Turn {
  std::int64_t t = 0;
  std::function<Operand(std::int64_t unit)> h;
};

Operand of_input(const Run& run, const Turn& turn, std::int64_t gate, std::int64_t unit) {
  Operand acc[] = {run.emit.zero()};
  const std::int64_t x = run.layer.x_at(turn.t, run.b), w = run.row(gate, unit) * run.layer.width;
  run.emit.steps.fold(run.layer.width, acc, [&](std::int64_t i, std::span<Operand> state) {
    state[0] = run.emit.fma(element_of(kX, x + i), element_of(kW, w + i), state[0]);
  });
  return acc[0];
}
template <class Hidden>
Operand of_hidden(const Run& run, Operand from, std::int64_t gate, std::int64_t unit,
                  Hidden&& hidden) {
  Operand acc[] = {from};
  const std::int64_t r = run.row(gate, unit) * run.layer.hidden;
  run.emit.steps.fold(run.layer.hidden, acc, [&](std::int64_t i, std::span<Operand> state) {
    state[0] = run.emit.fma(hidden(i), element_of(kR, r + i), state[0]);
  });
  return acc[0];
}
template <class Hidden>
Operand gate_sum(const Run& run, const Turn& turn, std::int64_t gate, std::int64_t unit,
                 Hidden&& hidden) {
  const Operand first = of_input(run, turn, gate, unit);
  const Operand acc = of_hidden(run, first, gate, unit, hidden);
  const Operand with_input = add_bias(run.emit, acc, run.bias(false, gate, unit));
  return add_bias(run.emit, with_input, run.bias(true, gate, unit));
}

Operand rnn_unit(const Run& run, const Turn& turn, std::int64_t unit) {
  return run.activated(0, gate_sum(run, turn, 0, unit, turn.h));
}

// r * h of every unit, where the third gate's sum is over them.
Turns resets(const Run& run, const Turn& turn) {
  return run.emit.steps.each(run.layer.hidden, [&](std::int64_t unit) {
    const Operand r = run.activated(0, gate_sum(run, turn, 1, unit, turn.h));
    return std::vector<Operand>{run.emit.mul(r, turn.h(unit))};
  });
}
Operand gru_unit(const Run& run, const Turn& turn, const Turns& reset, std::int64_t unit) {
  Operand sum;
  if (reset.first.empty()) {  // linear_before_reset
    const Operand r = run.activated(0, gate_sum(run, turn, 1, unit, turn.h));
    const Operand chain = of_hidden(run, run.emit.zero(), 2, unit, turn.h);
    const Operand inner = add_bias(run.emit, chain, run.bias(true, 2, unit));
    const Operand outer = run.emit.fma(r, inner, of_input(run, turn, 2, unit));
    sum = add_bias(run.emit, outer, run.bias(false, 2, unit));
  } else {
    sum = gate_sum(run, turn, 2, unit, [&](std::int64_t i) { return reset.at(i); });
  }
  const Operand z = run.activated(0, gate_sum(run, turn, 0, unit, turn.h));
  const Operand n = run.activated(1, sum), rest = run.emit.sub(run.emit.one(), z);
  const Operand fresh = run.emit.mul(rest, n);
  return run.emit.fma(z, turn.h(unit), fresh);
}

// Hidden state and cell; `wants_h`: the hidden one too.
struct LstmUnit {
  Operand h, c;
};
Operand lstm_gate(const Run& run, const Turn& turn, std::int64_t gate, std::int64_t unit,
                  Operand cell) {
  const Operand sum = gate_sum(run, turn, gate, unit, turn.h);
  if (!run.call.has(kPeephole)) return run.activated(0, sum);
  const std::int64_t at = (run.d * 3 + gate) * run.layer.hidden + unit;
  return run.activated(0, run.emit.fma(element_of(kPeephole, at), cell, sum));
}
LstmUnit lstm_unit(const Run& run, const Turn& turn, std::int64_t unit, Operand c, bool wants_h) {
  const Operand i = lstm_gate(run, turn, 0, unit, c);
  const bool coupled = run.call.node.integer("input_forget", 0) != 0;
  const Operand f = coupled ? run.emit.sub(run.emit.one(), i) : lstm_gate(run, turn, 2, unit, c);
  const Operand g = run.activated(1, gate_sum(run, turn, 3, unit, turn.h));
  const Operand fresh = run.emit.mul(i, g), cell = run.emit.fma(f, c, fresh);
  if (!wants_h) return {cell, cell};
  const Operand o = lstm_gate(run, turn, 1, unit, cell);
  return {run.emit.mul(o, run.function(2)(run.emit, cell)), cell};
}

// ---- an element -------------------------------------------------------------------------

struct Place {
  std::int64_t d = 0, b = 0, unit = 0, steps = 0;
  bool padding = false;  // beyond the item's length: +0
};
Place place_of(const Layer& l, std::size_t output, std::int64_t element) {
  Place p;
  p.unit = element % l.hidden;
  std::int64_t rest = element / l.hidden, t = 0;
  if (l.batch_first) {
    p.d = rest % l.directions;
    rest /= l.directions;
    if (output == 0) t = rest % l.seq, rest /= l.seq;
    p.b = rest;
  } else {
    p.b = rest % l.batch;
    rest /= l.batch;
    p.d = rest % l.directions;
    t = rest / l.directions;
  }
  const std::int64_t length = l.length(p.b);
  p.padding = output == 0 && t >= length;
  p.steps = output == 0 ? l.moment(p.d, p.b, t) + 1 : length;
  return p;
}

// Initial states as steps, so that no turn differs from another.
Turns initial(const Run& run, Input input, std::int64_t first, std::int64_t count) {
  return run.emit.steps.each(count, [&](std::int64_t i) {
    const std::int64_t at = run.layer.state_at(run.d, run.b) + first + i;
    return std::vector<Operand>{run.emit.put(Op::kCopy, {run.weight(input, at)})};
  });
}

bool resets_first(const Run& run) {
  return kind_of(run.call) == Kind::kGru && run.call.node.integer("linear_before_reset", 0) == 0;
}
// The unit's next state: hidden, and of LSTM the cell.
LstmUnit next_unit(const Run& run, const Turn& turn, const Turns& reset, std::int64_t unit,
                   Operand c, bool wants_h) {
  const Kind kind = kind_of(run.call);
  if (kind == Kind::kLstm) return lstm_unit(run, turn, unit, c, wants_h);
  return {kind == Kind::kGru ? gru_unit(run, turn, reset, unit) : rnn_unit(run, turn, unit), {}};
}

// By the hidden states that Y has: of LSTM only the unit's own cell is carried along.
void by_y(const Run& run, const Place& p, bool wants_h) {
  const Layer& l = run.layer;
  const Turns first = initial(run, kHidden, 0, l.hidden);
  Operand cell[] = {initial(run, kCell, p.unit, 1).at(0)};
  const auto turn_of = [&](std::int64_t s) {
    return Turn{l.moment(p.d, p.b, s), [&, s](std::int64_t unit) {
                  if (s == 0) return first.at(unit);
                  return own_element(0, l.y_at(l.moment(p.d, p.b, s - 1), p.d, p.b) + unit);
                }};
  };
  if (kind_of(run.call) == Kind::kLstm) {
    run.emit.steps.fold(p.steps - 1, cell, [&](std::int64_t s, std::span<Operand> state) {
      state[0] = lstm_unit(run, turn_of(s), p.unit, state[0], false).c;
    });
  }
  const Turn last = turn_of(p.steps - 1);
  const Turns reset = resets_first(run) ? resets(run, last) : Turns();
  next_unit(run, last, reset, p.unit, cell[0], wants_h);
}

// All states of all steps, the last but for the element's unit.
void from_scratch(const Run& run, const Place& p, bool wants_h) {
  const Layer& l = run.layer;
  const auto hidden = static_cast<std::size_t>(l.hidden);
  const Turns first = initial(run, kHidden, 0, l.hidden), cells = initial(run, kCell, 0, l.hidden);
  std::vector<Operand> states;
  for (std::int64_t u = 0; u < l.hidden; ++u) states.push_back(first.at(u));
  for (std::int64_t u = 0; u < l.hidden; ++u) states.push_back(cells.at(u));
  const auto turn_of = [&](std::int64_t s, const std::vector<Operand>& now) {
    return Turn{l.moment(p.d, p.b, s),
                [&now](std::int64_t unit) { return now[static_cast<std::size_t>(unit)]; }};
  };
  run.emit.steps.fold(p.steps - 1, states, [&](std::int64_t s, std::span<Operand> state) {
    const std::vector<Operand> now(state.begin(), state.end());
    const Turn turn = turn_of(s, now);
    const Turns reset = resets_first(run) ? resets(run, turn) : Turns();
    const Turns next = run.emit.steps.each(l.hidden, [&](std::int64_t unit) {
      const Operand c = now[hidden + static_cast<std::size_t>(unit)];
      const LstmUnit made = next_unit(run, turn, reset, unit, c, true);
      return std::vector<Operand>{made.h, made.c};
    });
    for (std::size_t u = 0; u < hidden; ++u) {
      state[u] = next.at(static_cast<std::int64_t>(u), 0);
      state[hidden + u] = next.at(static_cast<std::int64_t>(u), 1);
    }
  });
  const Turn last = turn_of(p.steps - 1, states);
  const Turns reset = resets_first(run) ? resets(run, last) : Turns();
  next_unit(run, last, reset, p.unit, states[hidden + static_cast<std::size_t>(p.unit)], wants_h);
}

void recurrent(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Layer l = *layer_of(call);
  const Place p = place_of(l, output, element);
  if (output == 1 && p.steps > 0) {  // Y_h is Y's last
    const std::int64_t t = l.moment(p.d, p.b, p.steps - 1);
    steps.put(Op::kCopy, {own_element(0, l.y_at(t, p.d, p.b) + p.unit)});
    return;
  }
  const Emitter emit = computing(call, output, steps);
  const Run run{call, l, emit, p.d, p.b};
  if (p.padding) {
    emit.put(Op::kCopy, {emit.zero()});
  } else if (p.steps == 0) {
    const Operand from = run.weight(output == 2 ? kCell : kHidden, l.state_at(p.d, p.b) + p.unit);
    emit.canonical(from);
  } else if (call.inputs[kX].is(Element::kFloat32) && (output > 0 || !l.is_reverse(p.d))) {
    by_y(run, p, output != 2);
  } else {
    from_scratch(run, p, output != 2);
  }
}

}  // namespace

std::span<const OperatorRow> recurrent_rows() {
  constexpr std::string_view kTypes = "float32, float16, bfloat16";
  static constexpr OperatorRow kRows[] = {
      {"GRU", 7, 0, kTypes, recurrent_type, recurrent},
      {"LSTM", 7, 0, kTypes, recurrent_type, recurrent},
      {"RNN", 7, 0, kTypes, recurrent_type, recurrent},
  };
  return kRows;
}

}  // namespace commensal::arbiter
