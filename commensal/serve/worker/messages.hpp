// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/serve/worker/channel.hpp>
#include <commensal/verify/rollout/argument.hpp>
#include <optional>
#include <string>
#include <vector>

/// What a parent and its worker say to each other. A message is its kind and the size of its head
/// (4 bytes each), the head in the encoding of base/protocol, and the elements of its tensors, in
/// the order in which the head has their types. All that comes from a worker is checked against
/// bounds before memory is taken for it.
namespace commensal::worker {

enum class Kind : std::uint32_t {
  kLoad = 1,
  kRun,
  kPack,
  kLoaded,
  kAnswer,
  kFindPack,
  kKeepPack,
  kArgue,
  kArgued
};
/// What the head of a message of this kind may have.
std::size_t head_bytes_max(Kind kind);

/// graph::SessionOptions but for packs and pacer.
struct SessionWords {
  static SessionWords of(const graph::SessionOptions& options);
  graph::SessionOptions options() const;
  core::Result<void> validity() const;

  std::uint8_t backend = 0;
  std::uint8_t isa = 0;  // 0: the best
  std::uint32_t threads = 1;
  std::int64_t memory_bytes_max = 0;
  std::int64_t node_runs_max = 0;
  bool optimise = true;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("backend", self.backend);
    archive.field("isa", self.isa);
    archive.field("threads", self.threads);
    archive.field("memory_bytes_max", self.memory_bytes_max);
    archive.field("node_runs_max", self.node_runs_max);
    archive.field("optimise", self.optimise);
  }
};

/// Parent: be this engine. The model's descriptor comes through the socket.
struct Load {
  static constexpr Kind kKind = Kind::kLoad;

  SessionWords session;
  bool has_packs = false;
  std::vector<protocol::Feed> feeds;
  std::uint64_t model_bytes = 0;
  std::int64_t data_bytes_max = 0;        // memory of the worker's own
  std::vector<std::uint32_t> processors;  // on which alone it runs; none: on any

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("session", self.session);
    archive.field("has_packs", self.has_packs);
    archive.field("feeds", self.feeds);
    archive.field("model_bytes", self.model_bytes);
    archive.field("data_bytes_max", self.data_bytes_max);
    archive.field("processors", self.processors);
  }
};

/// An input or output: graph::Declared under its name.
struct Port {
  core::Result<void> validity() const;

  std::string name;
  std::uint8_t dtype = 0;
  bool ranked = false;
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;  // one for each of dims
  std::vector<std::uint8_t> containers;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("dtype", self.dtype);
    archive.field("ranked", self.ranked);
    archive.field("dims", self.dims);
    archive.field("symbols", self.symbols);
    archive.field("containers", self.containers);
  }
};
/// Name, inputs and outputs of a model: without nodes.
struct Face {
  static Face of(const graph::Graph& graph);
  std::shared_ptr<const graph::Graph> graph() const;

  std::string name;  // one line of it
  std::vector<Port> inputs;
  std::vector<Port> outputs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("inputs", self.inputs);
    archive.field("outputs", self.outputs);
  }
};
/// Worker: it is, or cannot be; then nothing else is said.
struct Loaded {
  static constexpr Kind kKind = Kind::kLoaded;
  core::Result<void> validity() const;

  std::optional<core::Error> error = {};
  core::Digest graph_root{};
  core::Digest weight_root{};
  std::string unconfined = {};  // what the system did not grant; one line
  bool joins = false;           // rollout::Engine::joins()
  Face face = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("error", self.error);
    archive.field("graph_root", self.graph_root);
    archive.field("weight_root", self.weight_root);
    archive.field("unconfined", self.unconfined);
    archive.field("joins", self.joins);
    archive.field("face", self.face);
  }
};

struct Disturbance {
  core::Digest seed{};
  std::uint32_t exponent = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("seed", self.seed);
    archive.field("exponent", self.exponent);
  }
};
/// Parent: compute these, alone or as one. The elements of all inputs follow.
struct Run {
  static constexpr Kind kKind = Kind::kRun;

