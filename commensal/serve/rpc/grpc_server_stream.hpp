// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.grpc.pb.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/memory_budget.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/grpc_downloads.hpp>
#include <commensal/serve/rpc/grpc_outbox.hpp>
#include <commensal/serve/rpc/grpc_transport.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <memory>
#include <mutex>
#include <vector>

/// The streams of grpc_server.cpp, and what they share; for its own sources only.
namespace commensal::rpc {

class ServerStream;

/// What the streams of one server share.
struct ServerHall {
  core::Loop& loop;
  const std::shared_ptr<Door> door;
  const std::shared_ptr<const tls::Identity> identity;  // null: no TLS
  core::MemoryBudget half_sent{{.bytes_max = limits::kRpcHalfSentBytesMax,
                                .owner_bytes_max = limits::kRpcHalfSentOfNetworkBytesMax,
                                .owner_leases_max = limits::kProvidersMax}};
  Fetches fetches{door};
  // The loop's:
  GatewayPort* port;  // null: stopped
  std::vector<std::shared_ptr<ServerStream>> open;
  std::vector<std::weak_ptr<ServerStream>>
      leaving;  // for what they had half sent, until it is free
};

/// One provider's stream, with two faces: gRPC's threads call its reactions (On...), the loop its
/// ProviderStream. gRPC holds it until OnDone, the gateway as long as it likes.
class ServerStream final : public grpc::ServerBidiReactor<wire::Frame, wire::Frame>,
                           public ProviderStream,
                           public std::enable_shared_from_this<ServerStream> {
 public:
  /// For gRPC, which keeps `context` until OnDone.
  static ServerStream* begin(std::shared_ptr<ServerHall> hall,
                             grpc::CallbackServerContext* context);
  ServerStream(std::shared_ptr<ServerHall> hall, grpc::CallbackServerContext* context);

  void send(ToProvider message) override;
  void close() override;
  /// On the loop: the port hears on_close, unless it has.
  void tell_closed();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void open();
  void read_next();
  void deliver_next(std::vector<ToGateway> messages, std::size_t next);
  void deliver(std::vector<ToGateway> messages, std::size_t next);
  /// No more messages either way, but for those that wait to be written if `drain`.
  void end(const grpc::Status& status, bool drain);
  core::Result<std::optional<wire::Frame>> take_piece();
  void abort();
  void pump();
  void pump_locked();
  std::int64_t message_bytes_max() const;
  void note_piece(bool is_last);
  void watch_writing();
  void look_later();
  void look();
  void make_room();
  void hold_later();
  void read_when_held();

  const std::shared_ptr<ServerHall> hall_;
  grpc::CallbackServerContext* const context_;  // valid while not finished_
  const Peer from_;
  const core::Digest provider_key_hash_;
  // The loop's:
  GatewayPort::StreamId id_ = 0;
  bool opened_ = false;
  bool closed_ = false;
  // gRPC's, between StartRead and OnReadDone:
  wire::Frame incoming_;
  Assembly assembly_;
  core::MemoryBudget::Lease half_sent_;
  std::atomic<std::int64_t> half_sent_bytes_ = 0;  // the same, for the loop

  std::atomic<bool> welcomed_ = false;
  std::atomic<bool> was_asked_ = false;  // for work: its answers may be large
  std::mutex mutex_;                     // guards what follows
  PieceWatch watch_;
  std::shared_ptr<ServerStream> self_;
  Outbox outbox_;
  std::uint64_t frames_seen_ = 0;  // written, at the last look
  bool is_write_watched_ = false;
  bool is_pump_due_ = false;  // posted to the loop
  grpc::Status status_;
  bool ended_ = false;
  bool cancelling_ = false;  // `context_` is in use: Finish waits
  bool finished_ = false;    // gRPC is called no more
};

/// A call that is not taken.
template <class Reactor>
class Refused final : public Reactor {
 public:
  explicit Refused(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace commensal::rpc
