// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: the input's products of all steps in one, then step by step the products with
// h, whose chains go on from there, and the gates, functions of whole rows.
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/pack_room.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/recurrent_layer.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <cstring>

namespace commensal::kernels::cpu {
namespace recurrent {
namespace {

/// The weights of one direction. GRU's gate n has its product with h apart: what it is a product
/// with depends on gate r.
struct Direction {
  PackedColumns input, hidden;
  std::unique_ptr<PackedColumns> candidate;
};
struct PackedLayer final : Packed {
  std::vector<Direction> directions;
};

/// The elements of one direction's W or R, widened into `wide` where they are of 16 bits.
core::Result<const float*> weights_of(const Call& call, Isa isa, Input input, std::int64_t d,
                                      const PackRoom& room, std::shared_ptr<float>& wide) {
  const Tensor& all = call.in(input);
  const std::int64_t count = all.shape().elements(1, 3);
  if (!is_half(all.dtype())) return all.data<float>().data() + d * count;
  const HalfKernels halves = half_kernels_for(isa, all.dtype());
  if (wide == nullptr) {
    COMMENSAL_ASSIGN(wide, room.floats(count));
  }
  constexpr std::int64_t kPiece = 1 << 14;
  for (std::int64_t at = 0; at < count; at += kPiece) {
    const std::int64_t part = std::min(kPiece, count - at);
    halves.widen(half_bits(all) + d * count + at, wide.get() + at, part);
    call.pulse(part);
  }
  return wide.get();
}

/// Error: kResourceExhausted.
core::Result<std::shared_ptr<const PackedLayer>> packed_layer(const Call& call, Cell cell, Isa isa,
                                                              const PackRoom& room) {
  const tensor::Shape &w = call.in(kW).shape(), &r = call.in(kR).shape();
  const std::int64_t rows = w[1], width = w[2], units = r[2];
  const CpuKernels& kernels = kernels_for(isa);
  auto made = std::make_shared<PackedLayer>();
  const auto columns = [&](const float* from, std::int64_t depth,
                           std::int64_t count) -> core::Result<PackedColumns> {
    COMMENSAL_ASSIGN(const auto panels,
                     room.floats(packed_columns_elements(kernels, depth, count)));
    pack_columns(call.pulse, kernels, from, depth, count, 1, depth, panels.get());
    return PackedColumns(kernels, depth, panels);
  };
  std::shared_ptr<float> wide_w, wide_r;
  for (std::int64_t d = 0; d < w[0]; ++d) {
    COMMENSAL_ASSIGN(const float* const of_x, weights_of(call, isa, kW, d, room, wide_w));
    COMMENSAL_ASSIGN(const float* const of_h, weights_of(call, isa, kR, d, room, wide_r));
    const std::int64_t apart = cell == Cell::kGru ? units : 0;
    COMMENSAL_ASSIGN(PackedColumns input, columns(of_x, width, rows));
    COMMENSAL_ASSIGN(PackedColumns hidden, columns(of_h, units, rows - apart));
    Direction one{std::move(input), std::move(hidden), nullptr};
    if (apart > 0) {
      COMMENSAL_ASSIGN(PackedColumns last, columns(of_h + (rows - apart) * units, units, apart));
      one.candidate = std::make_unique<PackedColumns>(std::move(last));
    }
    made->directions.push_back(std::move(one));
  }
  return made;
}

core::Result<std::shared_ptr<const Packed>> pack(const Call& call, Cell cell, Isa isa) {
  for (const int input : {kW, kR}) {
    if (!call.has(input) || call.in(input).shape().rank() != 3) return nullptr;
    const tensor::DType dtype = call.in(input).dtype();
    if (dtype != tensor::DType::kFloat32 && !is_half(dtype)) return nullptr;
  }
  // What does not fit together is left for infer to refuse.
  const tensor::Shape &w = call.in(kW).shape(), &r = call.in(kR).shape();
  const std::int64_t rows = gates_of(cell) * r[2];
  if (w[0] != r[0] || w[1] != rows || r[1] != rows || w.elements() == 0 || r.elements() == 0)
    return nullptr;
  return packed_layer(call, cell, isa, PackRoom());
}

/// One direction of a call. Rows of states are in the order of Moments.
class Run {
 public:
  Run(const Layer& layer, const Direction& weights, std::int64_t d)
      : layer_(layer),
        setting_(layer.setting),
        d_(d),
        reverse_(d == 1 || setting_.first_reverse),
        units_(setting_.units),
        columns_(setting_.gates * units_),
        weights_(weights),
        kernels_(kernels_for(layer.ws.isa)),
        rows_(recurrent_rows_for(layer.ws.isa)),
        pulse_(&layer.ws.threads) {
    for (const ref::Activation& one : setting_.functions_of(d)) {
      functions_.push_back(function_of(one, kernels_, rows_));
    }
  }

