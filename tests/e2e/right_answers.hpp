// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <string>
#include <vector>

#include <tests/e2e/system.hpp>

namespace commensal::e2e {

/// The bytes that the digit network answers to picture(0), picture(1)..., computed here.
inline std::vector<std::string> right_answers(std::uint64_t pictures) {
  const core::Bytes bytes = *core::read_file(kModel);
  const auto graph = *graph::onnx::import_bytes(bytes, nullptr);
  auto session = graph::Session::create(graph, {});
  std::vector<std::string> answers;
  for (std::uint64_t i = 0; i < pictures; ++i) {
    const std::vector<tensor::Tensor> inputs = {picture(i)[0].value};
    const auto outputs = *session->run(inputs);
    answers.emplace_back(core::as_text(outputs[0].bytes()));
  }
  return answers;
}

}  // namespace commensal::e2e
