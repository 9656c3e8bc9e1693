// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <cstdint>
#include <functional>
#include <memory>

/// The in-process twin of the gRPC stream: frames, as on the wire, travel as tasks of one loop, so
/// that a gateway and its providers run in one thread, in an order that follows from the order of
/// calls alone. Thread-safety: the loop's thread, fetch_model excepted.
namespace commensal::rpc {

namespace detail {
struct DirectPlace;
struct DirectStream;
}  // namespace detail

/// Stands for a gateway's address: where clients find its port, as long as it listens.
class DirectServer {
 public:
  explicit DirectServer(core::Loop& loop);
  DirectServer(const DirectServer&) = delete;
  DirectServer& operator=(const DirectServer&) = delete;
  ~DirectServer();

  /// Precondition: it does not listen.
  void listen(GatewayPort& port);
  /// Ends every stream: the port hears on_close for each before stop() returns, and then nothing;
  /// the providers hear it later. Listening again is possible.
  void stop();

 private:
  friend class DirectClient;
  std::shared_ptr<detail::DirectPlace> place_;
};

/// What the network does to the messages of one client, in both directions.
struct DirectFaults {
  std::int64_t delay_ms = 0;            // of every message, so that they stay in order
  std::function<bool()> drops_message;  // asked for each one; empty: none
};

class DirectClient final : public GatewayClient {
 public:
  explicit DirectClient(DirectServer& server, DirectFaults faults = {}, Channel channel = {});
  DirectClient(const DirectClient&) = delete;
  DirectClient& operator=(const DirectClient&) = delete;
  /// Drops the stream without a word to the provider's port.
  ~DirectClient() override;

  void attach(std::shared_ptr<ProviderPort> port) override;
  void send(ToGateway message) override;
  Channel channel() const override { return channel_; }
  core::Result<void> fetch_model(const std::string& session_token, const core::Digest& model,
                                 const std::string& path, const Received& received) override;
  /// The network breaks: both ends hear on_close, what is on its way is lost.
  void cut();

 private:
  void drop();

  std::shared_ptr<detail::DirectPlace> place_;
  std::shared_ptr<detail::DirectStream> stream_;
  DirectFaults faults_;
  Channel channel_;
};

}  // namespace commensal::rpc
