// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/onnx/structure.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr int kMlOpsetMax = 5;
// Version 3 brought opset_import; later ones only added fields that we read or refuse by name.
constexpr std::int64_t kIrVersionMin = 3, kIrVersionMax = 13;

// Who makes a value: a node's index, or kGiven for an input or initialiser.
constexpr int kGiven = -1;
using Makers = std::unordered_map<std::string, int>;

Result<void> define(Makers& makers, const std::string& name, int maker) {
  if (!is_name(name)) {
    return fail(ErrorCode::kInvalidArgument, "the name '{}' is not printable text", one_line(name));
  }
  if (!makers.emplace(name, maker).second) {
    return fail(ErrorCode::kInvalidArgument, "the value '{}' is defined twice", name);
  }
  return {};
}

Result<Makers> find_makers(const ::onnx::GraphProto& graph) {
  Makers makers;
  std::unordered_set<std::string> inputs;
  for (const auto& input : graph.input()) {
    if (input.name().empty()) return fail(ErrorCode::kInvalidArgument, "an input without a name");
    COMMENSAL_TRY(define(makers, input.name(), kGiven));
    inputs.insert(input.name());
  }
  for (const auto& tensor : graph.initializer()) {
    if (tensor.name().empty()) {
      return fail(ErrorCode::kInvalidArgument, "an initialiser without a name");
    }
    // An initialiser may be the default of an input of the same name: once.
    if (inputs.erase(tensor.name()) == 0) COMMENSAL_TRY(define(makers, tensor.name(), kGiven));
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      auto defined = define(makers, output, i);
      if (!defined) return core::in_context(place_of(graph.node(i), i), defined.error());
    }
  }
  return makers;
}

// Nodes that remain when all that can run has run lie on a cycle or behind one; walking from maker
// to maker among them must come round.
Result<void> report_cycle(const ::onnx::GraphProto& graph, const Makers& makers,
                          const std::vector<int>& missing) {
  int at = 0;
  while (missing[static_cast<std::size_t>(at)] == 0) ++at;
  std::unordered_set<int> seen;
  while (seen.insert(at).second) {
    for (const std::string& input : graph.node(at).input()) {
      const auto maker = makers.find(input);
      if (maker == makers.end() || maker->second == kGiven) continue;
      if (missing[static_cast<std::size_t>(maker->second)] == 0) continue;
      at = maker->second;
      break;
    }
  }
  return fail(ErrorCode::kInvalidArgument, "the graph has a cycle through {}",
              place_of(graph.node(at), at));
}

Result<void> check_cycles(const ::onnx::GraphProto& graph, const Makers& makers) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  std::vector<int> missing(count);
  std::vector<std::vector<int>> users(count);
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      const auto maker = makers.find(input);
      if (maker == makers.end() || maker->second == kGiven) continue;
      users[static_cast<std::size_t>(maker->second)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
  }
  std::vector<int> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const auto node = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    ++done;
    for (const int user : users[node]) {
      if (--missing[static_cast<std::size_t>(user)] == 0) ready.push_back(user);
    }
  }
  return done == count ? Result<void>() : report_cycle(graph, makers, missing);
}

// The values that a subgraph may use beside its own: those made before its node.
struct Scope {
  const Makers& makers;
  int node;
  const Scope* around;  // null for the model's own graph
};

enum class Seen { kNowhere, kBefore, kLater };

/// In the nearest graph around that makes it at all: were it to be made after it is used, one name
/// would stand for two values there.
Seen seen(const Scope* scope, const std::string& name) {
  for (; scope != nullptr; scope = scope->around) {
    const auto maker = scope->makers.find(name);
    if (maker == scope->makers.end()) continue;
    return maker->second < scope->node ? Seen::kBefore : Seen::kLater;
  }
  return Seen::kNowhere;
}
bool is_visible(const Scope* scope, const std::string& name) {
  return seen(scope, name) == Seen::kBefore;
}

Result<void> check_order(const ::onnx::GraphProto& graph, const Makers& makers,
                         const Scope* around) {
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : graph.node(i).input()) {
      if (input.empty()) continue;
      const auto maker = makers.find(input);
      if (maker == makers.end() && !is_visible(around, input)) {
        return fail(ErrorCode::kInvalidArgument, "{} uses '{}', which {}",
                    place_of(graph.node(i), i), one_line(input),
                    seen(around, input) == Seen::kLater ? "a graph around it defines only later"
                                                        : "nothing defines");
      }
      if (maker != makers.end() && maker->second >= i) {
        return fail(ErrorCode::kInvalidArgument, "{} uses '{}' before it is made",
                    place_of(graph.node(i), i), input);
      }
    }
  }
  for (const auto& output : graph.output()) {
    if (!makers.contains(output.name()) && !is_visible(around, output.name())) {
      return fail(ErrorCode::kInvalidArgument, "nothing defines the output '{}'",
                  one_line(output.name()));
    }
  }
  return {};
}

