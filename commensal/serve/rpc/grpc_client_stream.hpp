// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.grpc.pb.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <commensal/serve/rpc/grpc_outbox.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

/// The provider's stream of grpc_client.cpp, which alone includes this.
namespace commensal::rpc {

/// Counts the streams that gRPC still holds, so that a client can wait for the last one.
class StreamCount {
 public:
  void add();
  void remove();
  void wait_for_none();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

/// One stream, with two faces: gRPC's threads call its reactions (On...), the loop the rest.
///
/// gRPC lets go of a reactor when no operation is left, and the loop starts operations at times of
/// its own; the hold that begin() takes bridges them. It is released exactly once, by whoever has
/// the turn when the stream ends: the reading (kReading) or the loop with a message (kDelivering).
class ClientStream final : public grpc::ClientBidiReactor<wire::Frame, wire::Frame>,
                           public std::enable_shared_from_this<ClientStream> {
 public:
  ClientStream(core::Loop& loop, std::string address, const tls::Identity* identity,
               std::shared_ptr<StreamCount> count);

  void begin(std::shared_ptr<ProviderPort> port);
  void send(const ToGateway& message);
  /// The loop's, once a message has come.
  Channel channel() const { return channel_; }
  /// The port hears nothing more.
  void drop();

  void OnReadInitialMetadataDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  class Delivery;
  enum class Turn { kReading, kDelivering, kReleased };

  /// Ends the stream from this side; the first reason counts.
  void cancel(std::optional<core::Error> reason);
  void end_delivery(bool delivered);
  void read_locked();
  void pump();
  void pump_locked();
  void release_locked();

  core::Loop& loop_;
  const std::string address_;
  const std::shared_ptr<StreamCount> count_;
  std::unique_ptr<wire::ProviderStream::Stub> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<ProviderPort> port_;  // the loop's; empty: it hears nothing more
  wire::Frame incoming_;                // gRPC's, between StartRead and OnReadDone
  Assembly assembly_;                   // likewise
  Channel channel_;                     // gRPC's until the first message is with the loop
  bool met_ = false;                    // gRPC's: channel_ is known

  std::mutex mutex_;  // guards what follows
  std::shared_ptr<ClientStream> self_;
  Outbox outbox_;
  Turn turn_ = Turn::kReading;
  bool ended_ = false;
  bool is_pump_due_ = false;  // posted to the loop
  std::optional<core::Error> reason_;
};

}  // namespace commensal::rpc
