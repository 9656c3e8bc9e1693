// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: for each direction and each item of the batch, one hidden state that is
// carried from step to step in binary32. A gate's sum is one chain over the input's elements and
// then over the hidden state's, then the two biases are added, first that of the input.
#include <algorithm>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/recurrent_activation.hpp>
#include <commensal/compute/kernels/ref/recurrent_inputs.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

#include <fmt/ranges.h>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Lane = math::ScalarLanes;
using Floats1 = std::vector<float>;

enum Input { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeephole };

// Sizes and settings of a call.
struct Layer {
  std::int64_t seq = 0, batch = 0, width = 0, hidden = 0, directions = 1;
  bool batch_first = false;    // attribute layout
  bool first_reverse = false;  // the first direction runs backwards; the second one always does
  bool linear_before_reset = false, input_forget = false;
  float clip = std::numeric_limits<float>::infinity();
  std::vector<Activation> activations;
  std::vector<std::int64_t> lengths;  // of each item of the batch

  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (batch_first ? b * seq + t : t * batch + b) * width;
  }
  std::int64_t state_at(std::int64_t d, std::int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }
  std::vector<std::int64_t> state_dims() const {
    if (batch_first) return {batch, directions, hidden};
    return {directions, batch, hidden};
  }
  // Which moment step `s` of direction `d` reads and writes.
  std::int64_t moment(std::int64_t d, std::int64_t b, std::int64_t s) const {
    const bool reverse = d == 1 || first_reverse;
    return reverse ? lengths[static_cast<std::size_t>(b)] - 1 - s : s;
  }
  float clipped(float x) const { return math::minimum<Lane>(math::maximum<Lane>(x, -clip), clip); }
};

// One direction of one item of the batch.
struct State {
  Pulse& pulse;
  const Layer& layer;
  const RecurrentInputs& weights;
  std::int64_t d = 0, gates = 1;
  Floats1 h, c;

  std::int64_t row(std::int64_t gate, std::int64_t unit) const {
    return (d * gates + gate) * layer.hidden + unit;
  }
  float of_input(const float* x, std::int64_t gate, std::int64_t unit) const {
    return chain(pulse, 0.0f, x, 1, weights.at(kW, row(gate, unit) * layer.width, layer.width), 1,
                 layer.width);
  }
  float of_hidden(float acc, const Floats1& from, std::int64_t gate, std::int64_t unit) const {
    return chain(pulse, acc, from.data(), 1,
                 weights.at(kR, row(gate, unit) * layer.hidden, layer.hidden), 1, layer.hidden);
  }
  float input_bias(std::int64_t gate, std::int64_t unit) const {
    return weights.or_zero(kB, (2 * d * gates + gate) * layer.hidden + unit);
  }
  float hidden_bias(std::int64_t gate, std::int64_t unit) const {
    return weights.or_zero(kB, ((2 * d + 1) * gates + gate) * layer.hidden + unit);
  }
  float sum(const float* x, const Floats1& from, std::int64_t gate, std::int64_t unit) const {
    const float acc = of_hidden(of_input(x, gate, unit), from, gate, unit);
    return add_bias(add_bias(acc, input_bias(gate, unit)), hidden_bias(gate, unit));
  }
  float activated(std::size_t which, float x) const {
    const std::size_t each = layer.activations.size() / static_cast<std::size_t>(layer.directions);
    return layer.activations[static_cast<std::size_t>(d) * each + which](layer.clipped(x));
  }
};

struct RnnCell {
  static constexpr std::int64_t kGates = 1;

  static void step_of(State& s, const float* x) {
    Floats1 next(s.h.size());
    for (std::size_t u = 0; u < next.size(); ++u) {
      next[u] = s.activated(0, s.sum(x, s.h, 0, static_cast<std::int64_t>(u)));
    }
    s.h = next;
  }
};

// Gates z, r, h: H = (1 - z) * n + z * H.
struct GruCell {
  static constexpr std::int64_t kGates = 3;

