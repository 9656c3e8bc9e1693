// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/train/adapters.hpp>
#include <commensal/compute/train/weights.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using grad::Maker;
using grad::Value;
using graph::Graph;
using graph::Node;
using graph::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace {

/// Beyond those by which samples are ordered, one an epoch.
constexpr std::uint64_t kFirstStream = std::uint64_t{1} << 62;

template <class T>
Tensor drawn_as(const tensor::Shape& shape, std::uint64_t seed, std::uint64_t stream) {
  const double bound = 1 / std::sqrt(static_cast<double>(shape[1]));
  std::vector<T> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double unit = core::counter_symmetric_f32(seed, stream, i);
    values[i] = static_cast<T>(unit * bound);
  }
  return Tensor::of<T>(shape, values);
}

struct Pair {
  Tensor a, b;
};

Result<Pair> first_pair(const Tensor& weight, const std::string& name, std::int64_t rank,
                        std::uint64_t seed, std::uint64_t stream) {
  const DType dtype = weight.dtype();
  if (weight.shape().rank() < 2 || (dtype != DType::kFloat32 && dtype != DType::kFloat64)) {
    return fail(ErrorCode::kUnsupported,
                "an adapter of '{}', {}: expected float32 or float64 of two dimensions or more",
                name, weight.type().text());
  }
  const std::int64_t rows = weight.shape()[0];
  const std::int64_t columns = rows == 0 ? 0 : weight.shape().elements() / rows;
  if (rank >= std::min(rows, columns)) {
    return fail(ErrorCode::kInvalidArgument,
                "'adapters.rank' is {}, expected less than {}, the rank that '{}' may have", rank,
                std::min(rows, columns), name);
  }
  const tensor::Shape down = {rank, columns};
  COMMENSAL_ASSIGN(const auto up, tensor::Shape::of(std::vector<std::int64_t>{rows, rank}));
  const tensor::TensorType zeros{dtype, up};
  return Pair{dtype == DType::kFloat32 ? drawn_as<float>(down, seed, stream)
                                       : drawn_as<double>(down, seed, stream),
              Tensor::copy_of(zeros, core::Bytes(static_cast<std::size_t>(zeros.bytes())))};
}

void rename(Maker& maker, Value value, const std::string& name) {
  maker.graph().values[static_cast<std::size_t>(value.id)].name = name;
}

Result<std::vector<std::string>> adapted_weights(const Graph& model, const Adapters& adapters,
                                                 const std::string& output) {
  if (!adapters.weights.empty()) return chosen_weights(model, output, adapters.weights);
  COMMENSAL_ASSIGN(auto all, trained_weights(model, output));
  std::erase_if(all, [&](const std::string& name) {
    return initialiser_of(model, name)->shape().rank() < 2;
  });
  if (!all.empty()) return all;
  return fail(ErrorCode::kInvalidArgument, "the model has no weights of two dimensions to adapt");
}

}  // namespace

Result<Adapted> with_adapters(const Graph& model, const Adapters& adapters,
                              const std::vector<tensor::TensorType>& inputs,
                              const std::string& output, std::uint64_t seed) {
  COMMENSAL_ASSIGN(const auto names, adapted_weights(model, adapters, output));
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(model, inputs));
  Maker maker(model, std::move(known));
  Adapted made;
  std::vector<ValueId> weights;
  for (const std::string& name : names) {
    const ValueId weight = weights.emplace_back(initialiser_named(model, name));
    if (weight == graph::kAbsent)
      return fail(ErrorCode::kInvalidArgument, "'adapters': the model has no weight '{}'", name);
    const Tensor& value = model.initialisers.at(weight);
    COMMENSAL_ASSIGN(const Pair pair,
                     first_pair(value, name, adapters.rank, seed, kFirstStream + made.all.size()));
    Adapted::One one{name, name + ".adapter.a", name + ".adapter.b", graph::kAbsent};
    const Value a = maker.constant(pair.a), b = maker.constant(pair.b);
    rename(maker, a, one.a);
    rename(maker, b, one.b);
    const Value product = maker.add("MatMul", {b, a}) * adapters.scale;
    const auto dims = value.shape().dims();
    const Value sum = maker.value(weight) +
                      (dims.size() > 2 ? reshape(product, {dims.begin(), dims.end()}) : product);
    rename(maker, sum, name + ".adapted");
    one.sum = sum.id;
    made.all.push_back(std::move(one));
  }
  COMMENSAL_TRY(maker.state());
  Graph graph = std::move(maker.graph());
  const auto before = static_cast<std::ptrdiff_t>(model.nodes.size());
  made.nodes = graph.nodes.size() - model.nodes.size();
  std::rotate(graph.nodes.begin(), graph.nodes.begin() + before, graph.nodes.end());
  for (std::size_t i = made.nodes; i < graph.nodes.size(); ++i) {
    for (std::size_t k = 0; k < weights.size(); ++k) {
      std::ranges::replace(graph.nodes[i].inputs, weights[k], made.all[k].sum);
      for (graph::Subgraph& inner : graph.nodes[i].subgraphs)
        std::ranges::replace(inner.captures, weights[k], made.all[k].sum);
    }
  }
  made.graph = std::make_shared<const Graph>(std::move(graph));
  return made;
}

Result<std::vector<Checkpoint::Entry>> merged_weights(const Adapted& adapted,
                                                      const std::vector<Checkpoint::Entry>& trained,
                                                      const graph::SessionOptions& options) {
  Graph sums = *adapted.graph;
  sums.nodes.resize(adapted.nodes);
  sums.inputs.clear();
  sums.outputs.clear();
  for (const Adapted::One& one : adapted.all) sums.outputs.push_back(one.sum);
  std::vector<Checkpoint::Entry> made;
  for (const Checkpoint::Entry& entry : trained) {
    const ValueId id = initialiser_named(sums, entry.name);
    const bool is_adapter = std::ranges::any_of(adapted.all, [&](const Adapted::One& one) {
      return one.a == entry.name || one.b == entry.name;
    });
    if (!is_adapter) made.push_back(entry);
    sums.initialisers.at(id) = entry.value;
  }
  COMMENSAL_ASSIGN(auto session,
                   graph::Session::create(std::make_shared<const Graph>(std::move(sums)), options));
  COMMENSAL_ASSIGN(const auto values, session.run({}));
  for (std::size_t i = 0; i < values.size(); ++i)
    made.push_back({adapted.all[i].weight, values[i]});
  return made;
}

}  // namespace commensal::train
