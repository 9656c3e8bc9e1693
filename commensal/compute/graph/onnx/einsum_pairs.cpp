// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/einsum_pairs.hpp>
#include <commensal/compute/graph/onnx/structure.hpp>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

namespace commensal::graph::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<::onnx::NodeProto>;

constexpr int kPairedMax = 256;  // operands of one node: each is looked for among those left
constexpr char kEllipsis = '*';  // stands for "...", and is no label

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

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
    if (term.size() > limits::kRankMax + std::string_view("...").size()) return std::nullopt;
    std::string made(term);
    const std::size_t at = made.find("...");
    if (at != std::string::npos) made.erase(at, 3);
    if (!std::ranges::all_of(made, is_letter)) return std::nullopt;
    if (at != std::string::npos) made.insert(at, 1, kEllipsis);
    return made;
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
  if (const std::size_t at = made.find(kEllipsis); at != std::string::npos)
    made.replace(at, 1, "...");
  return made;
}

/// A term, what is left of the result so far and it, and of which operand it is.
struct Pair {
  std::size_t operand = 0;
  std::string result;
};

/// From operand 0 on: the first of those left that shares a label with the result so far, so that
/// no outer product is made that need not be; else the first. None where a result has too many.
std::optional<std::vector<Pair>> pairs_of(const Equation& e) {
  std::map<char, std::size_t> left;  // terms that have the label yet; the output counts as one
  const auto once = [](const std::string& term) {
    return std::unordered_set<char>(term.begin(), term.end());
  };
  for (const std::string& term : e.terms) {
    for (const char label : once(term)) ++left[label];
  }
  for (const char label : once(e.output)) ++left[label];
  for (const char label : once(e.terms[0])) --left[label];
  std::vector<std::size_t> waiting(e.terms.size() - 1);
  for (std::size_t i = 0; i < waiting.size(); ++i) waiting[i] = i + 1;
  std::vector<Pair> pairs;
  std::string result = e.terms[0];
  while (!waiting.empty()) {
    const auto shares = [&](std::size_t operand) {
      return e.terms[operand].find_first_of(result) != std::string::npos;
    };
    auto next = std::ranges::find_if(waiting, shares);
    if (next == waiting.end()) next = waiting.begin();
    const std::string& term = e.terms[*next];
    for (const char label : once(term)) --left[label];
    std::string kept;
    for (const char label : result + term) {
      if (left[label] > 0 && kept.find(label) == std::string::npos) kept += label;
    }
    if (std::ssize(kept) > limits::kRankMax) return std::nullopt;
    result = waiting.size() == 1 ? e.output : kept;
    pairs.push_back({*next, result});
    waiting.erase(next);
  }
  return pairs;
}

class Pairing {
 public:
  explicit Pairing(const ::onnx::GraphProto& whole) { count(whole); }

  void run(::onnx::GraphProto& graph) {
    Nodes nodes;
    for (int i = 0; i < graph.node_size(); ++i) {
      ::onnx::NodeProto& node = *graph.mutable_node(i);
      if (pair(node, i, nodes)) continue;
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) run(*attribute.mutable_g());
      }
      nodes.Add(std::move(node));
    }
    graph.mutable_node()->Swap(&nodes);
  }

 private:
  void count(const ::onnx::GraphProto& graph) {
    nodes_ += graph.node_size();
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const auto& node : graph.node()) {
      names_.insert(node.output().begin(), node.output().end());
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) count(attribute.g());
      }
    }
  }

  /// False: it is to stay.
  bool pair(const ::onnx::NodeProto& node, int index, Nodes& out) {
    // What has an equation, of ONNX's own operators, is an Einsum.
    if (!normal_domain(node.domain()).empty() || node.input_size() <= 2 ||
        node.input_size() > kPairedMax)
      return false;
    if (node.attribute_size() != 1 || node.attribute(0).name() != "equation") return false;
    if (node.output_size() != 1 || node.input_size() > limits::kGraphNodesMax - nodes_)
      return false;
    const auto equation = Equation::of(node.attribute(0).s());
    if (!equation || std::ssize(equation->terms) != node.input_size()) return false;
    const auto pairs = pairs_of(*equation);
    if (!pairs) return false;
    std::string term = equation->terms[0], value = node.input(0);
    for (const Pair& one : *pairs) {
      ::onnx::NodeProto& made = *out.Add();
      made = like(node);
      made.add_input(value);
      made.add_input(node.input(static_cast<int>(one.operand)));
      const bool is_last = &one == &pairs->back();
      value = is_last ? node.output(0) : fresh_name(node, index);
      made.add_output(value);
      made.set_name(is_last ? node.name() : value);
      made.mutable_attribute(0)->set_s(long_form(term) + "," +
                                       long_form(equation->terms[one.operand]) + "->" +
                                       long_form(one.result));
      term = one.result;
    }
    nodes_ += node.input_size() - 2;
    return true;
  }

  /// Without its inputs and outputs, whose names may be long and many.
  static ::onnx::NodeProto like(const ::onnx::NodeProto& node) {
    ::onnx::NodeProto made;
    made.set_op_type(node.op_type());
    made.set_domain(node.domain());
    ::onnx::AttributeProto& equation = *made.add_attribute();
    equation.set_name(node.attribute(0).name());
    equation.set_type(node.attribute(0).type());
    return made;
  }

  std::string fresh_name(const ::onnx::NodeProto& node, int index) {
    constexpr std::size_t kLongest = 64;  // they are as many as operands
    const std::string name = name_of(node, index);
    std::string made;
    do {
      made = fmt::format("{}:{}", name.size() <= kLongest ? name : node.op_type(), ++made_);
    } while (names_.contains(made));
    return made;
  }

  int nodes_ = 0, made_ = 0;
  std::unordered_set<std::string> names_;  // of all values
};

}  // namespace

void pair_einsums(::onnx::GraphProto& graph) { Pairing(graph).run(graph); }

}  // namespace commensal::graph::onnx
