// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/compute/grad/testing/case.hpp>

namespace commensal::grad::testing {

using graph::Backend;
using graph::Session;
using graph::SessionOptions;

Attributes with(std::initializer_list<Attributes::Named> all) {
  Attributes made;
  for (const auto& [name, value] : all) made.set(name, value);
  return made;
}

Dims Case::dims(int rank, std::int64_t most) {
  Dims made;
  for (int i = 0; i < rank; ++i) made.push_back(draw_.number(1, most));
  return made;
}

std::vector<float> Case::random(const Dims& dims, float least, float most) {
  std::vector<float> made(static_cast<std::size_t>(tensor::Shape::of(dims)->elements()));
  for (float& value : made) value = draw_.real(least, most);
  return made;
}

Tensor Case::tensor_of(const Dims& dims, const std::vector<float>& values) const {
  const auto shape = *tensor::Shape::of(dims);
  if (form_ == Form::kNarrow) return Tensor::of<float>(shape, values);
  return Tensor::of<double>(shape, std::vector<double>(values.begin(), values.end()));
}

ValueId Case::in(const Dims& dims, float least, float most) {
  inputs_.push_back(tensor_of(dims, random(dims, least, most)));
  return maker_.input(dims, dtype());
}

ValueId Case::constant_of(const Dims& dims, const std::vector<float>& values) {
  return maker_.constant(tensor_of(dims, values));
}

ValueId Case::fixed(const Dims& dims, float least, float most) {
  return constant_of(dims, random(dims, least, most));
}

ValueId Case::integers(const Dims& dims, const std::vector<std::int64_t>& values) {
  return maker_.constant(Tensor::of<std::int64_t>(*tensor::Shape::of(dims), values));
}

ValueId Case::random_integers(const Dims& dims, std::int64_t most) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor::Shape::of(dims)->elements()));
  for (std::int64_t& value : values) value = draw_.number(0, most);
  return integers(dims, values);
}

core::Result<void> Case::finish(const std::vector<ValueId>& outputs) {
  std::vector<tensor::TensorType> types;
  for (const Tensor& input : inputs_) types.push_back(input.type());
  COMMENSAL_ASSIGN(const auto known, graph::optimise::known_of(maker_.graph(), types));
  for (const ValueId output : outputs) {
    const auto& type = known.types[static_cast<std::size_t>(output)];
    core::check(type.has_value(), "a recipe's types are known");
    const ValueId each = fixed({type->shape.dims().begin(), type->shape.dims().end()}, 0.25f, 1);
    const ValueId part =
        op("ReduceSum", {op("Mul", {output, each})}, with({{"keepdims", integer(0)}}));
    loss_ = loss_ == graph::kAbsent ? part : op("Add", {loss_, part});
  }
  maker_.output(loss_);
  return {};
}

Wanted Case::wanted() {
  Wanted made;
  for (const Tensor& input : inputs_) made.inputs.push_back(input.type());
  made.loss = graph().name_of(loss_);
  for (const ValueId id : graph().inputs) made.weights.push_back(graph().name_of(id));
  return made;
}

namespace {

std::vector<double> values_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat64)
    return {tensor.data<double>().begin(), tensor.data<double>().end()};
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}

std::vector<Tensor> run(const std::shared_ptr<const graph::Graph>& graph,
                        const std::vector<Tensor>& inputs, const SessionOptions& options) {
  auto session = Session::create(graph, options);
  EXPECT_TRUE(session) << session.error().message;
  auto made = session ? session->run(inputs) : std::vector<Tensor>();
  EXPECT_TRUE(made) << made.error().message;
  return made ? *std::move(made) : std::vector<Tensor>();
}

/// dL/dx of every element of every input.
std::vector<std::vector<double>> differences(Case& written) {
  constexpr double kStep = 1e-5;
  const auto graph = std::make_shared<const graph::Graph>(written.graph());
  auto session = Session::create(graph, {.backend = Backend::kRef});
  EXPECT_TRUE(session) << session.error().message;
  std::vector<std::vector<double>> all;
  if (!session) return all;
  for (std::size_t i = 0; i < written.inputs().size(); ++i) {
    std::vector<double>& slopes = all.emplace_back();
    const std::vector<double> at = values_of(written.inputs()[i]);
    for (std::size_t e = 0; e < at.size(); ++e) {
      double losses[2] = {};
      for (const int side : {0, 1}) {
        std::vector<double> moved = at;
        moved[e] += side == 0 ? -kStep : kStep;
        std::vector<Tensor> inputs = written.inputs();
        inputs[i] = Tensor::of<double>(inputs[i].shape(), moved);
        const auto made = session->run(inputs);
        EXPECT_TRUE(made) << made.error().message;
        if (!made) return all;
        losses[side] = made->front().data<double>()[0];
      }
      slopes.push_back((losses[1] - losses[0]) / (2 * kStep));
    }
  }
  return all;
}

void expect_near(const std::vector<Tensor>& outputs,
                 const std::vector<std::vector<double>>& expected, double tolerance) {
  ASSERT_EQ(outputs.size(), expected.size() + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::vector<double> got = values_of(outputs[i + 1]);
    ASSERT_EQ(got.size(), expected[i].size()) << "input " << i;
    double largest = 0;
    for (const double value : expected[i]) largest = std::max(largest, std::abs(value));
    for (std::size_t e = 0; e < got.size(); ++e) {
      ASSERT_NEAR(got[e], expected[i][e], tolerance * (1 + largest))
          << "input " << i << ", element " << e;
    }
  }
}

void expect_equal_everywhere(const std::shared_ptr<const graph::Graph>& graph,
                             const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& expected) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (int threads = 1; threads <= 4; ++threads) {
      const auto got = run(graph, inputs, {.isa = isa, .threads = threads});
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t o = 0; o < got.size(); ++o) {
        ASSERT_EQ(got[o].type(), expected[o].type());
        ASSERT_TRUE(std::ranges::equal(got[o].bytes(), expected[o].bytes()))
            << "output " << o << " on " << kernels::name_of(isa) << ", threads " << threads;
      }
    }
  }
}

}  // namespace

void check(const Recipe& recipe) {
  for (int seed = 0; seed < recipe.seeds; ++seed) {
    SCOPED_TRACE(fmt::format("{}, seed {}", recipe.name, seed));
    const auto write = [&](Case& made) {
      const auto done = made.finish(recipe.write(made));
      EXPECT_TRUE(done) << done.error().message;
      return done.has_value();
    };
    const auto id = static_cast<std::uint64_t>(seed);
    Case reference(id, Case::Form::kReference), narrow(id, Case::Form::kNarrow);
    ASSERT_TRUE(write(reference) && write(narrow));
    const auto expected = differences(reference);
    if (recipe.is_wide) {
      Case wide(id, Case::Form::kWide);
      ASSERT_TRUE(write(wide));
      const auto graph = with_gradients(wide.graph(), wide.wanted());
      ASSERT_TRUE(graph) << graph.error().message;
      expect_near(run(*graph, wide.inputs(), {.backend = Backend::kRef}), expected, 1e-6);
    }
    const auto graph = with_gradients(narrow.graph(), narrow.wanted());
    ASSERT_TRUE(graph) << graph.error().message;
    const auto made = run(*graph, narrow.inputs(), {.backend = Backend::kRef});
    expect_near(made, expected, recipe.tolerance);
    expect_equal_everywhere(*graph, narrow.inputs(), made);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace commensal::grad::testing
