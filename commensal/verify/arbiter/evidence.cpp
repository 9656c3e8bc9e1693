// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/arbiter/evidence.hpp>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using core::fail;
using protocol::Reader;
using protocol::Writer;

template <class... Args>
tl::unexpected<core::Error> unproven(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kDataLoss, format, std::forward<Args>(args)...);
}

// A leaf that begins with the number of a value, and the text that follows.
struct Port {
  std::uint32_t number = 0;
  std::string name;
};
core::Result<Port> decode_port(ByteView leaf) {
  Reader reader(leaf, "port");
  Port port;
  port.number = reader.u32();
  port.name = reader.text();
  COMMENSAL_TRY(reader.status());
  return port;
}

core::Result<void> check_graph_leaf(const LeafProof& proof, std::uint64_t index,
                                    const Ground& ground) {
  const GraphSizes& s = ground.sizes;
  const std::uint64_t count = s.inputs + s.nodes + s.outputs;
  if (proof.index != index || proof.count != count) {
    return unproven("leaf {} of {} of the graph, expected {} of {}", proof.index, proof.count,
                    index, count);
  }
  COMMENSAL_ASSIGN(const Digest tree, root_of(proof));
  if (graph_root(s, tree) != ground.graph_root) return unproven("it is no part of the job's graph");
  return {};
}

core::Result<void> check_input(const TensorProof& proof, const Ground& ground) {
  if (proof.maker.index >= ground.sizes.inputs) return unproven("it is no input of the graph");
  COMMENSAL_TRY(check_graph_leaf(proof.maker, proof.maker.index, ground));
  COMMENSAL_ASSIGN(const Port port, decode_port(proof.maker.leaf));
  Reader reader(proof.holder.leaf, "input state");
  const std::string name(reader.text());
  Digest root{};
  read_raw(reader, root);
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_ASSIGN(const Digest tree, root_of(proof.holder));
  if (port.number != proof.number || proof.output != 0 || port.name != name ||
      root != tensor_root(proof.facts) || proof.holder.index != proof.maker.index ||
      proof.holder.count != ground.sizes.inputs ||
      counted_root("commensal/state/v1", proof.holder.count, tree) != ground.input_root) {
    return unproven("it is no part of the input state");
  }
  return {};
}

core::Result<void> check_weight(const TensorProof& proof, const Ground& ground) {
  Reader reader(proof.holder.leaf, "weights");
  const std::uint32_t number = reader.u32();
  Digest root{};
  read_raw(reader, root);
  COMMENSAL_TRY(reader.finish());
  COMMENSAL_ASSIGN(const Digest tree, root_of(proof.holder));
  if (number != proof.number || root != tensor_root(proof.facts) || proof.output != 0 ||
      proof.maker != LeafProof() ||
      counted_root("commensal/weights/v1", proof.holder.count, tree) != ground.weight_root) {
    return unproven("it is no part of the job's weights");
  }
  return {};
}

core::Result<void> check_made(const TensorProof& proof, const Ground& ground) {
  const std::uint64_t first = segment_first(ground.sizes.nodes, ground.segment);
  const std::uint64_t count = segment_first(ground.sizes.nodes, ground.segment + 1) - first;
  if (proof.holder.count != count || proof.holder.index >= count ||
      first + proof.holder.index >= ground.node_limit) {
    return unproven("leaf {} of {} of the segment, expected one before node {}", proof.holder.index,
                    proof.holder.count, ground.node_limit);
  }
  const std::uint64_t node = first + proof.holder.index;
  COMMENSAL_ASSIGN(const NodeText text, check_node(proof.maker, node, ground));
  COMMENSAL_ASSIGN(const TraceLeaf leaf, decode_trace_leaf(proof.holder.leaf));
  COMMENSAL_ASSIGN(const Digest root, root_of(proof.holder));
  const bool fits = proof.output < text.outputs.size() &&
                    text.outputs[proof.output] == proof.number &&
                    proof.output < leaf.outputs.size() && leaf.node == node &&
                    leaf.outputs[proof.output] == proof.facts;
  if (!fits || std::ranges::find(ground.segments, root) == ground.segments.end()) {
    return unproven("it is no part of the segment");
  }
  return {};
}

