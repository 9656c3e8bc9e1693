// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <apps/common/outputs.hpp>
#include <apps/common/summary.hpp>
#include <apps/common/terminal.hpp>
#include <cerrno>
#include <cmath>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/tensor/score_extent.hpp>
#include <cstring>

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

/// Two names may become one: then the second has a number.
std::vector<std::string> file_names_of(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::string file = file_name_of(name);
    for (int i = 2; std::ranges::find(files, file) != files.end(); ++i)
      file = file_name_of(fmt::format("{}.{}", name, i));
    files.push_back(std::move(file));
  }
  return files;
}

// A number as it was printed; NaN and infinities, which JSON lacks, stay text.
Json number(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

/// Labels belong to outputs whose rows have as many elements.
bool is_labelled(const tensor::Tensor& output, const Scores& scores) {
  return tensor::may_have_labels(output.shape().dims(), scores.labels.size());
}

/// The rows of scores that an output is read as; 0: it is not.
struct Rows {
  std::int64_t count = 0;
  std::int64_t extent = 0;
};

Rows rows_of(const tensor::Tensor& output, const Scores& scores) {
  const bool has_labels = is_labelled(output, scores);
  const std::int64_t extent = tensor::score_extent(output.shape().dims(), scores.labels.size());
  if (output.dtype() == tensor::DType::kString || output.elements() == 0) return {};
  if (extent < 2 && !has_labels) return {};
  const Rows rows{output.elements() / extent, extent};
  return rows.count == 1 || scores.is_said || has_labels ? rows : Rows{};
}

/// Beside an element that is infinite or no number there are no shares.
std::string share_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.2f} %", 100 * share) : "-";
}

std::string label_of(const tensor::Tensor& output, const Scores& scores, const Ranked& one) {
  if (!is_labelled(output, scores)) return "";
  return scores.labels[static_cast<std::size_t>(one.index)];
}

Json top_json(const tensor::Tensor& output, const Scores& scores) {
  Json top = Json::array();
  const Rows rows = rows_of(output, scores);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    for (const Ranked& one : top_values(output, row, rows.extent, scores.top)) {
      Json ranked = Json::object();
      if (rows.count > 1) ranked["row"] = row;
      ranked["index"] = one.index;
      ranked["value"] = number(one.value);
      if (scores.softmax) ranked["share"] = one.share;
      if (is_labelled(output, scores)) ranked["label"] = label_of(output, scores, one);
      top.push_back(std::move(ranked));
    }
  }
  return top;
}

void print_top(const tensor::Tensor& output, const Scores& scores) {
  constexpr std::int64_t kRowsShown = 8;
  const Rows rows = rows_of(output, scores);
  for (std::int64_t row = 0; row < std::min(rows.count, kRowsShown); ++row) {
    const std::string place = rows.count > 1 ? fmt::format("[{}]", row) : "";
    for (const Ranked& one : top_values(output, row, rows.extent, scores.top)) {
      const std::string share = scores.softmax ? "  " + share_text(one.share) : "";
      const std::string label = label_of(output, scores, one);
      fmt::print("  top     {}[{}] {}{}{}{}\n", place, one.index, one.value, share,
                 label.empty() ? "" : "  ", for_terminal(label));
    }
  }
  if (rows.count > kRowsShown && scores.top > 0)
    fmt::print("  ...     {} more rows, which --json has\n", rows.count - kRowsShown);
}

