// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/arbiter/node.hpp>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using protocol::Reader;

void read_one(Reader& reader, std::int64_t& value) {
  value = static_cast<std::int64_t>(reader.u64());
}
void read_one(Reader& reader, std::uint32_t& value) { value = reader.u32(); }
void read_one(Reader& reader, std::string& value) { value = reader.text(); }
void read_one(Reader& reader, Digest& value) { read_raw(reader, value); }
template <class T>
void read_one(Reader& reader, std::vector<T>& values) {
  values.clear();
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    read_one(reader, values.emplace_back());
  }
}

template <class T>
Attribute attribute(Reader& reader) {
  T value{};
  read_one(reader, value);
  return value;
}
// In the order of kernels::Attribute.
constexpr Attribute (*kReaders[])(Reader&) = {
    attribute<std::int64_t>,
    attribute<std::uint32_t>,
    attribute<std::string>,
    attribute<std::vector<std::int64_t>>,
    attribute<std::vector<std::uint32_t>>,
    attribute<std::vector<std::string>>,
    attribute<Digest>,
};

void read_attributes(Reader& reader, NodeText& node) {
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    std::string name(reader.text());
    const std::uint8_t kind = reader.u8();
    if (kind >= std::size(kReaders)) {
      reader.refuse(ErrorCode::kInvalidArgument, fmt::format("attribute of kind {}", kind));
      return;
    }
    node.attributes[std::move(name)] = kReaders[kind](reader);
  }
}

template <class T>
T get(const NodeText& node, std::string_view name, T fallback) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  return value == nullptr ? fallback : *value;
}

}  // namespace

std::int64_t NodeText::integer(std::string_view name, std::int64_t fallback) const {
  return get(*this, name, fallback);
}
std::uint32_t NodeText::real(std::string_view name, std::uint32_t fallback_bits) const {
  return get(*this, name, fallback_bits);
}
std::string NodeText::text(std::string_view name, std::string_view fallback) const {
  return get(*this, name, std::string(fallback));
}
std::vector<std::int64_t> NodeText::integers(std::string_view name) const {
  return get(*this, name, std::vector<std::int64_t>());
}

std::vector<std::uint32_t> NodeText::reals(std::string_view name) const {
  return get(*this, name, std::vector<std::uint32_t>());
}
std::vector<std::string> NodeText::texts(std::string_view name) const {
  return get(*this, name, std::vector<std::string>());
}

core::Result<NodeText> decode_node(ByteView leaf) {
  Reader reader(leaf, "node");
  NodeText node;
  node.domain = reader.text();
  node.name = reader.text();
  node.opset = reader.u32();
  read_attributes(reader, node);
  read_one(reader, node.inputs);
  read_one(reader, node.outputs);
  COMMENSAL_TRY(reader.status());
  node.has_subgraphs = reader.remaining() > 0;
  return node;
}

std::optional<std::vector<std::int64_t>> NodeCall::list(std::string_view name, std::size_t input,
                                                        std::uint32_t since) const {
  if (node.opset < since) return node.integers(name);
  if (!has(input)) return std::vector<std::int64_t>();
  const bool is_whole = inputs[input].is(Element::kInt64) || inputs[input].is(Element::kInt32);
  return is_whole ? lists[input] : std::nullopt;
}

}  // namespace commensal::arbiter