  static void step_of(State& s, const float* x) {
    const std::size_t hidden = s.h.size();
    Floats1 r(hidden), reset(hidden), next(hidden);
    for (std::size_t u = 0; u < hidden; ++u) {
      r[u] = s.activated(0, s.sum(x, s.h, 1, static_cast<std::int64_t>(u)));
      reset[u] = r[u] * s.h[u];
    }
    for (std::size_t u = 0; u < hidden; ++u) {
      const auto unit = static_cast<std::int64_t>(u);
      float sum = 0;
      if (s.layer.linear_before_reset) {
        const float inner = add_bias(s.of_hidden(0.0f, s.h, 2, unit), s.hidden_bias(2, unit));
        sum = add_bias(step(r[u], inner, s.of_input(x, 2, unit)), s.input_bias(2, unit));
      } else {
        sum = s.sum(x, reset, 2, unit);
      }
      const float z = s.activated(0, s.sum(x, s.h, 0, unit));
      next[u] = step(z, s.h[u], (1.0f - z) * s.activated(1, sum));
    }
    s.h = next;
  }
};

// Gates i, o, f, c; peepholes i, o, f: C = f * C + i * g, H = o * h(C).
struct LstmCell {
  static constexpr std::int64_t kGates = 4;

  static float gate(const State& s, const float* x, std::int64_t gate, std::int64_t unit,
                    float cell) {
    const float sum = s.sum(x, s.h, gate, unit);
    if (!s.weights.has(kPeephole)) return s.activated(0, sum);
    const float peephole = s.weights.or_zero(kPeephole, (s.d * 3 + gate) * s.layer.hidden + unit);
    return s.activated(0, step(peephole, cell, sum));
  }
  static void step_of(State& s, const float* x) {
    Floats1 next(s.h.size());
    for (std::size_t u = 0; u < next.size(); ++u) {
      const auto unit = static_cast<std::int64_t>(u);
      const float i = gate(s, x, 0, unit, s.c[u]);
      const float f = s.layer.input_forget ? 1.0f - i : gate(s, x, 2, unit, s.c[u]);
      const float g = s.activated(1, s.sum(x, s.h, 3, unit));
      s.c[u] = step(f, s.c[u], i * g);
      const float o = gate(s, x, 1, unit, s.c[u]);
      next[u] = o * s.layer.activations[static_cast<std::size_t>(s.d) * 3 + 2](s.c[u]);
    }
    s.h = next;
  }
};

core::Result<void> check_shape(const Call& call, int input,
                               const std::vector<std::int64_t>& expected) {
  if (!call.has(input) || std::ranges::equal(call.in(input).shape().dims(), expected)) return {};
  return fail(ErrorCode::kInvalidArgument, "input {} must be [{}], not {}", input,
              fmt::join(expected, ","), call.in(input).shape().text());
}

core::Result<void> read_lengths(const Call& call, Layer& layer) {
  layer.lengths.assign(static_cast<std::size_t>(layer.batch), layer.seq);
  if (!call.has(kLengths)) return {};
  COMMENSAL_TRY(shape_inference::check_dtype<Types<std::int32_t>>(call, kLengths));
  COMMENSAL_TRY(check_shape(call, kLengths, {layer.batch}));
  const auto lengths = paced<std::int32_t>(call, kLengths);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] < 0 || lengths[b] > layer.seq) {
      return fail(ErrorCode::kInvalidArgument, "sequence_lens has {}, expected 0 to {}", lengths[b],
                  layer.seq);
    }
    layer.lengths[b] = lengths[b];
  }
  return {};
}

core::Result<void> read_attributes(const Call& call, Layer& layer) {
  COMMENSAL_ASSIGN(const std::string direction, call.attributes->text("direction", "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'direction' must be forward, reverse or bidirectional, not '{}'",
                direction);
  }
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.first_reverse = direction == "reverse";
  COMMENSAL_ASSIGN(layer.batch_first, call.attributes->integer("layout", 0));
  COMMENSAL_ASSIGN(layer.linear_before_reset, call.attributes->integer("linear_before_reset", 0));
  COMMENSAL_ASSIGN(layer.input_forget, call.attributes->integer("input_forget", 0));
  COMMENSAL_ASSIGN(layer.clip, call.attributes->real("clip", layer.clip));
  return {};
}

