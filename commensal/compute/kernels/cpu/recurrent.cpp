// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM with their usual activations: the input's products of all steps in one, then
// step by step the products with h, whose chains go on from there.
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <cstring>

namespace commensal::kernels::cpu {
namespace {

enum Input { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeephole };
enum class Cell { kRnn, kGru, kLstm };

constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4;
}

struct Sizes {
  std::int64_t seq = 0, batch = 0, width = 0, units = 0, directions = 0;
  explicit Sizes(const Call& call)
      : seq(call.in(kX).shape()[0]),
        batch(call.in(kX).shape()[1]),
        width(call.in(kX).shape()[2]),
        units(call.in(kR).shape()[2]),
        directions(call.in(kR).shape()[0]) {}
};

/// The weights of one direction. GRU's gate n has its product with h apart: what it is a product
/// with depends on gate r.
struct Direction {
  PackedColumns input, hidden;
  std::unique_ptr<PackedColumns> candidate;
};
struct PackedLayer final : Packed {
  std::vector<Direction> directions;
};

std::shared_ptr<const PackedLayer> packed_layer(const Call& call, Cell cell, Isa isa) {
  const tensor::Shape &w = call.in(kW).shape(), &r = call.in(kR).shape();
  const std::int64_t rows = w[1], width = w[2], units = r[2];
  const CpuKernels& kernels = kernels_for(isa);
  auto made = std::make_shared<PackedLayer>();
  const auto columns = [&](const float* from, std::int64_t depth, std::int64_t count) {
    return PackedColumns(call.pulse, kernels, from, depth, count, 1, depth);
  };
  for (std::int64_t d = 0; d < w[0]; ++d) {
    const float* const of_x = call.in(kW).data<float>().data() + d * rows * width;
    const float* const of_h = call.in(kR).data<float>().data() + d * rows * units;
    const std::int64_t apart = cell == Cell::kGru ? units : 0;
    Direction one{columns(of_x, width, rows), columns(of_h, units, rows - apart), nullptr};
    if (apart > 0) {
      one.candidate =
          std::make_unique<PackedColumns>(columns(of_h + (rows - apart) * units, units, apart));
    }
    made->directions.push_back(std::move(one));
  }
  return made;
}

core::Result<std::shared_ptr<const Packed>> pack(const Call& call, Cell cell, Isa isa) {
  for (const int input : {kW, kR}) {
    if (!call.has(input) || call.in(input).dtype() != tensor::DType::kFloat32 ||
        call.in(input).shape().rank() != 3) {
      return nullptr;
    }
  }
  // What does not fit together is left for infer to refuse.
  const tensor::Shape &w = call.in(kW).shape(), &r = call.in(kR).shape();
  const std::int64_t rows = gates_of(cell) * r[2];
  if (w[0] != r[0] || w[1] != rows || r[1] != rows || w.elements() == 0 || r.elements() == 0)
    return nullptr;
  return packed_layer(call, cell, isa);
}

/// What is usual: all that networks as exported ask for.
core::Result<bool> serves(const Call& call) {
  for (const char* name : {"activations", "activation_alpha", "activation_beta", "clip"}) {
    if (call.attributes->has(name)) return false;
  }
  COMMENSAL_ASSIGN(const std::int64_t layout, call.attributes->integer("layout", 0));
  COMMENSAL_ASSIGN(const std::int64_t forget, call.attributes->integer("input_forget", 0));
  if (layout != 0 || forget != 0 || call.has(kPeephole)) return false;
  if (call.in(kX).dtype() != tensor::DType::kFloat32) return false;
  if (!call.has(kLengths)) return true;
  const auto lengths = call.in(kLengths).data<std::int32_t>();
  return std::ranges::all_of(lengths,
                             [&](std::int32_t length) { return length == call.in(kX).shape()[0]; });
}

/// One direction of a call.
class Run {
 public:
  Run(const Call& call, Cell cell, const Direction& weights, std::int64_t d, Workspace& ws)
      : call_(call),
        cell_(cell),
        sizes_(call),
        gates_(gates_of(cell)),
        d_(d),
        weights_(weights),
        ws_(ws),
        kernels_(kernels_for(ws.isa)) {}

