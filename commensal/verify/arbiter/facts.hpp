// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/crypto/merkle.hpp>
#include <commensal/base/protocol/encoding.hpp>

/// What an arbiter knows of tensors and trees: enough to check a proof, nothing to compute a model
/// with. Pure functions. Source: docs/protocol.md, "Roots".
namespace commensal::arbiter {

using core::Bytes;
using core::ByteView;
using core::Digest;

/// Element types, by ONNX's numbers, as far as programs tell them apart.
enum class Element : std::uint8_t {
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};
/// 0 for a type without a size (strings, undefined).
std::uint64_t element_bytes(std::uint8_t dtype);

/// Type and shape. Invariants where it is valid(): a dtype that has bytes, a rank of at most
/// limits::kRankMax, at most limits::kTensorElementsMax elements.
struct Shaped {
  std::uint8_t dtype = 0;  // 0: there is no tensor
  std::vector<std::uint64_t> dims;

  bool is_there() const { return dtype != 0; }
  bool is(Element element) const { return dtype == static_cast<std::uint8_t>(element); }
  std::int64_t rank() const { return static_cast<std::int64_t>(dims.size()); }
  std::int64_t dim(std::size_t d) const { return static_cast<std::int64_t>(dims[d]); }
  /// Product of the dimensions in [first, last).
  std::int64_t elements(std::size_t first, std::size_t last) const;
  std::int64_t elements() const { return elements(0, dims.size()); }
  core::Result<void> valid() const;
  /// "float32[1,3,224,224]", the type by its number where it has no name here.
  std::string text() const;
  bool operator==(const Shaped&) const = default;
};

/// A tensor by its root's parts: tensor root = H("commensal/tensor/v1", header | bytes_root).
struct TensorFacts {
  Shaped type;
  Digest bytes_root{};  // over 1 KiB leaves of the element bytes
  bool operator==(const TensorFacts&) const = default;
};
Digest tensor_root(const TensorFacts& facts);
/// Leaves under bytes_root; 0 for a tensor without elements.
std::uint64_t leaf_count(const Shaped& type);

void write(protocol::Writer& writer, const Shaped& type);
void read(protocol::Reader& reader, Shaped& type);
void write(protocol::Writer& writer, const TensorFacts& facts);
void read(protocol::Reader& reader, TensorFacts& facts);

/// The preimage of a leaf and its path. `index` and `count` are held against what they must be by
/// whoever knows that.
struct LeafProof {
  Bytes leaf;
  std::uint64_t index = 0, count = 0;
  std::vector<Digest> path;  // siblings from the leaf up
  bool operator==(const LeafProof&) const = default;
};
void write(protocol::Writer& writer, const LeafProof& proof);
void read(protocol::Reader& reader, LeafProof& proof);

/// The root that the proof leads to. Error: kInvalidArgument.
core::Result<Digest> root_of(const LeafProof& proof);
/// That the leaf stands at `index` of `count` under `root`. Error: kDataLoss, "<what> ...".
core::Result<void> check_leaf(const LeafProof& proof, const Digest& root, std::uint64_t index,
                              std::uint64_t count, std::string_view what);
/// Whether two proofs of one place show that all leaves before it are the same in both trees: their
/// left siblings are. Precondition: index and count are alike and both paths have been checked.
bool agree_before(const LeafProof& a, const LeafProof& b);

/// A trace has two levels, so that little of a run needs to be hashed: checkpoints behind every
/// segment of nodes, and, of one segment on demand, its nodes. Nodes run in the graph's order.
std::uint64_t segment_nodes(std::uint64_t nodes);  // the smallest s with s * s >= nodes
std::uint64_t segment_count(std::uint64_t nodes);
/// The first node of a segment; that of the next is its end.
std::uint64_t segment_first(std::uint64_t nodes, std::uint64_t segment);

/// All values that nodes before `upto` made and that a node from there on reads, or that the graph
/// puts out: ascending by number. A leaf of the trace root.
struct CheckpointLeaf {
  struct Entry {
    std::uint32_t number = 0;
    TensorFacts facts;
    bool operator==(const Entry&) const = default;
  };
  std::uint64_t upto = 0;
  std::vector<Entry> live;
  bool operator==(const CheckpointLeaf&) const = default;
};
Bytes encode(const CheckpointLeaf& leaf);
/// Error: kInvalidArgument or kResourceExhausted, naming the field.
core::Result<CheckpointLeaf> decode_checkpoint(ByteView bytes);

/// Output roots of one node: the leaves of a segment.
struct TraceLeaf {
  std::uint32_t node = 0;
  std::vector<TensorFacts> outputs;
  bool operator==(const TraceLeaf&) const = default;
};
Bytes encode(const TraceLeaf& leaf);
/// Error: kInvalidArgument or kResourceExhausted, naming the field.
core::Result<TraceLeaf> decode_trace_leaf(ByteView bytes);

/// Whether all elements of an input are shown with the facts, since they may say how (axes, shapes,
/// scales, lengths): int64 of at most one leaf, others of at most limits::kDisputeListMax elements.
bool is_list(const Shaped& type);
/// The elements: signed integers as such, anything else by its bits. Precondition: as many bytes as
/// the type has.
std::vector<std::int64_t> list_in(ByteView bytes, const Shaped& type);

/// Element `index` of the leaf it lies in. Precondition: it lies in it.
std::uint64_t element_in(ByteView leaf, std::uint8_t dtype, std::uint64_t index);
/// Which leaf element `index` lies in.
std::uint64_t leaf_of(std::uint8_t dtype, std::uint64_t index);

}  // namespace commensal::arbiter