  std::uint32_t number = 0;  // that may be cancelled
  std::uint64_t step = 1;
  std::optional<Disturbance> noise = {};
  std::int64_t ops_max = graph::kNoBudget;
  bool is_joint = false;
  std::vector<std::vector<tensor::TensorType>> requests = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("number", self.number);
    archive.field("step", self.step);
    archive.field("noise", self.noise);
    archive.field("ops_max", self.ops_max);
    archive.field("is_joint", self.is_joint);
    archive.field("requests", self.requests);
  }
};
/// Worker, to each of them: the outputs, whose elements follow, or why there are none.
struct Answer {
  static constexpr Kind kKind = Kind::kAnswer;

  std::optional<core::Error> error = {};
  std::vector<tensor::TensorType> outputs = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("error", self.error);
    archive.field("outputs", self.outputs);
  }
};

/// Parent: what does this side of a dispute say next? The elements of the step's inputs follow.
struct Argue {
  static constexpr Kind kKind = Kind::kArgue;
  static Argue of(const rollout::Argument& argument);
  /// Of these inputs.
  rollout::Argument argument(receipt::Values inputs) &&;

  std::uint32_t number = 0;  // that may be cancelled
  std::int64_t ops_max = graph::kNoBudget;
  arbiter::Setup setup = {};
  arbiter::Side side = arbiter::Side::kProvider;
  std::vector<rollout::Said> moves = {};
  std::vector<tensor::TensorType> inputs = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("number", self.number);
    archive.field("ops_max", self.ops_max);
    archive.field("setup", self.setup);
    archive.field("side", self.side);
    archive.field("moves", self.moves);
    archive.field("inputs", self.inputs);
  }
};
/// Worker, to it: nothing follows.
struct Argued {
  static constexpr Kind kKind = Kind::kArgued;
  static Argued of(const core::Result<rollout::Counsel>& counsel);
  /// Or the worker's own error.
  core::Result<rollout::Counsel> counsel() &&;

  std::optional<core::Error> error = {};
  core::Digest output_root{};
  std::optional<core::Bytes> move = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("error", self.error);
    archive.field("output_root", self.output_root);
    archive.field("move", self.move);
  }
};

/// Packed weights. Worker: are there any of this name? Parent: so many bytes (0: no), whose
/// descriptor comes through the socket. Worker: keep these, whose bytes follow.
template <Kind kWhat>
struct PackWord {
  static constexpr Kind kKind = kWhat;

  core::Digest name{};
  std::uint64_t bytes = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("bytes", self.bytes);
  }
};
using FindPack = PackWord<Kind::kFindPack>;
using Pack = PackWord<Kind::kPack>;
using KeepPack = PackWord<Kind::kKeepPack>;

/// A message that has begun to arrive.
struct Message {
  Kind kind{};
  core::Bytes head;
};

// Without flush(). Errors: the channel's, kResourceExhausted (a head beyond its bound).
core::Result<void> send(Channel& channel, Kind kind, core::ByteView head);
template <protocol::Part M>
core::Result<void> send(Channel& channel, const M& message) {
  protocol::Writer writer;
  write(writer, message);
  return send(channel, M::kKind, writer.written());
}
core::Result<void> send_elements(Channel& channel, const receipt::Values& values);
std::vector<tensor::TensorType> types_of(const receipt::Values& values);
core::Result<void> send_answer(Channel& channel, const core::Result<receipt::Values>& answer);

// Errors of all: the channel's; kDataLoss for what is not what was expected.
core::Result<Message> receive(Channel& channel);
core::Error unexpected(const Message& message, Kind expected);
template <protocol::Part M>
core::Result<M> decode(const Message& message) {
  if (message.kind != M::kKind) return tl::unexpected(unexpected(message, M::kKind));
  protocol::Reader reader(message.head, "worker");
  M made;
  read(reader, made);
  if (const auto whole = reader.finish(); !whole) {
    return core::fail(core::ErrorCode::kDataLoss, "{}", whole.error().message);
  }
  return made;
}
core::Result<receipt::Values> receive_tensors(Channel& channel,
                                              const std::vector<tensor::TensorType>& types,
                                              tensor::Arena& arena);
/// The inputs of all that is asked for.
core::Result<std::vector<receipt::Values>> receive_requests(Channel& channel, const Run& run,
                                                            tensor::Arena& arena);
/// Takes the elements as well, into `arena`; its limit bounds what an answer may have. The inner
/// error is the worker's own.
core::Result<core::Result<receipt::Values>> receive_answer(Channel& channel, const Message& message,
                                                           tensor::Arena& arena);

}  // namespace commensal::worker
