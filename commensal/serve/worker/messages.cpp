// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/serve/worker/messages.hpp>
#include <cstring>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

using Preface = std::array<std::uint32_t, 2>;  // kind, size of the head

/// That a number from elsewhere is one of 0 to `last`.
template <class E>
bool is_one_of(std::uint8_t value, E last) {
  return value <= static_cast<std::uint8_t>(last);
}

Port port_of(const graph::ValueInfo& value) {
  const graph::Declared& declared = value.declared;
  Port port{.name = value.name,
            .dtype = static_cast<std::uint8_t>(declared.dtype),
            .ranked = declared.ranked,
            .dims = declared.dims,
            .symbols = declared.symbols,
            .containers = {}};
  port.symbols.resize(port.dims.size());
  for (const graph::Container container : declared.containers) {
    port.containers.push_back(static_cast<std::uint8_t>(container));
  }
  return port;
}

graph::ValueInfo value_of(const Port& port) {
  graph::ValueInfo value{
      port.name, {static_cast<tensor::DType>(port.dtype), port.ranked, port.dims, port.symbols}};
  for (const std::uint8_t container : port.containers) {
    value.declared.containers.push_back(static_cast<graph::Container>(container));
  }
  return value;
}

}  // namespace

SessionWords SessionWords::of(const graph::SessionOptions& options) {
  return {.backend = static_cast<std::uint8_t>(options.backend),
          .isa = static_cast<std::uint8_t>(options.isa ? 1 + static_cast<int>(*options.isa) : 0),
          .threads = static_cast<std::uint32_t>(options.threads),
          .memory_bytes_max = options.memory_bytes_max,
          .node_runs_max = options.node_runs_max,
          .optimise = options.optimise};
}

graph::SessionOptions SessionWords::options() const {
  graph::SessionOptions options;
  options.backend = static_cast<graph::Backend>(backend);
  if (isa > 0) options.isa = static_cast<kernels::Isa>(isa - 1);
  options.threads = static_cast<int>(threads);
  options.memory_bytes_max = memory_bytes_max;
  options.node_runs_max = node_runs_max;
  options.optimise = optimise;
  return options;
}

Result<void> SessionWords::validity() const {
  if (is_one_of(backend, graph::Backend::kCpu) &&
      (isa == 0 || is_one_of(isa - 1, kernels::Isa::kNeon)))
    return {};
  return fail(ErrorCode::kInvalidArgument, "an unknown back end or instruction set");
}

Result<void> Port::validity() const {
  const auto dtypes = tensor::all_dtypes();
  const bool is_typed = dtype == 0 || std::ranges::any_of(dtypes, [&](const auto& traits) {
                          return static_cast<std::uint8_t>(traits.dtype) == dtype;
                        });
  const bool is_contained = std::ranges::all_of(containers, [](std::uint8_t container) {
    return is_one_of(container, graph::Container::kOptional);
  });
  if (is_typed && is_contained && symbols.size() == dims.size()) return {};
  return fail(ErrorCode::kInvalidArgument, "a type that cannot be");
}

Face Face::of(const graph::Graph& graph) {
  const auto ports = [&](const std::vector<graph::ValueId>& ids) {
    std::vector<Port> made;
    for (const graph::ValueId id : ids) {
      made.push_back(port_of(graph.values[static_cast<std::size_t>(id)]));
    }
    return made;
  };
  return {protocol::one_line(graph.name), ports(graph.inputs), ports(graph.outputs)};
}

std::shared_ptr<const graph::Graph> Face::graph() const {
  auto graph = std::make_shared<graph::Graph>();
  graph->name = name;
  const auto add = [&](const std::vector<Port>& ports, std::vector<graph::ValueId>& ids) {
    for (const Port& port : ports) {
      ids.push_back(static_cast<graph::ValueId>(graph->values.size()));
      graph->values.push_back(value_of(port));
    }
  };
  add(inputs, graph->inputs);
  add(outputs, graph->outputs);
  return graph;
}

Result<void> Loaded::validity() const {
  if (protocol::is_line(unconfined)) return {};
  return fail(ErrorCode::kInvalidArgument, "more than one line");
}

Argue Argue::of(const rollout::Argument& argument) {
  return {.setup = argument.setup,
          .side = argument.side,
          .moves = argument.moves,
          .inputs = types_of(argument.inputs)};
}

rollout::Argument Argue::argument(receipt::Values values) && {
  return {std::move(setup), side, std::move(values), std::move(moves)};
}

Argued Argued::of(const Result<rollout::Counsel>& counsel) {
  if (!counsel) return {.error = counsel.error()};
  return {.output_root = counsel->output_root, .move = counsel->move};
}

Result<rollout::Counsel> Argued::counsel() && {
  if (error) return tl::unexpected(*std::move(error));
  return rollout::Counsel{output_root, std::move(move)};
}

