// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/train/memory.hpp>

namespace commensal::train {

using core::Result;
using grad::Maker;
using grad::Value;
using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;
using tensor::TensorType;

namespace {

/// From the graph of a part to that of the whole.
using Places = std::map<ValueId, ValueId>;

void translate(std::vector<ValueId>& ids, const Places& to) {
  for (ValueId& id : ids) id = id == kAbsent ? kAbsent : to.at(id);
}

/// What all parts share: the weights, and what is constant.
Places add_shared(Maker& maker, const Graph& part, const std::vector<TensorType>& types,
                  std::size_t first) {
  Places made;
  for (std::size_t i = first; i < part.inputs.size(); ++i)
    made[part.inputs[i]] = maker.input(part.name_of(part.inputs[i]), types[i]).id;
  for (const auto& [id, value] : part.initialisers) {
    made[id] = maker.constant(value).id;
    maker.graph().values.back().name = part.name_of(id);
  }
  return made;
}

void add_part(Maker& maker, const Graph& part, const graph::optimise::Known& known,
              std::int64_t number, Places& places) {
  for (const Node& node : part.nodes) {
    Node made = node;
    made.name = fmt::format("{}.part{}", node.name, number);
    translate(made.inputs, places);
    for (graph::Subgraph& inner : made.subgraphs) translate(inner.captures, places);
    for (const ValueId id : node.outputs) {
      if (id == kAbsent) continue;
      const auto& type = known.types[static_cast<std::size_t>(id)];
      const TensorType any{tensor::DType::kFloat32, {}};  // nothing that is added reads it
      places[id] = maker.fresh("part", type ? *type : any);
    }
    translate(made.outputs, places);
    maker.graph().nodes.push_back(std::move(made));
  }
}

}  // namespace

std::vector<TensorType> opened_types(const Graph& gradients,
                                     const std::vector<TensorType>& inputs) {
  std::vector<TensorType> types = inputs;
  for (std::size_t i = inputs.size(); i < gradients.inputs.size(); ++i) {
    const auto& value = gradients.values[static_cast<std::size_t>(gradients.inputs[i])];
    types.push_back(*value.declared.type());
  }
  return types;
}

Result<std::shared_ptr<const Graph>> accumulated(const Graph& gradients, const Parts& parts) {
  const auto types = opened_types(gradients, parts.part);
  COMMENSAL_ASSIGN(const auto known, graph::optimise::known_of(gradients, types));
  Graph empty;
  empty.name = gradients.name;
  Maker maker(std::move(empty), {});
  const std::size_t first = parts.batch.size();
  std::vector<Value> batch, sums(1 + parts.weights);
  for (std::size_t i = 0; i < first; ++i)
    batch.push_back(maker.input(gradients.name_of(gradients.inputs[i]), parts.batch[i]));
  const Places shared = add_shared(maker, gradients, types, first);
  const auto loss = std::ranges::find_if(
      gradients.outputs, [&](ValueId id) { return gradients.name_of(id) == parts.loss; });
  core::check(loss != gradients.outputs.end(), "the loss is an output");
  std::vector<ValueId> outputs = {*loss};
  outputs.insert(outputs.end(),
                 gradients.outputs.end() - static_cast<std::ptrdiff_t>(parts.weights),
                 gradients.outputs.end());
  for (std::int64_t part = 0; part < parts.count; ++part) {
    Places places = shared;
    for (std::size_t i = 0; i < first; ++i) {
      const std::int64_t size = parts.part[i].shape[0];
      const Value own = slice(batch[i], {part * size}, {(part + 1) * size}, {0});
      places[gradients.inputs[i]] = own.id;
    }
    add_part(maker, gradients, known, part + 1, places);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Value one = maker.value(places.at(outputs[i]));
      sums[i] = part == 0 ? one : sums[i] + one;
    }
  }
  for (Value& sum : sums) {
    sum = sum / static_cast<double>(parts.count);
    maker.graph().outputs.push_back(sum.id);
  }
  COMMENSAL_TRY(maker.state());
  maker.graph().values[static_cast<std::size_t>(sums[0].id)].name = parts.loss;
  return std::make_shared<const Graph>(std::move(maker.graph()));
}

}  // namespace commensal::train
