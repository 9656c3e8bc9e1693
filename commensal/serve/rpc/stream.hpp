// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/messages.hpp>
#include <functional>
#include <memory>

/// The abstract service between provider and gateway. Twins: direct (in this process, one thread)
/// and gRPC; the same contract suite runs against both (contract_test.cpp).
///
/// Threads: every call into a GatewayPort or ProviderPort comes on the loop that its twin was
/// given, fetch_model excepted. send() and close() may be called from that loop only.
namespace commensal::rpc {

/// The gateway's end of one provider's stream. Until Welcome is sent, a message of the provider is
/// one frame (limits::kRpcFrameBytesMax), then it has at most limits::kRpcMessageBytesMax.
class ProviderStream {
 public:
  virtual ~ProviderStream() = default;
  /// Never blocks; dropped where the stream has ended.
  virtual void send(ToProvider message) = 0;
  virtual void close() = 0;
};

/// What the gateway offers to providers.
class GatewayPort {
 public:
  using StreamId = std::uint64_t;

  virtual ~GatewayPort() = default;
  /// `from` is the address that the peer calls from, without its port; "" where there is none.
  virtual StreamId on_open(std::shared_ptr<ProviderStream> stream, const Channel& channel,
                           const std::string& from) = 0;
  virtual void on_message(StreamId stream, ToGateway message) = 0;
  /// The stream has ended, whoever ended it. Last call for this stream.
  virtual void on_close(StreamId stream) = 0;
  /// Path of the model's file, if the holder of the token may have it and calls with the provider's
  /// certificate of the stream that it was given on. Any thread. Errors: kUnauthenticated,
  /// kNotFound.
  virtual core::Result<std::string> model_path(const std::string& session_token,
                                               const core::Digest& model,
                                               const core::Digest& provider_certificate) = 0;
};

/// The provider's end of its stream.
class ProviderPort {
 public:
  virtual ~ProviderPort() = default;
  virtual void on_message(ToProvider message) = 0;
  virtual void on_close(core::Error reason) = 0;
};

using Received = std::function<void(std::int64_t bytes)>;

/// How a provider reaches its gateway.
class GatewayClient {
 public:
  virtual ~GatewayClient() = default;
  /// Opens a stream; its words come to `port`, beginning with Challenge or on_close. A stream that
  /// was open is dropped without a word.
  virtual void attach(std::shared_ptr<ProviderPort> port) = 0;
  virtual void send(ToGateway message) = 0;
  /// Below the stream on which the last word came.
  virtual Channel channel() const = 0;
  /// Downloads a model into `path` and checks its SHA-256; `received` is told now and then how many
  /// bytes have come. Blocks; off the loop.
  /// Errors: kUnauthenticated, kNotFound, kUnavailable, kDataLoss (hash).
  virtual core::Result<void> fetch_model(const std::string& session_token,
                                         const core::Digest& model, const std::string& path,
                                         const Received& received) = 0;
};

}  // namespace commensal::rpc