  /// Attributes, memory and the products with all of x. Error: kResourceExhausted.
  core::Result<void> prepare(const Rows& x) {
    COMMENSAL_ASSIGN(const std::string way, call_.attributes->text("direction", "forward"));
    reverse_ = d_ == 1 || way == "reverse";
    COMMENSAL_ASSIGN(const std::int64_t linear,
                     call_.attributes->integer("linear_before_reset", 0));
    linear_before_reset_ = linear != 0;
    const std::int64_t state = sizes_.batch * sizes_.units;
    COMMENSAL_ASSIGN(
        sums_, floats_from(ws_.arena, std::max<std::int64_t>(sizes_.seq * gates_ * state, 1)));
    COMMENSAL_ASSIGN(cell_state_, floats_from(ws_.arena, state + 1));
    COMMENSAL_ASSIGN(reset_, floats_from(ws_.arena, state + 1));
    COMMENSAL_ASSIGN(apart_, floats_from(ws_.arena, state + 1));
    COMMENSAL_ASSIGN(first_, floats_from(ws_.arena, state + 1));
    COMMENSAL_ASSIGN(
        panels_,
        floats_from(ws_.arena, packed_rows_floats(kernels_, sizes_.batch, sizes_.units) + 1));
    begin_from(kHidden, first_.get());
    begin_from(kCell, cell_state_.get());
    const std::int64_t columns = gates_ * sizes_.units;
    const Product product{.a = x, .b = &weights_.input, .c = sums_.get(), .c_step = columns};
    return multiply({.rows = sizes_.seq * sizes_.batch,
                     .depth = sizes_.width,
                     .columns = columns,
                     .finish = false},
                    {&product, 1}, ws_);
  }

  /// All steps, on the thread that calls.
  void run(std::span<Tensor> outputs) {
    const std::int64_t state = sizes_.batch * sizes_.units;
    float* const y = outputs[0].mutable_data<float>().data();
    const float* h = first_.get();
    for (std::int64_t s = 0; s < sizes_.seq; ++s) {
      const std::int64_t t = reverse_ ? sizes_.seq - 1 - s : s;
      float* const next = y + (t * sizes_.directions + d_) * state;
      step(sums_.get() + t * gates_ * state, h, next);
      h = next;
      ws_.threads.yield();
    }
    const auto put = [&](std::size_t output, const float* from) {
      if (output >= outputs.size()) return;
      canonical_copy(from, outputs[output].mutable_data<float>().data() + d_ * state, state);
    };
    put(1, h);
    put(2, cell_state_.get());
  }

 private:
  void begin_from(Input input, float* to) const {
    const std::int64_t state = sizes_.batch * sizes_.units;
    if (call_.has(input)) {
      std::memcpy(to, call_.in(input).data<float>().data() + d_ * state,
                  static_cast<std::size_t>(state) * sizeof(float));
    } else {
      std::fill_n(to, state, 0.0f);
    }
  }
  void canonical_copy(const float* from, float* to, std::int64_t count) const {
    kernels_.unary[static_cast<std::size_t>(Unary::kStore)](from, to, count, {});
  }
  const float* bias(std::int64_t which) const {
    if (!call_.has(kB)) return nullptr;
    return call_.in(kB).data<float>().data() + (2 * d_ + which) * gates_ * sizes_.units;
  }

  /// c += h * columns, or c = where the chains begin there.
  void product(const float* h, const PackedColumns& with, std::int64_t columns, float* c,
               std::int64_t c_step, bool resume) {
    const bool one = sizes_.batch == 1;  // as it lies
    const Rows rows =
        one ? Rows{h, kernels_.tile_rows, 1}
            : pack_rows(kernels_, h, sizes_.batch, sizes_.units, sizes_.units, 1, panels_.get());
    for (std::int64_t column = 0; column < columns; column += kernels_.tile_columns) {
      GemmPanel g;
      g.columns = static_cast<int>(std::min<std::int64_t>(kernels_.tile_columns, columns - column));
      const Columns b = with.block(0, sizes_.units, column, g.columns, nullptr);
      g.a = rows.data;
      g.a_panel_step = rows.panel_step;
      g.a_step = rows.step;
      g.b = b.data;
      g.b_step = b.step;
      g.c = c + column;
      g.c_step = c_step;
      g.rows = sizes_.batch;
      g.depth = sizes_.units;
      g.resume = resume;
      kernels_.gemm(g);
    }
  }