  /// Memory, and the products with all of x. Error: kResourceExhausted.
  core::Result<void> prepare(const Rows& x) {
    const std::int64_t state = setting_.batch * units_, rows = layer_.moments.rows();
    const std::int64_t of_lstm = setting_.cell == Cell::kLstm ? state : 0;
    const std::int64_t of_gru = setting_.cell == Cell::kGru ? state : 0;
    const std::int64_t packed = std::min(setting_.batch, rows_at_once());
    struct Part {
      float** at;
      std::int64_t floats;
    };
    const Part parts[] = {
        {&sums_, rows * columns_}, {&h_, state},
        {&cell_, of_lstm},         {&reset_, of_gru},
        {&apart_, of_gru},         {&panels_, packed_rows_floats(kernels_, packed, units_)},
        {&biases_, 2 * columns_},  {&peepholes_, 3 * units_}};
    constexpr std::int64_t kLine = 16;  // floats: each part begins one
    std::int64_t all = 0;
    for (const Part& part : parts) all += ceil_div(part.floats, kLine) * kLine;
    COMMENSAL_ASSIGN(memory_, floats_from(layer_.ws.arena, all));
    float* next = memory_.get();
    for (const Part& part : parts) {
      *part.at = next;
      next += ceil_div(part.floats, kLine) * kLine;
    }
    read_all();
    const Product product{.a = x, .b = &weights_.input, .c = sums_, .c_step = columns_};
    return multiply({.rows = rows, .depth = setting_.width, .columns = columns_, .finish = false},
                    {&product, 1}, layer_.ws);
  }

  /// All steps, on the thread that calls.
  void run(std::span<Tensor> outputs) {
    for (std::int64_t s = 0; s < setting_.seq; ++s) {
      const std::int64_t t = reverse_ ? setting_.seq - 1 - s : s, items = layer_.moments.items(t);
      if (items > 0) step(sums_ + layer_.moments.first_row(t) * columns_, items);
      write_moment(t, items, outputs[0]);
    }
    const float* const states[] = {h_, cell_};
    for (std::size_t output = 1; output < outputs.size(); ++output) {
      for (std::int64_t rank = 0; rank < setting_.batch; ++rank) {
        layer_.elements.write(states[output - 1] + rank * units_, units_, outputs[output],
                              setting_.state_row(d_, layer_.moments.item(rank)) * units_);
        pulse_(units_);
      }
    }
  }

 private:
  void read_all() {
    const float zero = 0;
    std::fill_n(biases_, 2 * columns_, 0.0f);
    if (layer_.call.has(kB)) {
      layer_.elements.read(kB, 2 * d_ * columns_, 2 * columns_, biases_);
      binary(Binary::kAdd)(biases_, 1, &zero, 0, biases_, 2 * columns_);  // -0 counts as +0
    }
    if (layer_.call.has(kPeephole)) {
      layer_.elements.read(kPeephole, 3 * d_ * units_, 3 * units_, peepholes_);
    }
    read_states(kHidden, h_);
    if (setting_.cell == Cell::kLstm) read_states(kCell, cell_);
  }
  void read_states(Input input, float* to) {
    const bool given = layer_.call.has(input);
    for (std::int64_t rank = 0; rank < setting_.batch; ++rank) {
      float* const row = to + rank * units_;
      if (given) {
        layer_.elements.read(input, setting_.state_row(d_, layer_.moments.item(rank)) * units_,
                             units_, row);
        unary(Unary::kStore)(row, row, units_, {});  // an item of no steps shows it
      } else {
        std::fill_n(row, units_, 0.0f);
      }
      pulse_(units_);
    }
  }
  /// h of the items that the moment has, +0 of the others.
  void write_moment(std::int64_t t, std::int64_t items, Tensor& y) {
    const auto bytes = static_cast<std::size_t>(units_ * traits(y.dtype()).size);
    for (std::int64_t rank = 0; rank < setting_.batch; ++rank) {
      const std::int64_t row = setting_.y_row(t, d_, layer_.moments.item(rank));
      if (rank < items) {
        layer_.elements.write(h_ + rank * units_, units_, y, row * units_);
      } else {
        std::memset(y.mutable_bytes().data() + static_cast<std::size_t>(row) * bytes, 0, bytes);
      }
      pulse_(units_);
    }
  }

