// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/facts.hpp>
#include <map>
#include <optional>
#include <variant>

namespace commensal::arbiter {

/// An attribute as the graph's root has it: a float by its bits, a tensor by its root.
using Attribute = std::variant<std::int64_t, std::uint32_t, std::string, std::vector<std::int64_t>,
                               std::vector<std::uint32_t>, std::vector<std::string>, Digest>;

/// A node as a leaf of the graph's root has it. Values are numbered as verify/receipt/roots numbers
/// them; 0 stands for an absent one.
struct NodeText {
  std::string domain, name;
  std::uint32_t opset = 0;
  std::map<std::string, Attribute, std::less<>> attributes;
  std::vector<std::uint32_t> inputs, outputs;
  bool has_subgraphs = false;

  /// The attribute, or the default where it is absent or of another type (the importer refuses
  /// those that an operator cannot take).
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  std::uint32_t real(std::string_view name, std::uint32_t fallback_bits) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::uint32_t> reals(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  bool has(std::string_view name) const { return attributes.find(name) != attributes.end(); }
};

/// Error: kInvalidArgument or kResourceExhausted, naming the field.
core::Result<NodeText> decode_node(ByteView leaf);

/// A small tensor with its elements (facts.hpp, list_in).
struct Listed {
  Shaped type;
  std::vector<std::int64_t> elements;
};

/// One run of a node, as far as it is known without its data.
struct NodeCall {
  NodeText node;
  std::vector<Shaped> inputs;  // of dtype 0 where absent
  /// The elements of inputs that are lists (facts.hpp, is_list).
  std::vector<std::optional<std::vector<std::int64_t>>> lists;
  std::map<std::string, Listed, std::less<>> tensors;  // attributes that are lists
  std::vector<Shaped> outputs;                         // those before the disputed one, and it

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input].is_there(); }
  /// The integers of `input`, or of attribute `name` before opset `since`. Nothing where the input
  /// is too long to be shown.
  std::optional<std::vector<std::int64_t>> list(std::string_view name, std::size_t input,
                                                std::uint32_t since) const;
};

}  // namespace commensal::arbiter
