// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_disputes.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/arbiter/facts.hpp>
#include <limits>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using core::fail;
using protocol::Reader;
using protocol::Writer;

struct ElementRow {
  std::uint8_t dtype;
  std::string_view name;
  std::uint8_t bytes;
};
// ONNX's TensorProto.DataType, but strings.
constexpr ElementRow kElements[] = {
    {1, "float32", 4},
    {2, "uint8", 1},
    {3, "int8", 1},
    {4, "uint16", 2},
    {5, "int16", 2},
    {6, "int32", 4},
    {7, "int64", 8},
    {9, "bool", 1},
    {10, "float16", 2},
    {11, "float64", 8},
    {12, "uint32", 4},
    {13, "uint64", 8},
    {16, "bfloat16", 2},
    {17, "float8e4m3fn", 1},
    {18, "float8e4m3fnuz", 1},
    {19, "float8e5m2", 1},
    {20, "float8e5m2fnuz", 1},
    {21, "uint4", 1},
    {22, "int4", 1},
    {23, "float4e2m1", 1},
    {24, "float8e8m0", 1},
};

const ElementRow* row_of(std::uint8_t dtype) {
  for (const ElementRow& row : kElements) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

// The header of a tensor's root, as compute/tensor/codec.hpp writes it.
void write_header(Writer& writer, const Shaped& type) {
  writer.u8(type.dtype);
  writer.u8(static_cast<std::uint8_t>(type.dims.size()));
  for (const std::uint64_t dim : type.dims) writer.u64(dim);
}

}  // namespace

std::uint64_t element_bytes(std::uint8_t dtype) {
  const ElementRow* row = row_of(dtype);
  return row == nullptr ? 0 : row->bytes;
}

std::int64_t Shaped::elements(std::size_t first, std::size_t last) const {
  std::int64_t product = 1;
  for (std::size_t d = first; d < last; ++d) product *= dim(d);
  return product;
}

core::Result<void> Shaped::valid() const {
  if (row_of(dtype) == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "element type {}, expected one of numbers", dtype);
  }
  if (dims.size() > static_cast<std::size_t>(limits::kRankMax)) {
    return fail(ErrorCode::kResourceExhausted, "rank {}, at most {} is accepted", dims.size(),
                limits::kRankMax);
  }
  constexpr auto kMax = static_cast<std::uint64_t>(limits::kTensorElementsMax);
  std::uint64_t product = 1;
  for (const std::uint64_t dim : dims) {
    if (dim > kMax || (dim != 0 && product > kMax / dim)) {
      return fail(ErrorCode::kResourceExhausted, "more than {} elements", kMax);
    }
    product *= std::max<std::uint64_t>(dim, 1);
  }
  return {};
}

std::string Shaped::text() const {
  const ElementRow* row = row_of(dtype);
  std::string text = row == nullptr ? fmt::format("type {}", dtype) : std::string(row->name);
  for (std::size_t d = 0; d < dims.size(); ++d)
    text += fmt::format("{}{}", d == 0 ? "[" : ",", dims[d]);
  return text + (dims.empty() ? "[]" : "]");
}

Digest tensor_root(const TensorFacts& facts) {
  Writer header;
  write_header(header, facts.type);
  return crypto::tagged_hash("commensal/tensor/v1", header.written(), facts.bytes_root);
}

std::uint64_t leaf_count(const Shaped& type) {
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(type.elements()) * element_bytes(type.dtype);
  return (bytes + crypto::kMerkleLeafBytes - 1) / crypto::kMerkleLeafBytes;
}

void write(Writer& writer, const Shaped& type) { write_header(writer, type); }
void read(Reader& reader, Shaped& type) {
  type.dtype = reader.u8();
  type.dims.resize(reader.u8());
  for (std::uint64_t& dim : type.dims) dim = reader.u64();
  if (!reader.ok()) return;
  if (const auto valid = type.valid(); !valid) {
    reader.refuse(valid.error().code, valid.error().message);
  }
}
void write(Writer& writer, const TensorFacts& facts) {
  write(writer, facts.type);
  writer.raw(facts.bytes_root);
}
void read(Reader& reader, TensorFacts& facts) {
  read(reader, facts.type);
  read_raw(reader, facts.bytes_root);
  // Nothing could be shown of an empty tree, so there is one root of it.
  if (reader.ok() && facts.type.elements() == 0 && facts.bytes_root != crypto::sha256({})) {
    reader.refuse(ErrorCode::kInvalidArgument, "a root of no elements");
  }
}

void write(Writer& writer, const LeafProof& proof) {
  writer.bytes(proof.leaf);
  writer.u64(proof.index);
  writer.u64(proof.count);
  writer.u8(static_cast<std::uint8_t>(proof.path.size()));
  for (const Digest& sibling : proof.path) writer.raw(sibling);
}
void read(Reader& reader, LeafProof& proof) {
  const ByteView leaf = reader.bytes(limits::kDisputeLeafBytesMax);
  proof.leaf.assign(leaf.begin(), leaf.end());
  proof.index = reader.u64();
  proof.count = reader.u64();
  const std::size_t length = reader.u8();
  if (length > static_cast<std::size_t>(limits::kMerkleDepthMax)) {
    reader.refuse(ErrorCode::kResourceExhausted, fmt::format("a path of {}, at most {} is accepted",
                                                             length, limits::kMerkleDepthMax));
    return;
  }
  proof.path.resize(length);
  for (Digest& sibling : proof.path) read_raw(reader, sibling);
}