  BinaryFn binary(Binary what) const { return kernels_.binary[static_cast<std::size_t>(what)]; }
  UnaryFn unary(Unary what) const { return kernels_.unary[static_cast<std::size_t>(what)]; }
  void multiplied(const float* a, const float* b, float* y) const {
    binary(Binary::kMul)(a, 1, b, 1, y, units_);
  }
  /// Both biases of `count` columns from `column` on.
  void add_biases(float* sums, std::int64_t column, std::int64_t count) const {
    rows_.add_both(biases_ + column, biases_ + columns_ + column, sums, count);
  }
  /// Sums become what function `which` makes of them.
  void gate(std::size_t which, float* sums, float* to, std::int64_t count) const {
    if (setting_.has_clip) {
      unary(Unary::kClip)(sums, sums, count, {-setting_.clip, setting_.clip});
    }
    functions_[which](sums, to, count);
  }

  /// How many rows of h are packed, and multiplied, without a pause: whole panels.
  std::int64_t rows_at_once() const {
    constexpr std::int64_t kElements = 1 << 17, kRowsMax = 1 << 13;
    const std::int64_t rows = std::min(kElements / std::max<std::int64_t>(units_, 1), kRowsMax);
    return std::max<std::int64_t>(rows / kernels_.tile_rows, 1) * kernels_.tile_rows;
  }
  /// Rows of h (or r * h) with `columns` columns: to c, a row of which is `c_step` long.
  void product(const float* h, std::int64_t rows, const PackedColumns& with, std::int64_t columns,
               bool resume, float* c, std::int64_t c_step) {
    const float* const right = with.block(0, units_, 0, 0, nullptr).data;
    if (rows == 1) return row_product(h, right, columns, resume, c);
    for (std::int64_t row = 0; row < rows; row += rows_at_once()) {
      const std::int64_t some = std::min(rows_at_once(), rows - row);
      const Rows left = pack_rows(kernels_, h + row * units_, some, units_, units_, 1, panels_);
      pulse_(some * units_);
      multiply_packed(kernels_, pulse_, {left.data, right, some, columns, units_, resume, false},
                      c + row * c_step, c_step);
    }
  }
  void row_product(const float* h, const float* right, std::int64_t columns, bool resume,
                   float* c) {
    for (std::int64_t j = 0; j < columns; j += kernels_.tile_columns) {  // h as it lies
      GemmPanel g;
      g.a = h;
      g.a_step = 1;
      g.b = right + j * units_;
      g.b_step = kernels_.tile_columns;
      g.c = c + j;
      g.rows = 1;
      g.depth = units_;
      g.columns = static_cast<int>(std::min<std::int64_t>(kernels_.tile_columns, columns - j));
      g.resume = resume;
      kernels_.gemm(g);
      pulse_(units_);
    }
  }

  void step(float* sums, std::int64_t items) {
    const std::int64_t apart = setting_.cell == Cell::kGru ? units_ : 0;
    product(h_, items, weights_.hidden, columns_ - apart, true, sums, columns_);
    if (setting_.cell == Cell::kGru) return gru(sums, items);
    for (std::int64_t i = 0; i < items; ++i) {
      float* const row = sums + i * columns_;
      add_biases(row, 0, columns_);
      if (setting_.cell == Cell::kRnn) {
        gate(0, row, h_ + i * units_, units_);
      } else {
        lstm(row, h_ + i * units_, cell_ + i * units_);
      }
      pulse_(columns_);
    }
  }
  void lstm(float* sums, float* h, float* cell) const {
    float *const i = sums, *const o = i + units_, *const f = o + units_, *const g = f + units_;
    const bool peeks = layer_.call.has(kPeephole);
    const auto peep = [&](int which, float* sum) {
      if (peeks) rows_.mul_add(peepholes_ + which * units_, cell, sum, sum, units_);
    };
    peep(0, i);
    gate(0, i, i, units_);
    if (setting_.input_forget) {
      const float one = 1;
      binary(Binary::kSub)(&one, 0, i, 1, f, units_);
    } else {
      peep(2, f);
      gate(0, f, f, units_);
    }
    gate(1, g, g, units_);
    multiplied(i, g, g);
    rows_.mul_add(f, cell, g, cell, units_);
    peep(1, o);
    gate(0, o, o, units_);
    functions_[2](cell, h, units_);
    multiplied(o, h, h);
  }
  void gru(float* sums, std::int64_t items) {
    const bool linear = setting_.linear_before_reset;
    if (linear) product(h_, items, *weights_.candidate, units_, false, apart_, units_);
    for (std::int64_t i = 0; i < items; ++i) {
      float *const row = sums + i * columns_, *const r = row + units_;
      add_biases(row, 0, 2 * units_);
      gate(0, row, row, 2 * units_);
      if (!linear) multiplied(r, h_ + i * units_, reset_ + i * units_);
      pulse_(2 * units_);
    }
    if (!linear) {
      product(reset_, items, *weights_.candidate, units_, true, sums + 2 * units_, columns_);
    }
    for (std::int64_t i = 0; i < items; ++i) {
      float *const z = sums + i * columns_, *const r = z + units_, *const n = r + units_;
      float *const h = h_ + i * units_, *const inner = apart_ + i * units_;
      if (linear) {
        binary(Binary::kAdd)(inner, 1, biases_ + columns_ + 2 * units_, 1, inner, units_);
        rows_.mul_add(r, inner, n, n, units_);
        binary(Binary::kAdd)(n, 1, biases_ + 2 * units_, 1, n, units_);
      } else {
        add_biases(n, 2 * units_, units_);
      }
      gate(1, n, n, units_);
      rows_.blend(z, n, h, units_);
      pulse_(columns_);
    }
  }