Json output_json(const tensor::Tensor& output, const Scores& scores) {
  Json entry;
  entry["datatype"] = datatype_of(output.dtype());
  const auto dims = output.shape().dims();
  entry["shape"] = std::vector<std::int64_t>(dims.begin(), dims.end());
  entry["data"] = Json::array();
  const auto all = static_cast<std::size_t>(output.elements());
  if (output.dtype() == tensor::DType::kString) {
    for (const std::string_view text : output.strings()) entry["data"].push_back(text);
  } else {
    for (const std::string& value : first_values(output, all)) {
      entry["data"].push_back(number(value));
    }
  }
  entry["top"] = top_json(output, scores);
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

void Reading::declare(CLI::App& app) {
  app.add_option("--top", top, "Name so many of the greatest elements of a vector, or of each row")
      ->check(CLI::Range(0, 1'000'000))
      ->each([this](const std::string&) { is_top_said = true; })
      ->capture_default_str();
  app.add_flag("--softmax", softmax, "Say what share of its row each of them is, by softmax");
  app.add_option("--labels", labels_file,
                 "Text file with a line for each element of a row: its name");
}

Scores Reading::of(const std::string& output) const {
  Scores scores{
      .top = top, .softmax = softmax, .labels = labels, .is_said = softmax || is_top_said};
  if (!card.output.empty() && card.output != output) return scores;
  if (card.top) scores.top = *card.top;
  if (!card.labels.empty()) scores.labels = card.labels;
  scores.softmax = softmax || card.softmax;
  scores.is_said = scores.is_said || card.softmax || card.top;
  return scores;
}

core::Result<void> read_labels(Reading& reading) {
  if (reading.labels_file.empty()) return {};
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(reading.labels_file));
  std::string_view rest = core::as_text(bytes);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reading.labels.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

core::Result<void> fit_labels(const Reading& reading, const tensor::NamedTensors& outputs) {
  if (reading.labels_file.empty()) return {};
  const auto fits = [&](const tensor::NamedTensor& output) {
    return is_labelled(output.value, reading.of(output.name));
  };
  if (std::ranges::any_of(outputs, fits)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "'{}' has {} labels, which fits no output: the first, '{}', is {}",
                    reading.labels_file, reading.labels.size(),
                    outputs.empty() ? "" : outputs[0].name,
                    outputs.empty() ? "" : outputs[0].value.type().text());
}

core::Result<void> fit_declared(const Reading& reading, const graph::Graph& graph) {
  if (reading.labels_file.empty()) return {};
  const auto may_fit = [&](graph::ValueId id) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    return !declared.ranked || tensor::may_have_labels(declared.dims, reading.labels.size());
  };
  if (std::ranges::any_of(graph.outputs, may_fit)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "'{}' has {} labels, which fits no output of the model", reading.labels_file,
                    reading.labels.size());
}

std::string datatype_of(tensor::DType dtype) {
  const tensor::DTypeTraits& known = tensor::traits(dtype);
  std::string text(known.oip.empty() ? known.name : known.oip);
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

Json outputs_json(const tensor::NamedTensors& outputs, const Reading& reading) {
  Json report = Json::object();
  for (const tensor::NamedTensor& output : outputs) {
    report[output.name] = output_json(output.value, reading.of(output.name));
  }
  return report;
}

void print_outputs(const tensor::NamedTensors& outputs, const Reading& reading) {
  for (const tensor::NamedTensor& output : outputs) {
    fmt::print("{} {}\n", output.name, output.value.type().text());
    fmt::print("  first   {}\n", fmt::join(first_values(output.value, 8), " "));
    print_top(output.value, reading.of(output.name));
    fmt::print("  sha256  {}\n", hash_of(output.value));
  }
}

void print_hashes(const tensor::NamedTensors& outputs) {
  for (const tensor::NamedTensor& output : outputs) {
    fmt::print("{}  {}\n", hash_of(output.value), output.name);
  }
}

core::Result<void> make_output_folder(const core::Path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return core::fail(core::ErrorCode::kInvalidArgument, "cannot create the folder '{}': {}",
                      folder.string(), error.message());
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return core::fail(core::ErrorCode::kUnavailable, "cannot write into the folder '{}': {}",
                    folder.string(), std::strerror(errno));
}

core::Result<void> write_outputs(const tensor::NamedTensors& outputs, const core::Path& folder) {
  COMMENSAL_TRY(make_output_folder(folder));
  std::vector<std::string> names;
  for (const tensor::NamedTensor& output : outputs) names.push_back(output.name);
  const auto files = file_names_of(names);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = io::write_npy(outputs[i].value);
    if (!bytes) return core::in_context(fmt::format("output '{}'", names[i]), bytes.error());
    COMMENSAL_TRY(core::write_file_atomically(folder / files[i], *bytes));
  }
  return {};
}

core::Result<void> keep_inputs(const std::vector<std::string>& names, const core::Path& folder,
                               const std::vector<std::string>& given) {
  for (const std::string& file : file_names_of(names)) {
    for (const std::string& one : given) {
      std::error_code error;
      const core::Path input = one.substr(one.find('=') + 1);  // NAME=FILE, or FILE
      if (!std::filesystem::equivalent(input, folder / file, error)) continue;
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "an output would be written over the input '{}': give another --output-dir",
                        input.string());
    }
  }
  return {};
}

}  // namespace commensal::apps
