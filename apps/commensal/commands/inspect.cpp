// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/outputs.hpp>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/inner_name.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/outlook.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

namespace commensal::apps {

using core::Result;
using Json = nlohmann::ordered_json;

namespace {

struct InspectArguments {
  std::string model;
  bool nodes = false;
  bool json = false;
};

std::string operator_of(const graph::Node& node) {
  return node.op->domain.empty() ? std::string(node.op->name)
                                 : fmt::format("{}.{}", node.op->domain, node.op->name);
}

std::vector<std::string> names_of(const graph::Graph& graph,
                                  const std::vector<graph::ValueId>& ids) {
  std::vector<std::string> names;
  for (const graph::ValueId id : ids) {
    names.push_back(id == graph::kAbsent ? "" : graph.name_of(id));
  }
  return names;
}

Json values_of(const graph::Graph& graph, const std::vector<graph::ValueId>& ids) {
  Json list = Json::array();
  for (const graph::ValueId id : ids) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    Json shape = Json::array();
    for (std::size_t i = 0; i < value.declared.dims.size(); ++i) {
      shape.push_back(std::max<std::int64_t>(value.declared.dims[i], -1));
    }
    list.push_back({{"name", value.name},
                    {"datatype", datatype_of(value.declared.dtype)},
                    {"shape", value.declared.ranked ? shape : Json()},
                    {"text", value.declared.text()}});
  }
  return list;
}

/// Calls f(graph, around) for it and each graph inside it, `around` what their nodes' names begin
/// with.
template <class F>
void each_graph(const graph::Graph& graph, const std::string& around, const F& f) {
  f(graph, around);
  for (const graph::Node& node : graph.nodes) {
    if (node.subgraphs.empty()) continue;
    const std::string name = graph::inner_name(around, node.name);
    for (const graph::Subgraph& inner : node.subgraphs) {
      each_graph(*inner.graph, graph::inner_name(name, fmt::format("/{}/", inner.name)), f);
    }
  }
}

/// What the graph and those inside it hold.
struct Contents {
  std::map<std::string, int> opsets, operators;
  std::set<std::string> plain;
  std::int64_t nodes = 0, parameters = 0, bytes = 0;

  void add(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes) {
      opsets[std::string(node.op->domain)] = node.opset;
      ++operators[operator_of(node)];
      if (node.op->is_plain()) plain.insert(operator_of(node));
    }
    nodes += static_cast<std::int64_t>(graph.nodes.size());
    for (const auto& [id, value] : graph.initialisers) {
      parameters += value.elements();
      bytes += value.type().bytes();
    }
  }
};

Json nodes_of(const graph::Graph& graph) {
  Json nodes = Json::array();
  each_graph(graph, "", [&](const graph::Graph& inner, const std::string& around) {
    for (const graph::Node& node : inner.nodes) {
      nodes.push_back({{"name", graph::inner_name(around, node.name)},
                       {"operator", operator_of(node)},
                       {"inputs", names_of(inner, node.inputs)},
                       {"outputs", names_of(inner, node.outputs)}});
    }
  });
  return nodes;
}

void add_outlook(Json& report, const graph::Graph& graph) {
  const graph::Outlook outlook = graph::outlook_of(graph);
  report["refusal"] = outlook.refusal.empty() ? Json() : Json(outlook.refusal);
  report["doubt"] = outlook.doubt.empty() ? Json() : Json(outlook.doubt);
  Json slow = Json::array();
  for (const auto& [node, op, types] : outlook.slow) {
    slow.push_back({{"name", node}, {"operator", op}, {"types", types}});
  }
  report["plain_nodes"] = std::move(slow);
  report["unknown_nodes"] = outlook.unknown;
}

