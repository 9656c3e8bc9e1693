// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/version.hpp>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/session.hpp>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace commensal::compute {
namespace {

using tensor::TensorType;

ErrorCode code_of(core::ErrorCode code) {
  switch (code) {
    case core::ErrorCode::kInvalidArgument:
    case core::ErrorCode::kFailedPrecondition:
      return ErrorCode::kInvalidArgument;
    case core::ErrorCode::kNotFound:
      return ErrorCode::kNotFound;
    case core::ErrorCode::kPermissionDenied:
      return ErrorCode::kPermissionDenied;
    case core::ErrorCode::kResourceExhausted:
    case core::ErrorCode::kOverBudget:
      return ErrorCode::kResourceExhausted;
    case core::ErrorCode::kUnsupported:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kInternal;
  }
}

Error error_of(core::Error error) { return {code_of(error.code), std::move(error.message)}; }

template <class... Args>
Error refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return {code, fmt::format(format, std::forward<Args>(args)...)};
}

/// kUndefined for what this interface does not carry (strings).
DType dtype_of(tensor::DType dtype) {
  return tensor::traits(dtype).size > 0 ? static_cast<DType>(dtype) : DType::kUndefined;
}

const tensor::DTypeTraits* traits_of(DType dtype) {
  for (const tensor::DTypeTraits& row : tensor::all_dtypes()) {
    if (row.size > 0 && static_cast<DType>(row.dtype) == dtype) return &row;
  }
  return nullptr;
}

std::vector<Port> ports_of(const graph::Graph& graph, std::span<const graph::ValueId> ids) {
  std::vector<Port> ports;
  for (const graph::ValueId id : ids) {
    const graph::ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    Port& port = ports.emplace_back();
    port.name = value.name;
    if (value.declared.containers.empty()) port.dtype = dtype_of(value.declared.dtype);
    if (value.declared.ranked) port.shape = value.declared.dims;
    port.symbols = value.declared.symbols;
    port.text = value.declared.text();
  }
  return ports;
}

}  // namespace

