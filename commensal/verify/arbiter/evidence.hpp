// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/verify/arbiter/program.hpp>

/// Proofs that tie a tensor or a node to what was signed. Pure functions.
namespace commensal::arbiter {

/// How many inputs, nodes and outputs a graph has: part of its root.
struct GraphSizes {
  std::uint64_t inputs = 0, nodes = 0, outputs = 0;
  bool operator==(const GraphSizes&) const = default;
};
/// H("commensal/graph/v1", sizes | tree root).
Digest graph_root(const GraphSizes& sizes, const Digest& tree_root);
/// H("commensal/state/v1" or "commensal/weights/v1", count | tree root).
Digest counted_root(std::string_view tag, std::uint64_t count, const Digest& tree_root);

/// Where a value comes from.
enum class Origin : std::uint8_t { kInput, kWeight, kNode, kCheckpoint };
std::span<const std::string_view> enum_names(Origin);

/// What a value is: the root's parts of its tensor, and who holds that.
struct TensorProof {
  Origin origin = Origin::kInput;
  std::uint32_t number = 0;  // of the value
  std::uint32_t output = 0;  // kNode: which of the node's
  TensorFacts facts;
  LeafProof maker;   // kInput: the graph's leaf of the input; kNode: that of the node
  LeafProof holder;  // leaf of the input state, of the weights, of a segment, or a checkpoint
};
void write(protocol::Writer& writer, const TensorProof& proof);
void read(protocol::Reader& reader, TensorProof& proof);

/// What proofs are held against.
struct Ground {
  Digest graph_root{}, weight_root{}, input_root{};
  GraphSizes sizes;
  // Roots of both sides; a proof may lead to any.
  std::vector<Digest> traces, segments;
  std::uint64_t segment = 0;                // which one the segments are
  std::uint64_t node_limit = 0;             // only nodes of it before this one
  std::optional<std::uint64_t> checkpoint;  // the one that may hold values
};
/// That value `number` is a tensor of these facts. Error: kDataLoss, naming what does not fit.
core::Result<void> check_tensor(const TensorProof& proof, std::uint32_t number,
                                const Ground& ground);
/// The node at `index` of the graph. Error: kDataLoss, or of decode_node.
core::Result<NodeText> check_node(const LeafProof& proof, std::uint64_t index,
                                  const Ground& ground);

/// An output of the graph: its port and its tensor.
struct OutputProof {
  LeafProof port;
  TensorProof tensor;
};
void write(protocol::Writer& writer, const OutputProof& proof);
void read(protocol::Reader& reader, OutputProof& proof);
/// The state root of all outputs of the graph. Error: kDataLoss.
core::Result<Digest> check_outputs(std::span<const OutputProof> proofs, const Ground& ground);

/// All that is known of a node's run without its data.
struct NodeFacts {
  GraphSizes sizes;
  LeafProof node;
  std::vector<TensorProof> inputs;  // those that are there, in order
  /// For each of them: its elements if it is a list, else nothing. Then for each attribute that is
  /// a tensor, by name: list_of_attribute, or nothing.
  std::vector<Bytes> lists;
};
void write(protocol::Writer& writer, const NodeFacts& facts);
void read(protocol::Reader& reader, NodeFacts& facts);
Bytes list_of_attribute(const Shaped& type, ByteView elements);
/// Those of a node's attributes that are shown, held against their roots in the node.
core::Result<std::map<std::string, Listed, std::less<>>> check_attributes(
    const NodeText& node, std::span<const Bytes> lists);
/// The call, without outputs, and the facts of its inputs (absent ones empty).
struct KnownCall {
  NodeCall call;
  std::vector<TensorFacts> inputs;
};
core::Result<KnownCall> check_facts(const NodeFacts& facts, std::uint64_t index,
                                    const Ground& ground);

}  // namespace commensal::arbiter
