// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {

// What commands say of a model's outputs.

/// How a vector of scores is read.
struct Reading {
  std::size_t top = 5;              // so many of the greatest are named
  bool softmax = false;             // with their shares by softmax
  std::string labels_file;          // a line for each element
  std::vector<std::string> labels;  // of read_labels

  void declare(CLI::App& app);
};

/// Whether a tensor of these dimensions, of which those below 0 are open, may have so many
/// elements.
bool may_have(std::span<const std::int64_t> dims, std::int64_t elements);
/// Reads the labels, if a file is named. Errors: those of files.
core::Result<void> read_labels(Reading& reading);
/// Error: kInvalidArgument (no output has as many elements as there are labels).
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
