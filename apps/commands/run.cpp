// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/backend_options.hpp>
#include <apps/command.hpp>
#include <apps/inputs.hpp>
#include <apps/summary.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/io/npy.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {

using core::Result;
using tensor::Tensor;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  ImageOptions image;
  BackendOptions backend;
  std::string output_dir;
  bool hash_only = false;
  bool json = false;
};

// Output names are the model's: what is no plain file name becomes one.
std::string file_name_of(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c == ':') c = '_';
  }
  if (name.starts_with('.')) name.insert(0, "_");
  return name + ".npy";
}

Result<void> write_outputs(const graph::Graph& graph, const std::vector<Tensor>& outputs,
                           const core::Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    COMMENSAL_ASSIGN(const core::Bytes bytes, io::write_npy(outputs[i]));
    const core::Path path = folder / file_name_of(graph.name_of(graph.outputs[i]));
    COMMENSAL_TRY(core::write_file_atomically(path, bytes));
  }
  return {};
}

// A number as it was printed; NaN and infinities, which JSON lacks, stay text.
Json number(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

void print_json(const graph::Graph& graph, const std::vector<Tensor>& outputs) {
  Json report;
  report["sha256"] = Json::object();
  report["outputs"] = Json::object();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.name_of(graph.outputs[i]);
    Json entry;
    entry["datatype"] = std::string(tensor::traits(outputs[i].dtype()).name);
    const auto dims = outputs[i].shape().dims();
    entry["shape"] = std::vector<std::int64_t>(dims.begin(), dims.end());
    entry["first"] = Json::array();
    for (const std::string& value : first_values(outputs[i], 8)) {
      entry["first"].push_back(number(value));
    }
    entry["top"] = Json::array();
    for (const Ranked& one : top_values(outputs[i], 5)) {
      entry["top"].push_back({{"index", one.index}, {"value", number(one.value)}});
    }
    entry["sha256"] = hash_of(outputs[i]);
    report["sha256"][name] = entry["sha256"];
    report["outputs"][name] = std::move(entry);
  }
  fmt::print("{}\n", report.dump(2));
}

void print_text(const graph::Graph& graph, const std::vector<Tensor>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    fmt::print("{} {}\n", graph.name_of(graph.outputs[i]), outputs[i].type().text());
    fmt::print("  first   {}\n", fmt::join(first_values(outputs[i], 8), " "));
    for (const Ranked& one : top_values(outputs[i], 5)) {
      fmt::print("  top     [{}] {}\n", one.index, one.value);
    }
    fmt::print("  sha256  {}\n", hash_of(outputs[i]));
  }
}

Result<int> run(const Options& options) {
  auto imported = graph::onnx::import_file(options.model);
  if (!imported) return core::in_context(fmt::format("'{}'", options.model), imported.error());
  const graph::Graph& graph = **imported;
  COMMENSAL_ASSIGN(const auto inputs, read_inputs(graph, options.inputs, options.image));
  COMMENSAL_ASSIGN(auto session, graph::Session::create(*imported, options.backend.session()));
  COMMENSAL_ASSIGN(const auto outputs, session.run(inputs));
  if (!options.output_dir.empty()) {
    COMMENSAL_TRY(write_outputs(graph, outputs, options.output_dir));
  }
  if (options.json) {
    print_json(graph, outputs);
  } else if (options.hash_only) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      fmt::print("{}  {}\n", hash_of(outputs[i]), graph.name_of(graph.outputs[i]));
    }
  } else {
    print_text(graph, outputs);
  }
  return 0;
}

}  // namespace

Run declare_run(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "ONNX file, opset 8 to 17")->required();
  app.add_option("--input", options->inputs,
                 "[NAME=]FILE, once for each input; .npy, .npz[:member], .pb, .jpg, .png")
      ->allow_extra_args(false);
  app.add_option("--image-mean", options->image.mean, "Subtracted from every pixel value (0..255)")
      ->capture_default_str();
  app.add_option("--image-scale", options->image.scale, "What every pixel value is divided by")
      ->capture_default_str();
  options->backend.declare(app);
  app.add_option("--output-dir", options->output_dir, "Folder for the outputs, as NAME.npy");
  app.add_flag("--hash", options->hash_only, "Print each output's SHA-256 only");
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return run(*options); };
}

}  // namespace commensal::apps
