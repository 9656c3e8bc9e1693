// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/named.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {

// What commands say of a model's outputs.

/// Outputs under their names; item i of a sequence under "NAME[i]", what is nothing left out.
tensor::NamedTensors named_outputs(const graph::Graph& graph,
                                   const std::vector<tensor::Value>& values);

/// {"sha256": {name: hash}, "outputs": {name: {datatype, shape, first, top, sha256}}}
nlohmann::ordered_json outputs_json(const tensor::NamedTensors& outputs);
void print_outputs(const tensor::NamedTensors& outputs);
/// One line each, as sha256sum writes them.
void print_hashes(const tensor::NamedTensors& outputs);
/// Each as NAME.npy in `folder`, which is made.
core::Result<void> write_outputs(const tensor::NamedTensors& outputs, const core::Path& folder);

}  // namespace commensal::apps
