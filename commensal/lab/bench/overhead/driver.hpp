// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/serve/rpc/stream.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <functional>
#include <optional>

namespace commensal::lab::bench::overhead {

/// The least of a gateway that keeps one provider busy: it always has as many tasks under way as it
/// was told, countersigns every batch at once and closes a round of the beacon now and then. The
/// processor time that it takes itself is counted apart, but for the copy of every request's
/// tensors: that stands for their decoding, and what it costs depends on what the provider keeps.
/// Thread-safety: the loop's thread.
class Driver final : public rpc::GatewayPort {
 public:
  struct Input {
    tensor::NamedTensors tensors;
    core::Digest root{};
  };
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    core::Rng& rng;
    const std::vector<Input>& inputs;  // taken in turn
    receipt::ModelRoots roots;
    core::Digest model{};
    std::string model_path;
  };
  /// `done` is called once all are answered, with the first error if there was one.
  using Done = std::function<void(core::Result<void>)>;

  explicit Driver(Dependencies deps);

  bool is_connected() const { return connected_; }
  void run(std::size_t requests, std::size_t in_flight, Done done);

  std::int64_t own_cpu_ns() const { return own_cpu_ns_; }
  std::uint64_t batches() const { return batches_; }
  std::uint64_t winners() const { return winners_; }

  StreamId on_open(std::shared_ptr<rpc::ProviderStream> stream, const rpc::Channel& channel,
                   const std::string& from) override;
  void on_message(StreamId stream, rpc::ToGateway message) override;
  void on_close(StreamId) override { connected_ = false; }
  core::Result<std::string> model_path(const std::string&, const core::Digest&,
                                       const core::Digest&) override {
    return deps_.model_path;
  }

 private:
  void handle(rpc::Hello hello);
  void handle(rpc::Commit commit);
  void handle(rpc::Deliver);
  void handle(rpc::Refuse refusal);
  void handle(rpc::Claims claims);
  template <class Other>
  void handle(Other) {}

  tensor::NamedTensors decoded(const Input& input);
  void send_offer();
  void answered();
  void close_round();

  Dependencies deps_;
  crypto::SecretKey key_;
  beacon::HashChain chain_;
  protocol::HashChainHead head_;
  crypto::Address provider_;
  std::optional<core::Digest> beacon_;
  std::shared_ptr<rpc::ProviderStream> stream_;
  bool connected_ = false;
  std::uint64_t next_ = 1;
  std::size_t to_send_ = 0, to_answer_ = 0;
  Done done_;
  core::Result<void> outcome_;
  std::int64_t round_closed_ns_ = 0;
  std::int64_t own_cpu_ns_ = 0;
  std::uint64_t batches_ = 0, winners_ = 0;
};

}  // namespace commensal::lab::bench::overhead