Json describe(const graph::Graph& graph, const InspectArguments& options) {
  Json report;
  report["name"] = graph.name;
  Contents contents;
  each_graph(graph, "", [&](const graph::Graph& inner, const auto&) { contents.add(inner); });
  report["opsets"] = contents.opsets;
  report["inputs"] = values_of(graph, graph.inputs);
  report["outputs"] = values_of(graph, graph.outputs);
  report["parameters"] = contents.parameters;
  report["parameter_bytes"] = contents.bytes;
  const std::string objection = graph::batching_objection(graph);
  report["may_be_batched"] = objection.empty();
  report["batching_objection"] = objection.empty() ? Json() : Json(objection);
  report["node_count"] = contents.nodes;
  report["operators"] = contents.operators;
  report["plain_operators"] = contents.plain;
  add_outlook(report, graph);
  if (options.nodes) report["nodes"] = nodes_of(graph);
  return report;
}

void print_text(const Json& report) {
  fmt::print("{}\n", report["name"].get<std::string>());
  for (const auto& [domain, opset] : report["opsets"].items()) {
    fmt::print("opset       {} {}\n", opset.get<int>(), domain);
  }
  for (const char* side : {"input", "output"}) {
    for (const Json& value : report[fmt::format("{}s", side)]) {
      fmt::print("{:<11} {} {}\n", side, value["name"].get<std::string>(),
                 value["text"].get<std::string>());
    }
  }
  fmt::print("parameters  {} ({} bytes)\n", report["parameters"].get<std::int64_t>(),
             report["parameter_bytes"].get<std::int64_t>());
  const Json& objection = report["batching_objection"];
  fmt::print("batches     {}\n", objection.is_null()
                                     ? "requests may be joined along axis 0"
                                     : fmt::format("no: {}", objection.get<std::string>()));
  fmt::print("nodes       {}\n", report["node_count"].get<std::size_t>());
  for (const auto& [name, count] : report["operators"].items()) {
    fmt::print("  {:<24} {}\n", name, count.get<int>());
  }
  if (const Json& plain = report["plain_operators"]; !plain.empty()) {
    fmt::print("slow        {}: plain loops, of any element type\n",
               fmt::join(plain.get<std::vector<std::string>>(), ", "));
  }
  for (const Json& node : report["plain_nodes"]) {
    fmt::print("slow        {} ({}): plain loops, {}\n", node["name"].get<std::string>(),
               node["operator"].get<std::string>(), node["types"].get<std::string>());
  }
  if (const auto unknown = report["unknown_nodes"].get<std::int64_t>(); unknown > 0) {
    fmt::print("not known   whether {} {} slow: their types depend on inputs, or they are large\n",
               unknown, unknown == 1 ? "node is" : "nodes are");
  }
  if (const Json& doubt = report["doubt"]; !doubt.is_null()) {
    fmt::print("may not run {}\n", doubt.get<std::string>());
  }
  if (const Json& refusal = report["refusal"]; !refusal.is_null()) {
    fmt::print("cannot run  {}\n", refusal.get<std::string>());
  }
  if (!report.contains("nodes")) return;
  for (const Json& node : report["nodes"]) {
    fmt::print("{} ({}): {} -> {}\n", node["name"].get<std::string>(),
               node["operator"].get<std::string>(),
               fmt::join(node["inputs"].get<std::vector<std::string>>(), ", "),
               fmt::join(node["outputs"].get<std::vector<std::string>>(), ", "));
  }
}

Result<int> inspect(const InspectArguments& options) {
  auto imported = graph::onnx::import_file(options.model);
  if (!imported) return core::in_context(fmt::format("'{}'", options.model), imported.error());
  const Json report = describe(**imported, options);
  if (options.json) {
    fmt::print("{}\n", report.dump(2));
  } else {
    print_text(report);
  }
  return report["refusal"].is_null() ? 0 : 1;
}

}  // namespace

Run declare_inspect(CLI::App& app) {
  const auto options = std::make_shared<InspectArguments>();
  app.add_option("model", options->model, "ONNX file")->required();
  app.add_flag("--nodes", options->nodes, "List the nodes too");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return inspect(*options); };
}

}  // namespace commensal::apps
