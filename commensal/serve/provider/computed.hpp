// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/receipt/opening.hpp>
#include <commensal/verify/receipt/step.hpp>

/// For provider.cpp only.
namespace commensal::provider {

inline std::int64_t bytes_of(const tensor::NamedTensors& tensors) {
  std::int64_t bytes = 0;
  for (const auto& item : tensors) bytes += item.value.type().bytes();
  return bytes;
}

/// A task that has been computed.
struct Computed {
  receipt::Step step;
  core::Digest model;
  core::Digest input_salt;
  core::Digest output_salt;
  core::Digest output_root;
  core::Digest commitment;
  tensor::NamedTensors inputs;
  tensor::NamedTensors outputs;
};

inline receipt::Opening opening_of(const Computed& task) {
  return {.job = task.step.job(),
          .model = task.model,
          .commitment = task.commitment,
          .input_salt = task.input_salt,
          .output_salt = task.output_salt,
          .inputs = task.inputs,
          .outputs = task.outputs};
}

}  // namespace commensal::provider