  const Layer& layer_;
  const Setting& setting_;
  std::int64_t d_;
  bool reverse_;
  std::int64_t units_, columns_;
  const Direction& weights_;
  const CpuKernels& kernels_;
  const RecurrentRows& rows_;
  std::vector<RowFunction> functions_;
  Pulse pulse_;
  std::shared_ptr<float> memory_;
  float *sums_ = nullptr, *h_ = nullptr, *cell_ = nullptr, *reset_ = nullptr, *apart_ = nullptr;
  float *panels_ = nullptr, *biases_ = nullptr, *peepholes_ = nullptr;
};

/// Error: kResourceExhausted.
core::Result<void> run(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                       const Setting& setting) {
  std::shared_ptr<const PackedLayer> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, packed_layer(call, setting.cell, ws.isa, PackRoom(ws.arena)));
  }
  const auto& packed = ws.packed == nullptr ? *made : static_cast<const PackedLayer&>(*ws.packed);
  const Moments moments(setting, call);
  const Elements elements(call, ws.isa);
  const Layer shared{call, setting, moments, elements, ws};
  const std::int64_t floats =
      packed_rows_floats(kernels_for(ws.isa), moments.rows(), setting.width);
  COMMENSAL_ASSIGN(const auto panels, floats_from(ws.arena, std::max<std::int64_t>(floats, 1)));
  COMMENSAL_ASSIGN(const Rows x, pack_x(shared, panels.get()));
  std::vector<Run> runs;
  for (std::int64_t d = 0; d < setting.directions; ++d) {
    runs.emplace_back(shared, packed.directions[static_cast<std::size_t>(d)], d);
    COMMENSAL_TRY(runs.back().prepare(x));
  }
  ws.threads.run(setting.directions,
                 [&](std::int64_t d) { runs[static_cast<std::size_t>(d)].run(outputs); });
  return {};
}

core::Result<void> layer(const Call& call, std::span<Tensor> outputs, Workspace& ws, Cell cell,
                         const Judge& judge) {
  if (call.in(kX).elements() == 0) return judge.best()(call, outputs, ws);
  COMMENSAL_ASSIGN(const auto setting, call.memo.of([&] { return Setting::of(call, cell); }));
  return run(call, outputs, ws, *setting);
}

}  // namespace
}  // namespace recurrent

core::Result<void> gru(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return recurrent::layer(call, outputs, ws, recurrent::Cell::kGru, ref::kGru);
}
core::Result<void> lstm(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return recurrent::layer(call, outputs, ws, recurrent::Cell::kLstm, ref::kLstm);
}
core::Result<void> rnn(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return recurrent::layer(call, outputs, ws, recurrent::Cell::kRnn, ref::kRnn);
}
core::Result<std::shared_ptr<const Packed>> pack_gru(const Call& call, Isa isa) {
  return recurrent::pack(call, recurrent::Cell::kGru, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_lstm(const Call& call, Isa isa) {
  return recurrent::pack(call, recurrent::Cell::kLstm, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_rnn(const Call& call, Isa isa) {
  return recurrent::pack(call, recurrent::Cell::kRnn, isa);
}

}  // namespace commensal::kernels::cpu
