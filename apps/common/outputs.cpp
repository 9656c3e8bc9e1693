// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <apps/common/outputs.hpp>
#include <apps/common/summary.hpp>
#include <commensal/compute/io/npy.hpp>

namespace commensal::apps {

using Json = nlohmann::ordered_json;

namespace {

// Output names are the model's: what is no plain file name becomes one.
std::string file_name_of(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c == ':') c = '_';
  }
  if (name.starts_with('.')) name.insert(0, 1, '_');
  return name + ".npy";
}

// A number as it was printed; NaN and infinities, which JSON lacks, stay text.
Json number(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

Json output_json(const tensor::Tensor& output) {
  Json entry;
  entry["datatype"] = std::string(tensor::traits(output.dtype()).name);
  const auto dims = output.shape().dims();
  entry["shape"] = std::vector<std::int64_t>(dims.begin(), dims.end());
  entry["first"] = Json::array();
  for (const std::string& value : first_values(output, 8)) entry["first"].push_back(number(value));
  entry["top"] = Json::array();
  for (const Ranked& one : top_values(output, 5)) {
    entry["top"].push_back({{"index", one.index}, {"value", number(one.value)}});
  }
  entry["sha256"] = hash_of(output);
  return entry;
}

void append(tensor::NamedTensors& outputs, const std::string& name, const tensor::Value& value) {
  if (value.is_tensor()) outputs.push_back({name, value.tensor()});
  if (!value.is_sequence()) return;
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    append(outputs, fmt::format("{}[{}]", name, i), value.items()[i]);
  }
}

}  // namespace

tensor::NamedTensors named_outputs(const graph::Graph& graph,
                                   const std::vector<tensor::Value>& values) {
  tensor::NamedTensors outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    append(outputs, graph.name_of(graph.outputs[i]), values[i]);
  }
  return outputs;
}

Json outputs_json(const tensor::NamedTensors& outputs) {
  Json report;
  report["sha256"] = Json::object();
  report["outputs"] = Json::object();
  for (const tensor::NamedTensor& output : outputs) {
    Json entry = output_json(output.value);
    report["sha256"][output.name] = entry["sha256"];
    report["outputs"][output.name] = std::move(entry);
  }
  return report;
}

void print_outputs(const tensor::NamedTensors& outputs) {
  for (const tensor::NamedTensor& output : outputs) {
    fmt::print("{} {}\n", output.name, output.value.type().text());
    fmt::print("  first   {}\n", fmt::join(first_values(output.value, 8), " "));
    for (const Ranked& one : top_values(output.value, 5)) {
      fmt::print("  top     [{}] {}\n", one.index, one.value);
    }
    fmt::print("  sha256  {}\n", hash_of(output.value));
  }
}

void print_hashes(const tensor::NamedTensors& outputs) {
  for (const tensor::NamedTensor& output : outputs) {
    fmt::print("{}  {}\n", hash_of(output.value), output.name);
  }
}

core::Result<void> write_outputs(const tensor::NamedTensors& outputs, const core::Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const tensor::NamedTensor& output : outputs) {
    COMMENSAL_ASSIGN(const core::Bytes bytes, io::write_npy(output.value));
    COMMENSAL_TRY(core::write_file_atomically(folder / file_name_of(output.name), bytes));
  }
  return {};
}

}  // namespace commensal::apps
