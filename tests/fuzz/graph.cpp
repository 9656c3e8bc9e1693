// SPDX-License-Identifier: Apache-2.0
// Random small graphs over the whole operator table, on ref/ and on cpu/: the same bits or the same
// refusal, and the audit columns answer for what ref/ computed.
#include <algorithm>
#include <commensal/compute/graph/session.hpp>
#include <cstring>
#include <tests/fuzz/bound.hpp>
#include <tests/fuzz/random_graph.hpp>

namespace {

using namespace commensal;
using tensor::Tensor;

// Holds some elements of every output against the row's audit columns.
class Audit final : public graph::Tracer {
 public:
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    if (node.op->judge->element == nullptr) return;
    for (std::size_t o = 0; o < outputs.size() && o < call.outputs.size(); ++o) {
      if (call.outputs[o].bytes() == 0 || outputs[o].type() != call.outputs[o]) continue;
      const std::int64_t count = outputs[o].elements();
      for (const std::int64_t i : {std::int64_t{0}, count / 2, count - 1}) {
        check_element(node, call, static_cast<int>(o), i, outputs[o]);
      }
    }
  }

 private:
  static void check_element(const graph::Node& node, const kernels::Call& call, int output,
                            std::int64_t index, const Tensor& made) {
    const kernels::Scalar one = node.op->judge->element(call, output, index);
    const auto size = static_cast<std::size_t>(tensor::traits(made.dtype()).size);
    core::check(std::memcmp(&one.bits, made.bytes().data() + static_cast<std::size_t>(index) * size,
                            size) == 0,
                node.op->name);
    std::vector<kernels::ElementRef> reads;
    node.op->judge->reads(call, output, index, reads);
    for (const kernels::ElementRef& read : reads) {
      core::check(
          call.has(read.input) && read.index >= 0 && read.index < call.in(read.input).elements(),
          node.op->name);
    }
  }
};

core::Result<std::vector<Tensor>> run(const fuzz::RandomGraph& made, graph::Backend backend,
                                      graph::Tracer* tracer) {
  graph::SessionOptions options;
  options.backend = backend;
  options.memory_bytes_max = fuzz::kMemoryBytesMax;
  COMMENSAL_ASSIGN(graph::Session session, graph::Session::create(made.graph, options));
  fuzz::Bound bound;
  return session.run(made.inputs, {.tracer = tracer, .pacer = &bound});
}

// Names the node that makes a graph's output.
std::string maker_of(const graph::Graph& graph, std::size_t output) {
  for (const graph::Node& node : graph.nodes) {
    const bool makes = std::ranges::count(node.outputs, graph.outputs[output]) > 0;
    if (makes) return node.name + " must give the same bits on both";
  }
  return "an input is an output";
}

// cpu/ may need scratch where ref/ needs none, and the work of an optimised graph is estimated
// node by node of its own.
bool is_about_bounds(const core::Error& error) {
  return error.code == core::ErrorCode::kResourceExhausted ||
         error.code == core::ErrorCode::kUnavailable;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices({data, size});
  const fuzz::RandomGraph made = fuzz::random_graph(choices);
  Audit audit;
  const auto judged = run(made, graph::Backend::kRef, &audit);
  const auto fast = run(made, graph::Backend::kCpu, nullptr);
  if (!judged || !fast) {
    if (judged && !is_about_bounds(fast.error())) core::check(false, fast.error().message);
    if (fast && !is_about_bounds(judged.error())) core::check(false, judged.error().message);
    return 0;
  }
  core::check(judged->size() == fast->size(), "both give all outputs");
  for (std::size_t i = 0; i < judged->size(); ++i) {
    const Tensor &a = (*judged)[i], &b = (*fast)[i];
    core::check(a.type() == b.type(), "both give the same type");
    if (a.bytes().empty()) continue;
    const bool same = std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
    if (!same) core::check(false, maker_of(*made.graph, i));
  }
  return 0;
}
