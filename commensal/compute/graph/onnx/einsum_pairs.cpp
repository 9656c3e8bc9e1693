// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/einsum_pairs.hpp>
#include <commensal/compute/graph/onnx/structure.hpp>
#include <map>
#include <optional>
#include <vector>

namespace commensal::graph::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

constexpr char kEllipsis = '.';  // stands for "..."

bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == kEllipsis; }

/// An equation's terms, an ellipsis as one label.
struct Equation {
  std::vector<std::string> terms;
  std::string output;

  static std::optional<Equation> of(std::string text) {
    std::erase(text, ' ');
    const std::size_t arrow = text.find("->");
    const std::string_view whole(text);
    Equation made;
    for (std::string_view rest = whole.substr(0, arrow);;) {
      const std::size_t comma = rest.find(',');
      auto term = short_form(rest.substr(0, comma));
      if (!term) return std::nullopt;
      made.terms.push_back(*std::move(term));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    auto output =
        arrow == std::string::npos ? made.implicit() : short_form(whole.substr(arrow + 2));
    if (!output) return std::nullopt;
    made.output = *std::move(output);
    return made;
  }

 private:
  static std::optional<std::string> short_form(std::string_view term) {
    std::string made(term);
    if (const std::size_t at = made.find("..."); at != std::string::npos) made.erase(at, 2);
    const bool is_well_formed =
        std::ranges::all_of(made, is_label) && std::ranges::count(made, kEllipsis) <= 1;
    return is_well_formed ? std::optional(std::move(made)) : std::nullopt;
  }
  // The ellipsis, then the labels that occur once.
  std::optional<std::string> implicit() const {
    std::map<char, int> counts;
    for (const std::string& term : terms) {
      for (const char label : term) ++counts[label];
    }
    std::string made;
    for (const auto& [label, count] : counts) {
      if (count == 1 || label == kEllipsis) made += label;
    }
    return made;
  }
};

std::string long_form(const std::string& term) {
  std::string made = term;
  if (const std::size_t at = made.find(kEllipsis); at != std::string::npos) made.insert(at, "..");
  return made;
}

void set_equation(::onnx::NodeProto& node, std::string equation) {
  ::onnx::AttributeProto& made = *node.add_attribute();
  made.set_name("equation");
  made.set_type(::onnx::AttributeProto::STRING);
  made.set_s(std::move(equation));
}

/// Null where there is nothing to pair. What has an equation, of ONNX's own operators, is an
/// Einsum.
const ::onnx::AttributeProto* equation_of(const ::onnx::NodeProto& node) {
  if (!normal_domain(node.domain()).empty() || node.input_size() <= 2) return nullptr;
  if (node.output_size() != 1 || node.output(0).empty()) return nullptr;
  const auto found = std::ranges::find(node.attribute(), "equation", &::onnx::AttributeProto::name);
  return found == node.attribute().end() ? nullptr : &*found;
}

class Pairing {
 public:
  void run(::onnx::GraphProto& graph) {
    Nodes nodes;
    for (::onnx::NodeProto& node : *graph.mutable_node()) {
      const auto* equation = equation_of(node);
      const auto parsed = equation == nullptr ? std::nullopt : Equation::of(equation->s());
      if (parsed && std::ssize(parsed->terms) == node.input_size() && has_room(node)) {
        add_pairs(node, *parsed, nodes);
        continue;
      }
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) run(*attribute.mutable_g());
      }
      nodes.Add(std::move(node));
    }
    graph.mutable_node()->Swap(&nodes);
  }

 private:
  bool has_room(const ::onnx::NodeProto& node) const {
    return node.input_size() <= limits::kGraphNodesMax - made_;
  }

  void add_pairs(const ::onnx::NodeProto& node, const Equation& e, Nodes& out) {
    const std::size_t count = e.terms.size();
    std::map<char, std::size_t> last;  // the term that has the label last; `count`: the output
    for (std::size_t t = 0; t < count; ++t) {
      for (const char label : e.terms[t]) last[label] = t;
    }
    for (const char label : e.output) last[label] = count;
    std::string term = e.terms[0], value = node.input(0);
    for (std::size_t t = 1; t < count; ++t) {
      const bool is_end = t + 1 == count;
      const std::string result = is_end ? e.output : kept(term + e.terms[t], last, t);
      ::onnx::NodeProto& pair = *out.Add();
      pair.set_op_type(node.op_type());
      pair.set_domain(node.domain());
      pair.add_input(value);
      pair.add_input(node.input(static_cast<int>(t)));
      value = is_end ? node.output(0) : fmt::format("Einsum:{}", ++made_);
      pair.set_name(is_end ? node.name() : value);
      pair.add_output(value);
      set_equation(pair, long_form(term) + "," + long_form(e.terms[t]) + "->" + long_form(result));
      term = result;
    }
  }

  /// Labels that something after term `t` has.
  static std::string kept(const std::string& labels, const std::map<char, std::size_t>& last,
                          std::size_t t) {
    std::string made;
    for (const char label : labels) {
      if (last.at(label) > t && made.find(label) == std::string::npos) made += label;
    }
    return made;
  }

  int made_ = 0;
};

}  // namespace

void pair_einsums(::onnx::GraphProto& graph) { Pairing().run(graph); }

}  // namespace commensal::graph::onnx