core::Result<void> check_carried(const TensorProof& proof, const Ground& ground) {
  if (!ground.checkpoint || proof.holder.index != *ground.checkpoint ||
      proof.holder.count != segment_count(ground.sizes.nodes)) {
    return unproven("checkpoint {} holds no values here", proof.holder.index);
  }
  COMMENSAL_ASSIGN(const CheckpointLeaf leaf, decode_checkpoint(proof.holder.leaf));
  COMMENSAL_ASSIGN(const Digest root, root_of(proof.holder));
  const CheckpointLeaf::Entry wanted{proof.number, proof.facts};
  const bool fits = std::ranges::find(leaf.live, wanted) != leaf.live.end() && proof.output == 0 &&
                    proof.maker == LeafProof();
  if (!fits || std::ranges::find(ground.traces, root) == ground.traces.end()) {
    return unproven("it is no part of the checkpoint");
  }
  return {};
}

constexpr core::Result<void> (*kChecks[])(const TensorProof&, const Ground&) = {
    check_input, check_weight, check_made, check_carried};

}  // namespace

std::span<const std::string_view> enum_names(Origin) {
  static constexpr std::string_view kNames[] = {"input", "weight", "node", "checkpoint"};
  return kNames;
}

Digest graph_root(const GraphSizes& sizes, const Digest& tree_root) {
  Writer writer;
  writer.u64(sizes.inputs);
  writer.u64(sizes.nodes);
  writer.u64(sizes.outputs);
  return crypto::tagged_hash("commensal/graph/v1", writer.written(), tree_root);
}

Digest counted_root(std::string_view tag, std::uint64_t count, const Digest& tree_root) {
  Writer writer;
  writer.u64(count);
  return crypto::tagged_hash(tag, writer.written(), tree_root);
}

void write(Writer& writer, const TensorProof& proof) {
  protocol::write(writer, proof.origin);
  writer.u32(proof.number);
  writer.u32(proof.output);
  write(writer, proof.facts);
  write(writer, proof.maker);
  write(writer, proof.holder);
}
void read(Reader& reader, TensorProof& proof) {
  protocol::read(reader, proof.origin);
  proof.number = reader.u32();
  proof.output = reader.u32();
  read(reader, proof.facts);
  read(reader, proof.maker);
  read(reader, proof.holder);
}

void write(Writer& writer, const OutputProof& proof) {
  write(writer, proof.port);
  write(writer, proof.tensor);
}
void read(Reader& reader, OutputProof& proof) {
  read(reader, proof.port);
  read(reader, proof.tensor);
}

void write(Writer& writer, const NodeFacts& facts) {
  writer.u64(facts.sizes.inputs);
  writer.u64(facts.sizes.nodes);
  writer.u64(facts.sizes.outputs);
  write(writer, facts.node);
  protocol::write(writer, facts.inputs);
  protocol::write(writer, facts.lists);
}
void read(Reader& reader, NodeFacts& facts) {
  facts.sizes.inputs = reader.u64();
  facts.sizes.nodes = reader.u64();
  facts.sizes.outputs = reader.u64();
  read(reader, facts.node);
  protocol::read(reader, facts.inputs);
  protocol::read(reader, facts.lists);
}

core::Result<void> check_tensor(const TensorProof& proof, std::uint32_t number,
                                const Ground& ground) {
  if (proof.number != number || number == 0) {
    return unproven("value {}, expected {}", proof.number, number);
  }
  const auto checked = kChecks[static_cast<std::size_t>(proof.origin)](proof, ground);
  if (!checked) return core::in_context(fmt::format("value {}", number), checked.error());
  return {};
}

core::Result<NodeText> check_node(const LeafProof& proof, std::uint64_t index,
                                  const Ground& ground) {
  COMMENSAL_TRY(check_graph_leaf(proof, ground.sizes.inputs + index, ground));
  return decode_node(proof.leaf);
}

