// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.grpc.pb.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// How providers fetch models from grpc_server.cpp.
namespace commensal::rpc {

struct ServerHall;

/// One download. It is ended by its connection: gRPC's own way may react before it returns.
struct Fetch {
  std::string session, network, connection;
  std::atomic<std::uint64_t> chunks = 0;  // that were taken
  std::uint64_t seen = 0;                 // the loop's: ... at the last look
};

/// All downloads: a few of each provider, and of all; beyond that the network that has most loses
/// its oldest (core::who_leaves). Thread-safety: any thread.
class Fetches {
 public:
  explicit Fetches(std::shared_ptr<Door> door) : door_(std::move(door)) {}
  /// Null where its provider has as many as it may.
  std::shared_ptr<Fetch> begin(const std::string& session, const Peer& from);
  void end(const std::shared_ptr<Fetch>& fetch);
  /// Ends its connection, unless a chunk was taken since the last look.
  void look(Fetch& fetch);

 private:
  const std::shared_ptr<Door> door_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Fetch>> all_;  // oldest first
};

/// One download: chunks of the file as fast as the provider takes them, one each
/// limits::kRpcLookMs at least, while its stream lasts.
class ModelStream final
    : public grpc::ServerBidiReactor<wire::FetchModelRequest, wire::ModelChunk> {
 public:
  /// For gRPC, which keeps `context` until OnDone. `models` outlives the server.
  ModelStream(std::shared_ptr<ServerHall> hall, GatewayPort& models,
              grpc::CallbackServerContext* context);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  core::Result<std::string> path() const;
  core::Result<void> begin();
  void write_next();
  void finish(const grpc::Status& status);

  const std::shared_ptr<ServerHall> hall_;
  GatewayPort& models_;
  grpc::CallbackServerContext* const context_;
  const Peer from_;
  std::shared_ptr<Fetch> fetch_;  // null: it was refused
  wire::FetchModelRequest request_;
  std::ifstream file_;
  wire::ModelChunk chunk_;
};

}  // namespace commensal::rpc