Result<void> check_node_bounds(const ::onnx::GraphProto& graph) {
  if (graph.node_size() > limits::kGraphNodesMax) {
    return fail(ErrorCode::kResourceExhausted, "{} nodes, at most {} are accepted",
                graph.node_size(), limits::kGraphNodesMax);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    const auto& node = graph.node(i);
    if (!is_name(node.name()) || !is_name(node.op_type()) || !is_name(node.domain())) {
      return fail(ErrorCode::kInvalidArgument, "{} has a name that is not printable text",
                  place_of(node, i));
    }
    if (node.input_size() > limits::kNodeInputsMax || node.output_size() > limits::kNodeInputsMax) {
      return fail(ErrorCode::kResourceExhausted, "{} has more than {} inputs or outputs",
                  place_of(node, i), limits::kNodeInputsMax);
    }
  }
  return {};
}

Result<void> check_graph(const ::onnx::GraphProto& graph, const Scope* around, int depth) {
  if (depth > limits::kSubgraphDepthMax) {
    return fail(ErrorCode::kResourceExhausted, "graphs inside each other deeper than {} levels",
                limits::kSubgraphDepthMax);
  }
  if (graph.sparse_initializer_size() > 0) {
    return fail(ErrorCode::kUnsupported, "sparse initialisers are not supported");
  }
  if (graph.output_size() == 0) return fail(ErrorCode::kInvalidArgument, "the graph has no output");
  COMMENSAL_TRY(check_node_bounds(graph));
  COMMENSAL_ASSIGN(const Makers makers, find_makers(graph));
  COMMENSAL_TRY(check_cycles(graph, makers));
  COMMENSAL_TRY(check_order(graph, makers, around));
  for (int i = 0; i < graph.node_size(); ++i) {
    const Scope scope{makers, i, around};
    for (const auto& attribute : graph.node(i).attribute()) {
      if (!attribute.has_g()) continue;
      auto checked = check_graph(attribute.g(), &scope, depth + 1);
      if (!checked) return core::in_context(place_of(graph.node(i), i), checked.error());
    }
  }
  return {};
}

}  // namespace

std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string name_of(const ::onnx::NodeProto& node, int index) {
  return node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name();
}

std::string place_of(const ::onnx::NodeProto& node, int index) {
  return fmt::format("node '{}' ({})", one_line(name_of(node, index)), one_line(node.op_type()));
}

Result<Opsets> read_opsets(const ::onnx::ModelProto& model) {
  if (model.ir_version() < kIrVersionMin || model.ir_version() > kIrVersionMax) {
    return fail(ErrorCode::kUnsupported, "ir_version {}, expected {} to {}", model.ir_version(),
                kIrVersionMin, kIrVersionMax);
  }
  Opsets opsets;
  for (const auto& import : model.opset_import()) {
    const std::string domain = normal_domain(import.domain());
    if (!is_name(domain) || import.version() < 1 || import.version() > 1'000'000) {
      return fail(ErrorCode::kInvalidArgument, "opset {} of domain '{}' is not an opset",
                  import.version(), one_line(domain));
    }
    const auto [place, fresh] = opsets.emplace(domain, static_cast<int>(import.version()));
    if (!fresh && place->second != import.version()) {
      return fail(ErrorCode::kInvalidArgument, "the domain '{}' has two opsets", domain);
    }
  }
  const auto found = opsets.find("");
  if (found != opsets.end() && (found->second < kOpsetMin || found->second > kOpsetMax)) {
    return fail(ErrorCode::kUnsupported, "opset {} of the default domain, expected {} to {}",
                found->second, kOpsetMin, kOpsetMax);
  }
  const auto ml = opsets.find("ai.onnx.ml");
  if (ml != opsets.end() && ml->second > kMlOpsetMax) {
    return fail(ErrorCode::kUnsupported, "opset {} of the domain ai.onnx.ml, expected 1 to {}",
                ml->second, kMlOpsetMax);
  }
  return opsets;
}

Result<void> check_structure(const ::onnx::ModelProto& model) {
  return check_graph(model.graph(), nullptr, 0);
}

}  // namespace commensal::graph::onnx
