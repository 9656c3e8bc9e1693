// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/job.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/serve/worker/channel.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <optional>
#include <string>
#include <vector>

/// What a parent and its worker say to each other. A message is its kind and the size of its head
/// (4 bytes each), the head in the encoding of base/protocol, and the elements of its tensors, in
/// the order in which the head has their types. All that comes from a worker is checked against
/// bounds before memory is taken for it.
namespace commensal::worker {

enum class Kind : std::uint32_t { kLoad = 1, kRun, kPack, kLoaded, kAnswer, kFindPack, kKeepPack };

/// Parent: be this engine. The model's descriptor comes through the socket.
struct Load {
  graph::SessionOptions session;  // but for packs and pacer
  bool has_packs = false;
  std::vector<protocol::Feed> feeds;
  std::uint64_t model_bytes = 0;
  std::int64_t data_bytes_max = 0;  // memory of the worker's own
};
/// Worker: it is, or cannot be.
struct Loaded {
  receipt::ModelRoots roots;
  /// Name, inputs and outputs of the model: without nodes.
  std::shared_ptr<const graph::Graph> face;
  std::string unconfined;  // what the system did not grant
};

/// Parent: compute these, alone or as one.
struct Run {
  std::uint32_t number = 0;  // that may be cancelled
  std::uint64_t step = 1;
  std::optional<noise::Noise> noise = {};
  std::int64_t ops_max = graph::kNoBudget;
  bool is_joint = false;
  std::vector<std::vector<tensor::TensorType>> requests = {};
};

/// Worker: are there packed weights of this name? Parent: so many bytes (0: no), whose descriptor
/// comes through the socket. Or keep these, whose bytes follow.
struct FindPack {
  core::Digest name{};
};
struct Pack {
  std::uint64_t bytes = 0;
};
struct KeepPack {
  core::Digest name{};
  std::uint64_t bytes = 0;
};

/// A message that has begun to arrive.
struct Message {
  Kind kind{};
  core::Bytes head;
};

// Without flush(). Errors: the channel's, kResourceExhausted (a head beyond its bound).
core::Result<void> send(Channel& channel, const Load& message);
core::Result<void> send(Channel& channel, const core::Result<Loaded>& message);
core::Result<void> send(Channel& channel, const Run& message,
                        std::span<const receipt::Values> requests);
core::Result<void> send(Channel& channel, const core::Result<receipt::Values>& answer);
core::Result<void> send(Channel& channel, const FindPack& message);
core::Result<void> send(Channel& channel, const Pack& message);
core::Result<void> send(Channel& channel, const KeepPack& message);

// Errors of all: the channel's; kDataLoss for what is not what was expected.
core::Result<Message> receive(Channel& channel);
core::Result<Load> read_load(const Message& message);
/// The inner error is the worker's own.
core::Result<core::Result<Loaded>> read_loaded(const Message& message);
core::Result<Run> read_run(const Message& message);
core::Result<FindPack> read_find_pack(const Message& message);
core::Result<Pack> read_pack(const Message& message);
core::Result<KeepPack> read_keep_pack(const Message& message);
/// Takes the elements as well, into `arena`; its limit bounds what an answer may have.
core::Result<core::Result<receipt::Values>> receive_answer(Channel& channel, const Message& message,
                                                           tensor::Arena& arena);
core::Result<receipt::Values> receive_tensors(Channel& channel,
                                              const std::vector<tensor::TensorType>& types,
                                              tensor::Arena& arena);

}  // namespace commensal::worker
