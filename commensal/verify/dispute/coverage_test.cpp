// SPDX-License-Identifier: Apache-2.0
// Whether disputes about whole networks can end: every node that such a network runs has a program.
// Networks: those of ./test (COMMENSAL_MODELS), other people's (COMMENSAL_DATA), our own.
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>
#include <commensal/verify/arbiter/evidence.hpp>
#include <commensal/verify/arbiter/program.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

namespace commensal::dispute {
namespace {

using tensor::Tensor;

/// Counts nodes by whether the last element of each output has a program.
struct Coverage final : graph::Tracer {
  std::map<std::string, int> without;  // operator and why: how many
  int nodes = 0;

  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    arbiter::NodeCall described;
    described.node = node_text(*node.op, node.opset, node.attributes);
    described.node.outputs.resize(outputs.size(), 1);
    described.tensors =
        *arbiter::check_attributes(described.node, attribute_lists(node.attributes));
    for (const Tensor* input : call.inputs) {
      described.inputs.push_back(input == nullptr ? arbiter::Shaped{} : shaped_of(input->type()));
      described.lists.push_back(input == nullptr ? std::nullopt : list_of(*input));
    }
    ++nodes;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      described.outputs.push_back(shaped_of(outputs[o].type()));
      if (outputs[o].elements() == 0) continue;
      const auto last = static_cast<std::uint64_t>(outputs[o].elements() - 1);
      const auto program = arbiter::Program::of(described, o, last);
      if (program) continue;
      ++without[program.error().message];
      return;
    }
  }
};

std::vector<Tensor> inputs_of(const graph::Graph& graph) {
  kernels::testing::Draw draw(3, 90);
  std::vector<Tensor> made;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    std::vector<std::int64_t> dims = declared.dims;
    for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const tensor::Shape shape = *tensor::Shape::of(dims);
    made.push_back(
        declared.dtype == tensor::DType::kInt64
            ? Tensor::of<std::int64_t>(
                  shape, std::vector<std::int64_t>(static_cast<std::size_t>(shape.elements()), 1))
            : kernels::testing::random_of(draw, declared.dtype, shape));
  }
  return made;
}

void check_network(const std::filesystem::path& file) {
  const auto graph = graph::onnx::import_file(core::Path(file.string()));
  ASSERT_TRUE(graph) << file << ": " << graph.error().message;
  auto session = graph::Session::create(*graph, {});
  ASSERT_TRUE(session) << file << ": " << session.error().message;
  Coverage coverage;
  const auto outputs = session->run(inputs_of(**graph), {.tracer = &coverage});
  ASSERT_TRUE(outputs) << file << ": " << outputs.error().message;
  int missing = 0;
  std::string why;
  for (const auto& [message, count] : coverage.without) {
    missing += count;
    why += fmt::format("; {} x {}", count, message);
  }
  std::printf("%s: %d of %d nodes have programs%s\n", file.filename().c_str(),
              coverage.nodes - missing, coverage.nodes, why.c_str());
  EXPECT_EQ(missing, 0) << file;
}

TEST(ConformanceOfPrograms, EveryNodeOfTheNetworksHasOne) {
  int networks = 0;
  const char* const folders[] = {COMMENSAL_SOURCE_DIR "/models", std::getenv("COMMENSAL_MODELS"),
                                 std::getenv("COMMENSAL_DATA")};
  for (const char* folder : folders) {
    if (folder == nullptr || !std::filesystem::is_directory(folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const bool is_case = entry.path().filename() == "model.onnx";  // of one operator
      if (entry.path().extension() != ".onnx" || is_case) continue;
      check_network(entry.path());
      ++networks;
    }
  }
  EXPECT_GE(networks, 2) << "our own are always there";
}

}  // namespace
}  // namespace commensal::dispute
