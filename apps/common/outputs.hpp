// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace commensal::apps {

// What commands say of a model's outputs.

/// How one output's scores are read, row by row along its last dimension (tensor::score_extent).
struct Scores {
  std::size_t top = 5;   // so many of the greatest of a row are named
  bool softmax = false;  // with their shares of the row
  std::span<const std::string> labels;
  bool is_said = false;  // of rows, however many: else only what is one row is read
};

/// What the options say of all outputs, and a card of one.
struct Reading {
  std::size_t top = 5;
  bool is_top_said = false;
  bool softmax = false;
  std::string labels_file;          // a line for each element of a row
  std::vector<std::string> labels;  // of read_labels
  /// Where no option says otherwise.
  struct Card {
    std::string output;  // that it is said of; "": all
    std::optional<std::size_t> top;
    bool softmax = false;
    std::vector<std::string> labels;
  };
  Card card;

  void declare(CLI::App& app);
  /// Of the output of that name; as long as this object lives and is not changed.
  Scores of(const std::string& output) const;
};

/// Reads the labels, if a file is named. Errors: those of files.
core::Result<void> read_labels(Reading& reading);
/// Error: kInvalidArgument (no output's rows have as many elements as there are labels).
core::Result<void> fit_labels(const Reading& reading, const tensor::NamedTensors& outputs);
/// The same before a run, by the shapes that the model declares.
core::Result<void> fit_declared(const Reading& reading, const graph::Graph& graph);

/// Outputs under their names; item i of a sequence under "NAME[i]", what is nothing left out.
tensor::NamedTensors named_outputs(const graph::Graph& graph,
                                   const std::vector<tensor::Value>& values);

/// {name: {datatype, shape, data, top, sha256}}, as docs/http.md has it.
nlohmann::ordered_json outputs_json(const tensor::NamedTensors& outputs, const Reading& reading);
void print_outputs(const tensor::NamedTensors& outputs, const Reading& reading);
/// FP32, as the Open Inference Protocol spells it; types that it lacks likewise, as STRING.
std::string datatype_of(tensor::DType dtype);
/// One line each, as sha256sum writes them.
void print_hashes(const tensor::NamedTensors& outputs);
/// That no file of theirs would be one of the inputs, each FILE or NAME=FILE. Error:
/// kInvalidArgument.
core::Result<void> keep_inputs(const std::vector<std::string>& names, const core::Path& folder,
                               const std::vector<std::string>& given);
/// Makes the folder. Errors: kInvalidArgument (it cannot be made), kUnavailable (nor be written
/// to).
core::Result<void> make_output_folder(const core::Path& folder);
/// Each as NAME.npy in `folder`, which is made; the second of two whose names are one file's as
/// NAME.2.npy.
core::Result<void> write_outputs(const tensor::NamedTensors& outputs, const core::Path& folder);

}  // namespace commensal::apps