std::size_t head_bytes_max(Kind kind) {
  // What goes in is within its bound wherever the moves are (rollout::check_bounds), what comes out
  // is a move with little around it.
  static_assert(arbiter::kSides * limits::kDisputeBytesMax < limits::kWorkerHeadBytesMax / 4);
  static_assert(limits::kDisputeMoveBytesMax <= limits::kWorkerCounselBytesMax / 2);
  return kind == Kind::kArgued ? limits::kWorkerCounselBytesMax : limits::kWorkerHeadBytesMax;
}

Result<void> send(Channel& channel, Kind kind, core::ByteView head) {
  if (head.size() > head_bytes_max(kind)) {
    return fail(ErrorCode::kResourceExhausted,
                "{} bytes of names and shapes, a worker takes at most {}", head.size(),
                head_bytes_max(kind));
  }
  const Preface preface{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(head.size())};
  core::Bytes all(sizeof(preface));
  std::memcpy(all.data(), preface.data(), sizeof(preface));
  all.insert(all.end(), head.begin(), head.end());
  return channel.send(all);
}

Result<Message> receive(Channel& channel) {
  Preface preface{};
  COMMENSAL_TRY(channel.receive(
      {reinterpret_cast<std::uint8_t*>(preface.data()), preface.size() * sizeof(preface[0])}));
  const auto kind = static_cast<Kind>(preface[0]);
  if (preface[1] > head_bytes_max(kind)) {
    return fail(ErrorCode::kDataLoss, "a message's head of {} bytes", preface[1]);
  }
  Message message{kind, core::Bytes(preface[1])};
  COMMENSAL_TRY(channel.receive(message.head));
  return message;
}

core::Error unexpected(const Message& message, Kind expected) {
  return {ErrorCode::kDataLoss, fmt::format("message {} of a worker, expected {}",
                                            static_cast<std::uint32_t>(message.kind),
                                            static_cast<std::uint32_t>(expected))};
}

std::vector<tensor::TensorType> types_of(const receipt::Values& values) {
  std::vector<tensor::TensorType> types;
  for (const tensor::Tensor& value : values) types.push_back(value.type());
  return types;
}

Result<void> send_elements(Channel& channel, const receipt::Values& values) {
  for (const tensor::Tensor& value : values) {
    const tensor::Tensor elements = tensor::encoded(value);
    if (value.dtype() == tensor::DType::kString) {
      const std::uint64_t size = elements.bytes().size();
      COMMENSAL_TRY(channel.send({reinterpret_cast<const std::uint8_t*>(&size), sizeof size}));
    }
    COMMENSAL_TRY(channel.send(elements.bytes()));
  }
  return {};
}

Result<void> send_answer(Channel& channel, const Result<receipt::Values>& answer) {
  if (!answer) return send(channel, Answer{.error = answer.error()});
  COMMENSAL_TRY(send(channel, Answer{.outputs = types_of(*answer)}));
  return send_elements(channel, *answer);
}

namespace {

/// How many bytes of a tensor come.
Result<std::uint64_t> receive_size(Channel& channel, const tensor::TensorType& type) {
  auto size = static_cast<std::uint64_t>(type.bytes());
  if (type.dtype == tensor::DType::kString) {
    COMMENSAL_TRY(channel.receive({reinterpret_cast<std::uint8_t*>(&size), sizeof size}));
  }
  return size;
}

}  // namespace

Result<receipt::Values> receive_tensors(Channel& channel,
                                        const std::vector<tensor::TensorType>& types,
                                        tensor::Arena& arena) {
  receipt::Values values;
  for (const tensor::TensorType& type : types) {
    COMMENSAL_ASSIGN(const std::uint64_t size, receive_size(channel, type));
    const std::array dims = {static_cast<std::int64_t>(size)};
    COMMENSAL_ASSIGN(const tensor::Shape shape, tensor::Shape::of(dims));
    COMMENSAL_ASSIGN(tensor::Tensor bytes,
                     tensor::Tensor::allocate(arena, {tensor::DType::kUint8, shape}));
    COMMENSAL_TRY(channel.receive(bytes.mutable_bytes()));
    COMMENSAL_ASSIGN(values.emplace_back(), tensor::decoded(type, bytes.bytes(), bytes.owner()));
  }
  return values;
}

Result<std::vector<receipt::Values>> receive_requests(Channel& channel, const Run& run,
                                                      tensor::Arena& arena) {
  std::vector<receipt::Values> requests;
  for (const auto& types : run.requests) {
    COMMENSAL_ASSIGN(requests.emplace_back(), receive_tensors(channel, types, arena));
  }
  return requests;
}

Result<Result<receipt::Values>> receive_answer(Channel& channel, const Message& message,
                                               tensor::Arena& arena) {
  using Values = Result<receipt::Values>;
  COMMENSAL_ASSIGN(const Answer answer, decode<Answer>(message));
  if (answer.error) return Result<Values>(tl::in_place, tl::unexpected(*answer.error));
  COMMENSAL_ASSIGN(receipt::Values values, receive_tensors(channel, answer.outputs, arena));
  return Result<Values>(tl::in_place, std::move(values));
}

}  // namespace commensal::worker