core::Result<Digest> root_of(const LeafProof& proof) {
  return crypto::merkle_root_of_proof(crypto::leaf_hash(proof.leaf), proof.index, proof.count,
                                      proof.path);
}

core::Result<void> check_leaf(const LeafProof& proof, const Digest& root, std::uint64_t index,
                              std::uint64_t count, std::string_view what) {
  if (proof.index != index || proof.count != count) {
    return fail(ErrorCode::kDataLoss, "{}: the proof is of leaf {} of {}, expected {} of {}", what,
                proof.index, proof.count, index, count);
  }
  const auto found = root_of(proof);
  if (!found) return core::in_context(what, found.error());
  if (*found != root)
    return fail(ErrorCode::kDataLoss, "{}: the proof leads to another root", what);
  return {};
}

bool agree_before(const LeafProof& a, const LeafProof& b) {
  std::size_t at = 0;
  std::uint64_t index = a.index;
  for (std::uint64_t last = a.count - 1; last > 0; last /= 2, index /= 2) {
    const bool is_right = index % 2 == 1;
    if (!is_right && index == last) continue;  // unpaired: no sibling on this level
    if (is_right && a.path[at] != b.path[at]) return false;
    ++at;
  }
  return true;
}

std::uint64_t segment_nodes(std::uint64_t nodes) {
  std::uint64_t side = 1;
  while (side * side < nodes) ++side;
  return side;
}
std::uint64_t segment_count(std::uint64_t nodes) {
  const std::uint64_t side = segment_nodes(nodes);
  return (nodes + side - 1) / side;
}
std::uint64_t segment_first(std::uint64_t nodes, std::uint64_t segment) {
  return std::min(nodes, segment * segment_nodes(nodes));
}

namespace {

void write(Writer& writer, const CheckpointLeaf::Entry& entry) {
  writer.u32(entry.number);
  arbiter::write(writer, entry.facts);
}
void read(Reader& reader, CheckpointLeaf::Entry& entry) {
  entry.number = reader.u32();
  arbiter::read(reader, entry.facts);
}

}  // namespace

Bytes encode(const CheckpointLeaf& leaf) {
  Writer writer;
  writer.u64(leaf.upto);
  writer.count(leaf.live.size());
  for (const auto& entry : leaf.live) write(writer, entry);
  return std::move(writer).take();
}

core::Result<CheckpointLeaf> decode_checkpoint(ByteView bytes) {
  Reader reader(bytes, "checkpoint");
  CheckpointLeaf leaf;
  leaf.upto = reader.u64();
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    read(reader, leaf.live.emplace_back());
  }
  COMMENSAL_TRY(reader.finish());
  return leaf;
}

Bytes encode(const TraceLeaf& leaf) {
  Writer writer;
  writer.u32(leaf.node);
  write(writer, leaf.outputs);
  return std::move(writer).take();
}

core::Result<TraceLeaf> decode_trace_leaf(ByteView bytes) {
  Reader reader(bytes, "trace leaf");
  TraceLeaf leaf;
  reader.field("node", leaf.node);
  reader.field("outputs", leaf.outputs);
  COMMENSAL_TRY(reader.finish());
  return leaf;
}

bool is_list(const Shaped& type) {
  const auto elements = static_cast<std::uint64_t>(type.elements());
  if (type.is(Element::kInt64)) return elements * 8 <= crypto::kMerkleLeafBytes;
  return elements <= limits::kDisputeListMax;
}

std::vector<std::int64_t> list_in(ByteView bytes, const Shaped& type) {
  const std::uint64_t size = element_bytes(type.dtype);
  const bool is_signed =
      type.is(Element::kInt8) || type.is(Element::kInt16) || type.is(Element::kInt32);
  std::vector<std::int64_t> list;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(type.elements()); ++i) {
    std::uint64_t value = 0;
    for (std::uint64_t b = size; b-- > 0;) value = value << 8 | bytes[i * size + b];
    const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
    if (is_signed && (value & sign) != 0) value -= sign << 1;
    list.push_back(static_cast<std::int64_t>(value));
  }
  return list;
}

std::uint64_t leaf_of(std::uint8_t dtype, std::uint64_t index) {
  return index * element_bytes(dtype) / crypto::kMerkleLeafBytes;
}

std::uint64_t element_in(ByteView leaf, std::uint8_t dtype, std::uint64_t index) {
  const std::uint64_t bytes = element_bytes(dtype);
  const std::uint64_t at = index * bytes % crypto::kMerkleLeafBytes;
  core::check(at + bytes <= leaf.size(), "an element is read from the leaf it lies in");
  std::uint64_t value = 0;
  for (std::uint64_t i = bytes; i-- > 0;) value = value << 8 | leaf[at + i];
  return value;
}

}  // namespace commensal::arbiter