  void step(float* sums, const float* h, float* next) {
    const std::int64_t columns = gates_ * sizes_.units;
    const std::int64_t apart = cell_ == Cell::kGru ? sizes_.units : 0;
    product(h, weights_.hidden, columns - apart, sums, columns, true);
    if (cell_ == Cell::kGru) gru_candidate(sums, h);
    for (std::int64_t b = 0; b < sizes_.batch; ++b) {
      const CellRow row = row_of(b, sums, h, next);
      (cell_ == Cell::kRnn    ? kernels_.cells.rnn
       : cell_ == Cell::kLstm ? kernels_.cells.lstm
                              : kernels_.cells.gru)(row);
    }
  }
  /// The chains of gate n: over x and r * h, or over h alone.
  void gru_candidate(float* sums, const float* h) {
    const std::int64_t units = sizes_.units, columns = gates_ * units;
    if (linear_before_reset_) product(h, *weights_.candidate, units, apart_.get(), units, false);
    for (std::int64_t b = 0; b < sizes_.batch; ++b) {
      kernels_.cells.gru_reset(row_of(b, sums, h, nullptr));
    }
    if (linear_before_reset_) return;
    product(reset_.get(), *weights_.candidate, units, sums + 2 * units, columns, true);
  }
  CellRow row_of(std::int64_t b, const float* sums, const float* h, float* next) const {
    const std::int64_t at = b * sizes_.units;
    return {.units = sizes_.units,
            .sums = sums + gates_ * at,
            .input_bias = bias(0),
            .hidden_bias = bias(1),
            .before = h + at,
            .hidden_sums = linear_before_reset_ ? apart_.get() + at : nullptr,
            .reset = reset_.get() + at,
            .cell = cell_state_.get() + at,
            .hidden = next == nullptr ? nullptr : next + at};
  }

  const Call& call_;
  Cell cell_;
  Sizes sizes_;
  std::int64_t gates_, d_;
  const Direction& weights_;
  Workspace& ws_;
  const CpuKernels& kernels_;
  bool reverse_ = false, linear_before_reset_ = false;
  std::shared_ptr<float> sums_, cell_state_, reset_, apart_, first_, panels_;
};

core::Result<void> layer(const Call& call, std::span<Tensor> outputs, Workspace& ws, Cell cell,
                         const Judge& judge) {
  COMMENSAL_ASSIGN(const bool is_usual, serves(call));
  if (!is_usual) return judge.best()(call, outputs, ws);
  const Sizes sizes(call);
  if (sizes.seq * sizes.batch == 0) return judge.best()(call, outputs, ws);
  std::shared_ptr<const PackedLayer> made;  // where the weights are not constant
  if (ws.packed == nullptr) made = packed_layer(call, cell, ws.isa);
  const auto& packed = ws.packed == nullptr ? *made : static_cast<const PackedLayer&>(*ws.packed);
  const CpuKernels& kernels = kernels_for(ws.isa);
  const std::int64_t rows = sizes.seq * sizes.batch;
  COMMENSAL_ASSIGN(const auto panels,
                   floats_from(ws.arena, packed_rows_floats(kernels, rows, sizes.width)));
  const Rows x = pack_rows(kernels, call.in(kX).data<float>().data(), rows, sizes.width,
                           sizes.width, 1, panels.get());
  std::vector<Run> runs;
  for (std::int64_t d = 0; d < sizes.directions; ++d) {
    runs.emplace_back(call, cell, packed.directions[static_cast<std::size_t>(d)], d, ws);
    COMMENSAL_TRY(runs.back().prepare(x));
  }
  ws.threads.run(sizes.directions,
                 [&](std::int64_t d) { runs[static_cast<std::size_t>(d)].run(outputs); });
  return {};
}

}  // namespace

core::Result<void> gru(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return layer(call, outputs, ws, Cell::kGru, ref::kGru);
}
core::Result<void> lstm(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return layer(call, outputs, ws, Cell::kLstm, ref::kLstm);
}
core::Result<void> rnn(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return layer(call, outputs, ws, Cell::kRnn, ref::kRnn);
}
core::Result<std::shared_ptr<const Packed>> pack_gru(const Call& call, Isa isa) {
  return pack(call, Cell::kGru, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_lstm(const Call& call, Isa isa) {
  return pack(call, Cell::kLstm, isa);
}
core::Result<std::shared_ptr<const Packed>> pack_rnn(const Call& call, Isa isa) {
  return pack(call, Cell::kRnn, isa);
}

}  // namespace commensal::kernels::cpu
