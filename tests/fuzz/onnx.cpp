// SPDX-License-Identifier: Apache-2.0
// The ONNX importer. A model that it accepts is made ready on both back ends and run on zeros and
// ones of small shapes, which takes it through subgraphs, sequences and shape arithmetic.
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <tests/fuzz/bound.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace {

using namespace commensal;
using tensor::Value;

constexpr std::int64_t kElementsMax = 1 << 12;

// Something that fits, as far as dense tensors can; else nothing, which the session refuses.
Value input_for(const graph::Declared& declared) {
  if (!declared.containers.empty() || tensor::traits(declared.dtype).size == 0) return {};
  std::vector<std::int64_t> dims = declared.dims;
  for (std::int64_t& dim : dims) dim = dim < 0 ? 2 : dim;
  const auto shape = tensor::Shape::of(dims);
  if (!shape || shape->elements() > kElementsMax) return {};
  const tensor::TensorType type{declared.dtype, *shape};
  core::Bytes bytes(static_cast<std::size_t>(type.bytes()));
  const auto size = static_cast<std::size_t>(tensor::traits(declared.dtype).size);
  for (std::size_t at = 0; at < bytes.size(); at += 2 * size) bytes[at] = 1;
  return tensor::Tensor::copy_of(type, bytes);
}

bool run(const std::shared_ptr<const graph::Graph>& graph, graph::Backend backend) {
  graph::SessionOptions options;
  options.backend = backend;
  options.memory_bytes_max = fuzz::kMemoryBytesMax;
  auto session = graph::Session::create(graph, options);
  if (!session) return false;
  std::vector<Value> inputs;
  for (const graph::ValueId id : graph->inputs) {
    inputs.push_back(input_for(graph->values[static_cast<std::size_t>(id)].declared));
  }
  fuzz::Bound bound;
  return session->run_values(inputs, {.pacer = &bound}).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto owner = std::make_shared<const core::Bytes>(data, data + size);
  const auto graph = graph::onnx::import_bytes(*owner, owner);
  if (!graph) {
    core::check(graph.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  for (const graph::Backend backend : {graph::Backend::kRef, graph::Backend::kCpu}) {
    run(*graph, backend);
  }
  return 0;
}