core::Result<Digest> check_outputs(std::span<const OutputProof> proofs, const Ground& ground) {
  if (proofs.size() != ground.sizes.outputs || proofs.empty()) {
    return unproven("{} outputs, expected {}", proofs.size(), ground.sizes.outputs);
  }
  crypto::MerkleBuilder leaves;
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    const std::uint64_t place = ground.sizes.inputs + ground.sizes.nodes + i;
    COMMENSAL_TRY(check_graph_leaf(proofs[i].port, place, ground));
    COMMENSAL_ASSIGN(const Port port, decode_port(proofs[i].port.leaf));
    COMMENSAL_TRY(check_tensor(proofs[i].tensor, port.number, ground));
    Writer leaf;
    leaf.text(port.name);
    leaf.raw(tensor_root(proofs[i].tensor.facts));
    leaves.add(crypto::leaf_hash(leaf.written()));
  }
  return counted_root("commensal/state/v1", proofs.size(), leaves.root());
}

namespace {

// Elements of a list that was shown with its tensor.
core::Result<std::optional<std::vector<std::int64_t>>> check_list(const Bytes& bytes,
                                                                  const TensorFacts& facts) {
  using List = std::vector<std::int64_t>;
  if (!is_list(facts.type)) {
    if (bytes.empty()) return std::optional<List>();
    return unproven("a list of {}", facts.type.text());
  }
  const auto elements = static_cast<std::uint64_t>(facts.type.elements());
  if (bytes.size() != elements * element_bytes(facts.type.dtype) ||
      crypto::merkle_root_of_bytes(bytes) != facts.bytes_root) {
    return unproven("a list that is not what its root says");
  }
  return std::optional<List>(list_in(bytes, facts.type));
}

}  // namespace

Bytes list_of_attribute(const Shaped& type, ByteView elements) {
  Writer writer;
  write(writer, type);
  writer.bytes(elements);
  return std::move(writer).take();
}

core::Result<std::map<std::string, Listed, std::less<>>> check_attributes(
    const NodeText& node, std::span<const Bytes> lists) {
  std::map<std::string, Listed, std::less<>> made;
  std::size_t next = 0;
  for (const auto& [name, value] : node.attributes) {
    const Digest* root = std::get_if<Digest>(&value);
    if (root == nullptr) continue;
    if (next >= lists.size()) return unproven("attribute '{}' has no list", name);
    const Bytes& shown = lists[next++];
    if (shown.empty()) continue;
    Reader reader(shown, "attribute");
    Listed one;
    read(reader, one.type);
    const ByteView elements = reader.bytes(limits::kDisputeLeafBytesMax);
    COMMENSAL_TRY(reader.finish());
    const auto size =
        static_cast<std::uint64_t>(one.type.elements()) * element_bytes(one.type.dtype);
    if (!is_list(one.type) || elements.size() != size ||
        tensor_root({one.type, crypto::merkle_root_of_bytes(elements)}) != *root) {
      return unproven("attribute '{}' is not what its root says", name);
    }
    one.elements = list_in(elements, one.type);
    made.emplace(name, std::move(one));
  }
  if (next != lists.size()) return unproven("a list too many");
  return made;
}

core::Result<KnownCall> check_facts(const NodeFacts& facts, std::uint64_t index,
                                    const Ground& ground) {
  if (facts.sizes != ground.sizes) return unproven("another size of the graph than was claimed");
  KnownCall known;
  COMMENSAL_ASSIGN(known.call.node, check_node(facts.node, index, ground));
  if (facts.lists.size() < facts.inputs.size()) {
    return unproven("a list for each input is expected");
  }
  COMMENSAL_ASSIGN(
      known.call.tensors,
      check_attributes(known.call.node, std::span(facts.lists).subspan(facts.inputs.size())));
  std::size_t next = 0;
  for (const std::uint32_t number : known.call.node.inputs) {
    TensorFacts input;
    std::optional<std::vector<std::int64_t>> list;
    if (number != 0) {
      if (next >= facts.inputs.size()) return unproven("an input is missing");
      const TensorProof& proof = facts.inputs[next];
      COMMENSAL_TRY(check_tensor(proof, number, ground));
      COMMENSAL_ASSIGN(list, check_list(facts.lists[next], proof.facts));
      input = proof.facts;
      ++next;
    }
    known.call.inputs.push_back(input.type);
    known.call.lists.push_back(std::move(list));
    known.inputs.push_back(std::move(input));
  }
  if (next != facts.inputs.size()) return unproven("an input too many");
  return known;
}

}  // namespace commensal::arbiter