void misuse(std::string_view what) {
  std::fprintf(stderr, "commensal: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::string_view name_of(DType dtype) {
  const auto* row = traits_of(dtype);
  return row != nullptr ? row->name : "undefined";
}

std::size_t size_of(DType dtype) {
  const auto* row = traits_of(dtype);
  return row != nullptr ? static_cast<std::size_t>(row->size) : 0;
}

std::string_view version() { return core::kVersion; }

int numerics_version() { return kernels::kNumericsVersion; }

struct [[gnu::visibility("hidden")]] Model::State {
  std::shared_ptr<const graph::Graph> graph;
  std::vector<Port> inputs, outputs;
  std::size_t parameters = 0;
  // Some models take a while to judge: not before somebody asks.
  mutable std::once_flag judged;
  mutable std::string batching_objection;

  static Result<Model> make(core::Result<std::shared_ptr<const graph::Graph>> imported) {
    if (!imported) return error_of(std::move(imported).error());
    auto state = std::make_shared<State>();
    state->graph = *std::move(imported);
    state->inputs = ports_of(*state->graph, state->graph->inputs);
    state->outputs = ports_of(*state->graph, state->graph->outputs);
    for (const Port& port : state->inputs) {
      if (port.dtype == DType::kUndefined) {
        return refuse(ErrorCode::kUnsupported,
                      "input '{}' is {}, expected a tensor of numbers or bools", port.name,
                      port.text);
      }
    }
    for (const auto& [id, value] : state->graph->initialisers) {
      state->parameters += static_cast<std::size_t>(value.elements());
    }
    return Model(std::move(state));
  }
};

Model::Model(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Model> Model::load(const std::string& path) {
  auto imported = graph::onnx::import_file(path);
  if (!imported) imported = core::in_context(fmt::format("'{}'", path), imported.error());
  return State::make(std::move(imported));
}

Result<Model> Model::parse(std::span<const std::byte> onnx, std::shared_ptr<const void> owner) {
  const core::ByteView bytes{reinterpret_cast<const std::uint8_t*>(onnx.data()), onnx.size()};
  return State::make(graph::onnx::import_bytes(bytes, std::move(owner)));
}

const std::string& Model::name() const { return state_->graph->name; }
std::span<const Port> Model::inputs() const { return state_->inputs; }
std::span<const Port> Model::outputs() const { return state_->outputs; }
std::size_t Model::node_count() const { return state_->graph->nodes.size(); }
std::size_t Model::parameter_count() const { return state_->parameters; }

const std::string& Model::batching_objection() const {
  std::call_once(state_->judged, [&state = *state_] {
    state.batching_objection = graph::batching_objection(*state.graph);
  });
  return state_->batching_objection;
}

struct [[gnu::visibility("hidden")]] Session::State {
  Model model;
  graph::Session session;

  Result<Tensor> output(const Port& port, tensor::Tensor value, std::span<const TensorView> inputs)
      const;
};

namespace {

/// The caller's memory as a tensor of the runtime.
Result<tensor::Tensor> viewed(const Port& port, const TensorView& input) {
  const auto* row = traits_of(input.dtype);
  if (row == nullptr) {
    return refuse(ErrorCode::kInvalidArgument, "input '{}' has element type {}, expected {}",
                  port.name, static_cast<int>(input.dtype), port.text);
  }
  const auto shape = tensor::Shape::of(input.shape);
  if (!shape) {
    return refuse(ErrorCode::kInvalidArgument, "input '{}': {}", port.name, shape.error().message);
  }
  const TensorType type{row->dtype, *shape};
  if (static_cast<std::int64_t>(input.bytes.size()) != type.bytes()) {
    return refuse(ErrorCode::kInvalidArgument, "input '{}' has {} bytes, expected {} for {}",
                  port.name, input.bytes.size(), type.bytes(), type.text());
  }
  static const std::uint64_t kNothing = 0;  // an empty view may have no address
  const auto* at = reinterpret_cast<const std::uint8_t*>(
      input.bytes.empty() ? static_cast<const void*>(&kNothing) : input.bytes.data());
  if (reinterpret_cast<std::uintptr_t>(at) % static_cast<std::size_t>(row->size) != 0) {
    return refuse(ErrorCode::kInvalidArgument,
                  "input '{}' begins at an odd address, expected one divisible by {}", port.name,
                  row->size);
  }
  const core::ByteView bytes{at, input.bytes.size()};
  if (const auto checked = tensor::check_elements(type.dtype, bytes); !checked) {
    return refuse(ErrorCode::kInvalidArgument, "input '{}': {}", port.name,
                  checked.error().message);
  }
  return tensor::Tensor::view_of(type, bytes, nullptr);
}

bool lies_in(core::ByteView bytes, const TensorView& input) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(input.bytes.data());
  const std::less_equal<> before;
  return !bytes.empty() && before(begin, bytes.data()) &&
         before(bytes.data() + bytes.size(), begin + input.bytes.size());
}

}  // namespace

Result<Tensor> Session::State::output(const Port& port, tensor::Tensor value,
                                      std::span<const TensorView> inputs) const {
  Tensor made;
  made.dtype_ = dtype_of(value.dtype());
  if (made.dtype_ == DType::kUndefined) {
    return refuse(ErrorCode::kUnsupported,
                  "output '{}' is {}, expected a tensor of numbers or bools", port.name,
                  value.type().text());
  }
  // A model may hand an input through; the caller's memory is not ours to keep.
  for (const TensorView& input : inputs) {
    if (!lies_in(value.bytes(), input)) continue;
    value = tensor::Tensor::copy_of(value.type(), value.bytes());
    break;
  }
  const auto dims = value.shape().dims();
  made.shape_.assign(dims.begin(), dims.end());
  auto kept = std::make_shared<const tensor::Tensor>(std::move(value));
  made.bytes_ = std::as_bytes(kept->bytes());
  made.owner_ = std::move(kept);
  return made;
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const Model& model, const SessionOptions& options) {
  graph::SessionOptions inner;
  inner.backend = options.reference ? graph::Backend::kRef : graph::Backend::kCpu;
  inner.threads = options.threads;
  inner.memory_bytes_max = options.memory_bytes_max;
  auto made = graph::Session::create(model.state_->graph, inner);
  if (!made) return error_of(std::move(made).error());
  return Session(std::unique_ptr<State>(new State{model, *std::move(made)}));
}

Result<std::vector<Tensor>> Session::run(std::span<const TensorView> inputs) {
  const auto ports = state_->model.inputs();
  std::vector<tensor::Tensor> values;
  for (std::size_t i = 0; i < inputs.size() && i < ports.size(); ++i) {
    auto value = viewed(ports[i], inputs[i]);
    if (!value) return value.error();
    values.push_back(*std::move(value));
  }
  values.resize(inputs.size());  // one too many is for the runtime to refuse
  auto results = state_->session.run(values);
  if (!results) return error_of(std::move(results).error());
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < results->size(); ++i) {
    auto output = state_->output(state_->model.outputs()[i], std::move((*results)[i]), inputs);
    if (!output) return output.error();
    outputs.push_back(*std::move(output));
  }
  return outputs;
}

}  // namespace commensal::compute