core::Result<void> check_shapes(const Call& call, const Layer& layer, std::int64_t gates) {
  COMMENSAL_ASSIGN(const std::int64_t stated,
                   call.attributes->integer("hidden_size", layer.hidden));
  if (stated != layer.hidden) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'hidden_size' is {}, the weights say {}",
                stated, layer.hidden);
  }
  // Empty tensors cost nothing, however many items or units they count.
  if (std::min(layer.width, layer.hidden) < 1 || layer.batch > limits::kLoopStepsMax) {
    return fail(ErrorCode::kInvalidArgument, "input {} of {} items and {} units do not fit",
                call.in(kX).shape().text(), layer.batch, layer.hidden);
  }
  const std::int64_t rows = gates * layer.hidden, d = layer.directions;
  COMMENSAL_TRY(check_shape(call, kW, {d, rows, layer.width}));
  COMMENSAL_TRY(check_shape(call, kR, {d, rows, layer.hidden}));
  COMMENSAL_TRY(check_shape(call, kB, {d, 2 * rows}));
  COMMENSAL_TRY(check_shape(call, kHidden, layer.state_dims()));
  COMMENSAL_TRY(check_shape(call, kCell, layer.state_dims()));
  return check_shape(call, kPeephole, {d, 3 * layer.hidden});
}

core::Result<Layer> layer_of(const Call& call, std::int64_t gates) {
  Layer layer;
  COMMENSAL_TRY(shape_inference::check_dtype<Floats32>(call, 0));
  for (int i = 1; i < static_cast<int>(call.inputs.size()); ++i) {
    if (i != kLengths) COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
  }
  COMMENSAL_TRY(shape_inference::check_rank(call, kX, 3));
  COMMENSAL_TRY(shape_inference::check_rank(call, kR, 3));
  COMMENSAL_TRY(read_attributes(call, layer));
  const Shape& x = call.in(kX).shape();
  layer.seq = x[layer.batch_first ? 1 : 0];
  layer.batch = x[layer.batch_first ? 0 : 1];
  layer.width = x[2];
  layer.hidden = call.in(kR).shape()[2];
  COMMENSAL_TRY(check_shapes(call, layer, gates));
  COMMENSAL_TRY(read_lengths(call, layer));
  COMMENSAL_ASSIGN(layer.activations, activations_of(call, layer.directions, gates));
  return layer;
}

// Where an element of an output comes from: unit u after `steps` steps; none: padding, +0.
struct Place {
  std::int64_t d = 0, b = 0, unit = 0, steps = 0;
  bool padding = false;
};

template <class Cell>
struct RecurrentPlan {
  Layer layer;
  DType dtype = DType::kUndefined;
  Shape y, state;
  int outputs = 1;

  static core::Result<RecurrentPlan> make(const Call& call) {
    RecurrentPlan plan;
    COMMENSAL_ASSIGN(plan.layer, layer_of(call, Cell::kGates));
    const Layer& l = plan.layer;
    const std::array first = {l.seq, l.directions, l.batch, l.hidden};
    const std::array second = {l.batch, l.seq, l.directions, l.hidden};
    COMMENSAL_ASSIGN(plan.y, Shape::of(l.batch_first ? second : first));
    COMMENSAL_ASSIGN(plan.state, Shape::of(l.state_dims()));
    plan.dtype = call.in(0).dtype();
    plan.outputs = call.output_count;
    return plan;
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {{dtype, y}};
    made.resize(static_cast<std::size_t>(outputs), {dtype, state});
    return made;
  }

  State begin(const Call& call, const RecurrentInputs& weights, std::int64_t d,
              std::int64_t b) const {
    State state{call.pulse, layer, weights, d, Cell::kGates, {}, {}};
    for (std::int64_t u = 0; u < layer.hidden; ++u) {
      state.h.push_back(weights.or_zero(kHidden, layer.state_at(d, b) + u));
      state.c.push_back(weights.or_zero(kCell, layer.state_at(d, b) + u));
    }
    return state;
  }
  void step_at(State& state, std::int64_t b, std::int64_t s) const {
    Cell::step_of(state,
                  state.weights.at(kX, layer.x_at(layer.moment(state.d, b, s), b), layer.width));
  }

