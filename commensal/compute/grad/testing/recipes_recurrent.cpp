// SPDX-License-Identifier: Apache-2.0
// Recurrent layers against their equations, written out gate by gate.
#include <commensal/compute/grad/testing/recipes.hpp>

namespace commensal::grad::testing {
namespace {

constexpr std::int64_t kSteps = 3, kBatch = 2, kWidth = 3, kUnits = 2;

/// One direction's weights, and what a cell is made of.
struct Cells {
  Case& c;
  ValueId w, r, b, peephole = graph::kAbsent;
  std::int64_t gates = 1;

  ValueId part(ValueId x, std::int64_t from, std::int64_t to, std::int64_t axis) const {
    return c.op("Slice",
                {x, c.integers({1}, {from}), c.integers({1}, {to}), c.integers({1}, {axis})});
  }
  ValueId flat(ValueId x, const Dims& dims) const {
    return c.op("Reshape", {x, c.integers({static_cast<std::int64_t>(dims.size())}, dims)});
  }
  ValueId add(ValueId x, ValueId y) const { return c.op("Add", {x, y}); }
  ValueId mul(ValueId x, ValueId y) const { return c.op("Mul", {x, y}); }
  ValueId less_than_one(ValueId x) const { return c.op("Sub", {c.number(1), x}); }
  /// Rows of gate `gate` of W or R, turned.
  ValueId rows(ValueId all, std::int64_t d, std::int64_t gate, std::int64_t width) const {
    const ValueId one = flat(part(all, d, d + 1, 0), {gates * kUnits, width});
    return c.op("Transpose", {part(one, gate * kUnits, (gate + 1) * kUnits, 0)});
  }
  ValueId bias(std::int64_t d, std::int64_t which, std::int64_t gate) const {
    const std::int64_t at = (which * gates + gate) * kUnits;
    return flat(part(part(b, d, d + 1, 0), at, at + kUnits, 1), {kUnits});
  }
  ValueId of_input(ValueId x, std::int64_t d, std::int64_t gate) const {
    return add(c.op("MatMul", {x, rows(w, d, gate, kWidth)}), bias(d, 0, gate));
  }
  ValueId of_hidden(ValueId h, std::int64_t d, std::int64_t gate) const {
    return add(c.op("MatMul", {h, rows(r, d, gate, kUnits)}), bias(d, 1, gate));
  }
  ValueId sum(ValueId x, ValueId h, std::int64_t d, std::int64_t gate) const {
    return add(of_input(x, d, gate), of_hidden(h, d, gate));
  }
  ValueId look(std::int64_t gate, std::int64_t d, ValueId cell) const {
    return mul(cell, flat(part(part(peephole, d, d + 1, 0), gate * kUnits, (gate + 1) * kUnits, 1),
                          {kUnits}));
  }
  ValueId moment(ValueId x, std::int64_t t) const {
    return flat(part(x, t, t + 1, 0), {kBatch, kWidth});
  }
};

Cells cells_of(Case& c, std::int64_t directions, std::int64_t gates) {
  const ValueId w = c.in({directions, gates * kUnits, kWidth}, -1, 1);
  const ValueId r = c.in({directions, gates * kUnits, kUnits}, -1, 1);
  return {c, w, r, c.in({directions, 2 * gates * kUnits}, -1, 1), graph::kAbsent, gates};
}

ValueId joined(Case& c, const std::vector<ValueId>& all, std::int64_t axis) {
  return c.op("Concat", all, with({{"axis", axis}}));
}

void of_lstm(Recipes& all) {
  all.add(
      {"LSTM, both ways, peepholes",
       [](Case& c) {
         const ValueId x = c.in({kSteps, kBatch, kWidth}, -1, 1);
         Cells cells = cells_of(c, 2, 4);
         const ValueId h0 = c.in({2, kBatch, kUnits}), c0 = c.in({2, kBatch, kUnits});
         cells.peephole = c.in({2, 3 * kUnits}, -1, 1);
         if (!c.is_reference()) {
           return c.ops(
               "LSTM", {x, cells.w, cells.r, cells.b, graph::kAbsent, h0, c0, cells.peephole}, 3,
               with({{"hidden_size", kUnits}, {"direction", std::string("bidirectional")}}), 14);
         }
         std::vector<ValueId> ys, hs, cs;
         for (std::int64_t d = 0; d < 2; ++d) {
           ValueId h = cells.flat(cells.part(h0, d, d + 1, 0), {kBatch, kUnits});
           ValueId cell = cells.flat(cells.part(c0, d, d + 1, 0), {kBatch, kUnits});
           std::vector<ValueId> moments(kSteps);
           for (std::int64_t s = 0; s < kSteps; ++s) {
             const std::int64_t t = d == 0 ? s : kSteps - 1 - s;
             const ValueId now = cells.moment(x, t);
             const auto gate = [&](std::int64_t which, ValueId seen) {
               return c.op("Sigmoid",
                           {cells.add(cells.sum(now, h, d, which), cells.look(which, d, seen))});
             };
             const ValueId i = gate(0, cell), f = gate(2, cell);
             const ValueId g = c.op("Tanh", {cells.sum(now, h, d, 3)});
             cell = cells.add(cells.mul(f, cell), cells.mul(i, g));
             h = cells.mul(gate(1, cell), c.op("Tanh", {cell}));
             moments[static_cast<std::size_t>(t)] = cells.flat(h, {1, 1, kBatch, kUnits});
           }
           ys.push_back(joined(c, moments, 0));
           hs.push_back(cells.flat(h, {1, kBatch, kUnits}));
           cs.push_back(cells.flat(cell, {1, kBatch, kUnits}));
         }
         return std::vector{joined(c, ys, 1), joined(c, hs, 0), joined(c, cs, 0)};
       },
       false},
      2);
}

void of_gru(Recipes& all) {
  for (const std::int64_t linear : {0, 1}) {
    all.add({fmt::format("GRU, linear_before_reset {}, batch first", linear),
             [=](Case& c) {
               const ValueId x = c.in({kBatch, kSteps, kWidth}, -1, 1);
               const Cells cells = cells_of(c, 1, 3);
               if (!c.is_reference()) {
                 return c.ops("GRU", {x, cells.w, cells.r, cells.b}, 2,
                              with({{"hidden_size", kUnits},
                                    {"layout", integer(1)},
                                    {"linear_before_reset", linear}}),
                              14);
               }
               const ValueId along = c.op("Transpose", {x}, with({{"perm", Dims{1, 0, 2}}}));
               ValueId h =
                   c.op("Cast", {c.integers({kBatch, kUnits}, std::vector<std::int64_t>(4))},
                        with({{"to", integer(11)}}));
               std::vector<ValueId> moments;
               for (std::int64_t t = 0; t < kSteps; ++t) {
                 const ValueId now = cells.moment(along, t);
                 const ValueId z = c.op("Sigmoid", {cells.sum(now, h, 0, 0)});
                 const ValueId r = c.op("Sigmoid", {cells.sum(now, h, 0, 1)});
                 const ValueId inner = linear != 0 ? cells.mul(r, cells.of_hidden(h, 0, 2))
                                                   : cells.of_hidden(cells.mul(r, h), 0, 2);
                 const ValueId n = c.op("Tanh", {cells.add(cells.of_input(now, 0, 2), inner)});
                 h = cells.add(cells.mul(cells.less_than_one(z), n), cells.mul(z, h));
                 moments.push_back(cells.flat(h, {kBatch, 1, 1, kUnits}));
               }
               return std::vector{joined(c, moments, 1), cells.flat(h, {kBatch, 1, kUnits})};
             },
             false},
            2);
  }
}

void of_rnn(Recipes& all) {
  all.add({"RNN, backwards, of several lengths",
           [](Case& c) {
             const ValueId x = c.in({kSteps, kBatch, kWidth}, -1, 1);
             const Cells cells = cells_of(c, 1, 1);
             const ValueId h0 = c.in({1, kBatch, kUnits});
             if (!c.is_reference()) {
               const ValueId lengths =
                   c.op("Cast", {c.integers({kBatch}, {2, 3})}, with({{"to", integer(6)}}));
               return c.ops("RNN", {x, cells.w, cells.r, cells.b, lengths, h0}, 2,
                            with({{"hidden_size", kUnits},
                                  {"direction", std::string("reverse")},
                                  {"activations", std::vector<std::string>{"Softsign"}}}),
                            14);
             }
             std::vector<ValueId> ys, last;
             for (std::int64_t n = 0; n < kBatch; ++n) {
               ValueId h = cells.part(cells.flat(h0, {kBatch, kUnits}), n, n + 1, 0);
               std::vector<ValueId> moments(kSteps);
               for (std::int64_t t = kSteps - 1; t >= 0; --t) {
                 auto& made = moments[static_cast<std::size_t>(t)];
                 if (t >= 2 + n) {
                   made = c.op("Mul", {cells.flat(h, {1, 1, 1, kUnits}), c.number(0)});
                   continue;
                 }
                 const ValueId now = cells.part(cells.moment(x, t), n, n + 1, 0);
                 h = c.op("Softsign", {cells.sum(now, h, 0, 0)});
                 made = cells.flat(h, {1, 1, 1, kUnits});
               }
               ys.push_back(joined(c, moments, 0));
               last.push_back(cells.flat(h, {1, 1, kUnits}));
             }
             return std::vector{joined(c, ys, 2), joined(c, last, 1)};
           },
           false},
          2);
}

}  // namespace

void add_recurrent(Recipes& all) {
  of_lstm(all);
  of_gru(all);
  of_rnn(all);
}

}  // namespace commensal::grad::testing
