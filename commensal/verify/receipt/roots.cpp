// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/receipt/roots.hpp>

#include <bit>
#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <string_view>
#include <unordered_map>

namespace commensal::receipt {
namespace {

using core::Digest;
using graph::Graph;
using graph::ValueId;
using protocol::Writer;

/// Numbers values by first appearance.
class Numbering {
 public:
  std::uint32_t of(ValueId id) {
    if (id == graph::kAbsent) return 0;
    const auto [place, is_new] = numbers_.try_emplace(id, next_);
    if (is_new) {
      ++next_;
      order_.push_back(id);
    }
    return place->second;
  }
  const std::vector<ValueId>& order() const { return order_; }
  const std::unordered_map<ValueId, std::uint32_t>& all() const { return numbers_; }

 private:
  std::unordered_map<ValueId, std::uint32_t> numbers_;
  std::vector<ValueId> order_;
  std::uint32_t next_ = 1;  // 0 stands for an absent value
};

// One overload per alternative of kernels::Attribute; the index of the alternative goes first.
struct AttributeWriter {
  Writer& writer;
  void operator()(std::int64_t value) { writer.u64(static_cast<std::uint64_t>(value)); }
  void operator()(float value) { writer.u32(std::bit_cast<std::uint32_t>(value)); }
  void operator()(const std::string& value) { writer.text(value); }
  void operator()(const tensor::Tensor& value) { writer.raw(tensor_root(value)); }
  template <class T>
  void operator()(const std::vector<T>& values) {
    writer.u32(static_cast<std::uint32_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }
};

void write_attributes(Writer& writer, const kernels::Attributes& attributes) {
  writer.u32(static_cast<std::uint32_t>(attributes.all().size()));
  for (const auto& [name, value] : attributes.all()) {
    writer.text(name);
    writer.u8(static_cast<std::uint8_t>(value.index()));
    std::visit(AttributeWriter{writer}, value);
  }
}

void write_values(Writer& writer, const std::vector<ValueId>& ids, Numbering& numbers) {
  writer.u32(static_cast<std::uint32_t>(ids.size()));
  for (const ValueId id : ids) writer.u32(numbers.of(id));
}

void write_node(Writer& writer, const graph::Node& node, Numbering& numbers) {
  writer.text(node.op->domain);
  writer.text(node.op->name);
  writer.u32(static_cast<std::uint32_t>(node.opset));
  write_attributes(writer, node.attributes);
  write_values(writer, node.inputs, numbers);
  write_values(writer, node.outputs, numbers);
  for (const graph::Subgraph& subgraph : node.subgraphs) {
    const ModelRoots inner = model_roots(*subgraph.graph);
    writer.text(subgraph.name);
    write_values(writer, subgraph.captures, numbers);
    writer.raw(inner.graph);
    writer.raw(inner.weights);
  }
}

void write_port(Writer& writer, const graph::ValueInfo& value) {
  const graph::Declared& declared = value.declared;
  writer.text(value.name);
  writer.u8(static_cast<std::uint8_t>(declared.dtype));
  for (const graph::Container container : declared.containers) {
    writer.u8(static_cast<std::uint8_t>(0x80 + static_cast<int>(container)));
  }
  writer.u8(declared.ranked ? 1 : 0);
  writer.u32(static_cast<std::uint32_t>(declared.dims.size()));
  for (const std::int64_t dim : declared.dims) writer.u64(static_cast<std::uint64_t>(dim));
}

std::vector<core::Bytes> graph_leaves(const Graph& graph, Numbering& numbers) {
  std::vector<core::Bytes> leaves;
  const auto add_port = [&](ValueId id) {
    Writer writer;
    writer.u32(numbers.of(id));
    write_port(writer, graph.values[static_cast<std::size_t>(id)]);
    leaves.push_back(std::move(writer).take());
  };
  for (const ValueId id : graph.inputs) add_port(id);
  for (const graph::Node& node : graph.nodes) {
    Writer writer;
    write_node(writer, node, numbers);
    leaves.push_back(std::move(writer).take());
  }
  for (const ValueId id : graph.outputs) add_port(id);
  return leaves;
}

Digest root_over(const std::vector<core::Bytes>& leaves) {
  crypto::MerkleBuilder builder;
  for (const core::Bytes& leaf : leaves) builder.add(crypto::leaf_hash(leaf));
  return builder.root();
}

template <class RootOf>
Digest root_of_state(const tensor::NamedTensors& tensors, const RootOf& root_of) {
  crypto::MerkleBuilder leaves;
  for (const tensor::NamedTensor& item : tensors) {
    Writer leaf;
    leaf.text(item.name);
    leaf.raw(root_of(item));
    leaves.add(crypto::leaf_hash(leaf.written()));
  }
  Writer count;
  count.u64(tensors.size());
  return crypto::tagged_hash("commensal/state/v1", count.written(), leaves.root());
}

}  // namespace

Digest elements_root(const tensor::Tensor& tensor) {
  if (tensor.dtype() != tensor::DType::kString) {
    return crypto::merkle_root_of_bytes(tensor.bytes());
  }
  // The protocol's lengths, not those of how strings travel (elements.hpp).
  Writer elements;
  for (const std::string_view text : tensor.strings()) elements.bytes(core::as_bytes(text));
  return crypto::merkle_root_of_bytes(elements.written());
}

Digest tensor_root(const tensor::TensorType& type, const Digest& elements_root) {
  Writer header;
  write(header, type);
  return crypto::tagged_hash("commensal/tensor/v1", header.written(), elements_root);
}

Digest tensor_root(const tensor::Tensor& tensor) {
  return tensor_root(tensor.type(), elements_root(tensor));
}

Digest state_root(const tensor::NamedTensors& tensors) {
  return root_of_state(tensors, [](const auto& item) { return tensor_root(item.value); });
}

Digest taken_root(const tensor::NamedTensors& tensors) {
  return root_of_state(
      tensors, [](const auto& item) { return item.root ? *item.root : tensor_root(item.value); });
}

void take_roots(tensor::NamedTensors& tensors) {
  constexpr std::int64_t kLarge = 64 << 10;
  for (tensor::NamedTensor& item : tensors) {
    if (tensor::held_bytes(item.value) >= kLarge) item.root = tensor_root(item.value);
  }
}

ModelLeaves model_leaves(const Graph& graph) {
  Numbering numbers;
  ModelLeaves leaves;
  leaves.graph = graph_leaves(graph, numbers);
  leaves.inputs = graph.inputs.size();
  leaves.nodes = graph.nodes.size();
  leaves.outputs = graph.outputs.size();
  for (const ValueId id : numbers.order()) {
    const auto found = graph.initialisers.find(id);
    if (found == graph.initialisers.end()) continue;
    Writer leaf;
    leaf.u32(numbers.of(id));
    leaf.raw(tensor_root(found->second));
    leaves.weights.push_back(std::move(leaf).take());
  }
  leaves.numbers = numbers.all();
  return leaves;
}

ModelRoots model_roots(const ModelLeaves& leaves) {
  Writer sizes;
  sizes.u64(leaves.inputs);
  sizes.u64(leaves.nodes);
  sizes.u64(leaves.outputs);
  Writer count;
  count.u64(leaves.weights.size());
  return {crypto::tagged_hash("commensal/graph/v1", sizes.written(), root_over(leaves.graph)),
          crypto::tagged_hash("commensal/weights/v1", count.written(), root_over(leaves.weights))};
}

ModelRoots model_roots(const Graph& graph) { return model_roots(model_leaves(graph)); }

}  // namespace commensal::receipt