  Place place_of(int output, std::int64_t index) const {
    Place place;
    place.unit = index % layer.hidden;
    std::int64_t rest = index / layer.hidden, t = 0;
    if (layer.batch_first) {
      place.d = rest % layer.directions;
      rest /= layer.directions;
      if (output == 0) t = rest % layer.seq, rest /= layer.seq;
      place.b = rest;
    } else {
      place.b = rest % layer.batch;
      rest /= layer.batch;
      place.d = rest % layer.directions;
      t = rest / layer.directions;
    }
    const std::int64_t length = layer.lengths[static_cast<std::size_t>(place.b)];
    place.padding = output == 0 && t >= length;
    // moment() is its own inverse: the step that writes moment t.
    place.steps = output == 0 ? layer.moment(place.d, place.b, t) + 1 : length;
    return place;
  }

  Scalar element(const Call& call, int output, std::int64_t index) const {
    const Place place = place_of(output, index);
    const RecurrentInputs weights(call);
    State state = begin(call, weights, place.d, place.b);
    for (std::int64_t s = 0; !place.padding && s < place.steps; ++s) step_at(state, place.b, s);
    const Floats1& from = output == 2 ? state.c : state.h;
    const float value = place.padding ? 0.0f : from[static_cast<std::size_t>(place.unit)];
    return visit(Floats32{}, dtype, [&]<class T>() { return scalar_of(store<T>(value)); });
  }

  static void read_range(const Call& call, int input, std::int64_t first, std::int64_t count,
                         std::vector<ElementRef>& out) {
    if (!call.has(input)) return;
    for (std::int64_t i = 0; i < count; ++i) out.push_back({input, first + i});
  }
  // Through the hidden state, every unit of every step before has a say.
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    const Place place = place_of(output, index);
    read_range(call, kLengths, place.b, 1, out);
    if (place.padding) return;
    for (std::int64_t s = 0; s < place.steps; ++s) {
      const std::int64_t t = layer.moment(place.d, place.b, s);
      read_range(call, kX, layer.x_at(t, place.b), layer.width, out);
    }
    for (const int input : {kW, kR, kB, kPeephole}) {
      if (!call.has(input)) continue;
      const std::int64_t each = call.in(input).elements() / layer.directions;
      read_range(call, input, place.d * each, each, out);
    }
    for (const int input : {kHidden, kCell}) {
      read_range(call, input, layer.state_at(place.d, place.b), layer.hidden, out);
    }
  }

  template <class T>
  void run_one(const State& begun, std::int64_t b, std::span<Tensor> made) const {
    State state = begun;
    const auto put = [&](int output, std::int64_t at, const Floats1& values) {
      if (output >= static_cast<int>(made.size())) return;
      const auto to = made[static_cast<std::size_t>(output)].mutable_data<T>();
      state.pulse(values.size());
      for (std::size_t u = 0; u < values.size(); ++u) {
        to[static_cast<std::size_t>(at) + u] = store<T>(values[u]);
      }
    };
    const std::int64_t length = layer.lengths[static_cast<std::size_t>(b)], d = state.d;
    const auto y_at = [&](std::int64_t t) {
      return layer.batch_first ? (b * layer.seq + t) * layer.directions + d
                               : (t * layer.directions + d) * layer.batch + b;
    };
    for (std::int64_t s = 0; s < length; ++s) {
      step_at(state, b, s);
      put(0, y_at(layer.moment(d, b, s)) * layer.hidden, state.h);
    }
    for (std::int64_t t = length; t < layer.seq; ++t) {
      put(0, y_at(t) * layer.hidden, Floats1(state.h.size()));
    }
    put(1, layer.state_at(d, b), state.h);
    put(2, layer.state_at(d, b), state.c);
  }
  void run(const Call& call, std::span<Tensor> made) const {
    const RecurrentInputs weights(call);
    visit(Floats32{}, dtype, [&]<class T>() {
      for (std::int64_t d = 0; d < layer.directions; ++d) {
        for (std::int64_t b = 0; b < layer.batch; ++b)
          run_one<T>(begin(call, weights, d, b), b, made);
      }
    });
  }
};

}  // namespace

constinit const Judge kGru = judge_of<RecurrentPlan<GruCell>>();
constinit const Judge kLstm = judge_of<RecurrentPlan<LstmCell>>();
constinit const Judge kRnn = judge_of<RecurrentPlan<RnnCell>>();

}  // namespace commensal::kernels::ref
