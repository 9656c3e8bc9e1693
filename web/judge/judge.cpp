// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <cstdlib>

/// The face of judge.wasm, for web/verify/judge.js: a model is loaded, then run on inputs, both as
/// bytes in memory that judge_alloc() gave. A call returns 0, or 1 and its error, one line; either
/// is read at judge_result(). Numbers are big-endian.
///   judge_load  graph root, weight root (32 bytes each), numeric version, nodes (4 each)
///   judge_run   takes and returns tensors as openings have them: a count, then name, dtype, shape,
///               size, elements of each; behind them the state's root (32)
extern "C" {
/// From the page: `done` nodes have run; of graphs inside nodes each time that they do.
__attribute__((import_module("judge"), import_name("progress"))) void judge_progress(int done);
}

namespace {

using namespace commensal;

// Memory of tensors between nodes. Models and their weights come on top, as does the heap.
constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 30;

struct Loaded {
  std::shared_ptr<const core::Bytes> bytes;
  std::shared_ptr<const graph::Graph> graph;
};
Loaded loaded;
core::Bytes result;

class Progress final : public graph::Tracer {
 public:
  bool keeps_tensors() const override { return false; }
  void after_node(const graph::Node&, const kernels::Call&,
                  std::span<const tensor::Tensor>) override {
    judge_progress(++done_);
  }

 private:
  int done_ = 0;
};

core::Result<core::Bytes> load(core::ByteView model) {
  loaded = {};
  loaded.bytes = std::make_shared<const core::Bytes>(model.begin(), model.end());
  COMMENSAL_ASSIGN(loaded.graph, graph::onnx::import_bytes(*loaded.bytes, loaded.bytes));
  const receipt::ModelRoots roots = receipt::model_roots(*loaded.graph);
  protocol::Writer writer;
  writer.raw(roots.graph);
  writer.raw(roots.weights);
  writer.u32(static_cast<std::uint32_t>(kernels::kNumericsVersion));
  writer.u32(static_cast<std::uint32_t>(loaded.graph->nodes.size()));
  return std::move(writer).take();
}

core::Result<tensor::NamedTensors> read_tensors(core::ByteView bytes) {
  protocol::Reader reader(bytes, "inputs");
  tensor::NamedTensors tensors;
  for (std::size_t left = reader.count(); left > 0; --left) {
    std::string name(reader.text());
    COMMENSAL_ASSIGN(tensor::Tensor value, tensor::read_tensor(reader));
    tensors.push_back({std::move(name), std::move(value)});
  }
  COMMENSAL_TRY(reader.finish());
  return tensors;
}

/// In the graph's order, as a job has them.
core::Result<std::vector<tensor::Tensor>> inputs_of(const graph::Graph& graph,
                                                    const tensor::NamedTensors& given) {
  std::vector<tensor::Tensor> inputs;
  for (const tensor::NamedTensor& item : given) {
    const std::size_t at = inputs.size();
    if (at >= graph.inputs.size() || graph.name_of(graph.inputs[at]) != item.name) {
      return core::fail(core::ErrorCode::kInvalidArgument,
                        "input '{}' is not the model's number {}", item.name, at);
    }
    inputs.push_back(item.value);
  }
  return inputs;
}

core::Result<core::Bytes> run(core::ByteView inputs) {
  if (loaded.graph == nullptr) {
    return core::fail(core::ErrorCode::kFailedPrecondition, "no model is loaded");
  }
  const graph::Graph& graph = *loaded.graph;
  COMMENSAL_ASSIGN(const tensor::NamedTensors given, read_tensors(inputs));
  COMMENSAL_ASSIGN(const auto ordered, inputs_of(graph, given));
  COMMENSAL_ASSIGN(
      auto session,
      graph::Session::create(loaded.graph, {.backend = graph::Backend::kRef,
                                            .memory_bytes_max = kMemoryBytesMax}));
  Progress progress;
  COMMENSAL_ASSIGN(const auto made, session.run(ordered, {.tracer = &progress}));
  tensor::NamedTensors outputs;
  for (const graph::ValueId id : graph.outputs) {
    outputs.push_back({graph.name_of(id), made[outputs.size()]});
  }
  protocol::Writer writer;
  writer.count(outputs.size());
  for (const tensor::NamedTensor& output : outputs) {
    writer.text(output.name);
    tensor::write(writer, output.value);
  }
  writer.raw(receipt::state_root(outputs));
  return std::move(writer).take();
}

int say(core::Result<core::Bytes> said) {
  if (said) {
    result = *std::move(said);
    return 0;
  }
  const core::ByteView why = core::as_bytes(said.error().message);
  result.assign(why.begin(), why.end());
  return 1;
}

}  // namespace

extern "C" {

[[gnu::used]] void* judge_alloc(std::size_t size) { return std::malloc(size); }
[[gnu::used]] void judge_free(void* memory) { std::free(memory); }
[[gnu::used]] const void* judge_result() { return result.data(); }
[[gnu::used]] std::size_t judge_result_size() { return result.size(); }
[[gnu::used]] int judge_load(const std::uint8_t* model, std::size_t size) {
  return say(load({model, size}));
}
[[gnu::used]] int judge_run(const std::uint8_t* inputs, std::size_t size) {
  return say(run({inputs, size}));
}

}  // extern "C"
