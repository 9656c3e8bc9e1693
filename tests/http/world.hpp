// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/thread_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/client/client.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/http/server.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <commensal/serve/rpc/direct.hpp>
#include <memory>
#include <string>

namespace commensal::tests {

/// The system's, and whatever it is put forward by.
class LeapingClock final : public core::Clock {
 public:
  std::int64_t monotonic_ns() const override { return system_.monotonic_ns() + ahead_ns_; }
  std::int64_t wall_ms() const override { return system_.wall_ms() + ahead_ns_ / 1'000'000; }
  void leap_ms(std::int64_t ms) { ahead_ns_ += ms * 1'000'000; }

 private:
  core::SystemClock system_;
  std::atomic<std::int64_t> ahead_ns_ = 0;
};

/// A store whose writes off the loop's thread can be held up.
class GatedStore final : public core::Store {
 public:
  void hold() { is_held_ = true; }
  void free() {
    is_held_ = false;
    is_held_.notify_all();
  }
  /// Writes that are held up.
  int waiting() const { return waiting_; }

  core::Result<std::optional<core::Bytes>> get(std::string_view space,
                                               core::ByteView key) override {
    return inner_.get(space, key);
  }
  core::Result<void> apply(const Batch& batch) override {
    ++waiting_;
    is_held_.wait(true);
    --waiting_;
    return inner_.apply(batch);
  }
  core::Result<void> scan(std::string_view space, core::ByteView prefix,
                          const Visitor& visit) override {
    return inner_.scan(space, prefix, visit);
  }

 private:
  store::MemoryStore inner_;
  std::atomic<bool> is_held_ = false;
  std::atomic<int> waiting_ = 0;
};

/// A gateway behind its HTTP server, in real time, with accounts "root" (operator), "alice" and
/// "bob", the model "alice/digits", and a provider that comes when it is called.
class World {
 public:
  /// With an identity it speaks TLS, which client() trusts by its pin. `open_signup`: whoever comes
  /// may make an account, which gets no credit. `relays`: the secret of those who may say whose
  /// connections they carry. `observe`: what its operator sees. `auditors`: whom it believes about
  /// privacy classes.
  explicit World(const std::string& name, std::shared_ptr<tls::Identity> identity = nullptr,
                 const gateway::QuotaConfig& quotas = {}, bool open_signup = false,
                 const std::string& relays = "", const observe::Options& observe = {},
                 const gateway::PrivacyAuditors::Believed& auditors = {},
                 const core::Path& page = {});
  /// With a page for browsers, the files of this folder.
  World(const std::string& name, const core::Path& page)
      : World(name, nullptr, {}, false, "", {}, {}, page) {}
  ~World();

  void start_provider();
  /// Stops the server, as the destructor would later.
  void stop_http(std::int64_t grace_ms);
  /// Keeps the gateway's loop busy until free_loop().
  void hold_loop();
  void free_loop();

  const core::Path& folder() const { return folder_; }
  GatedStore& store() { return store_; }
  LeapingClock& clock() { return clock_; }
  std::int64_t bytes_held() const { return gateway_->quotas().memory().held(); }
  std::uint16_t port() const { return http_->port(); }
  std::uint16_t metrics_port() const { return http_->metrics_port(); }
  const oip::Services& services() const { return http_->services(); }
  std::string url() const {
    return fmt::format("{}://127.0.0.1:{}", identity_ ? "https" : "http", port());
  }
  client::Client client(const std::string& token) const;
  crypto::Address provider_address() const { return provider_key_.address(); }

  std::string root, alice, bob;  // tokens
  // Of the provider, before it comes.
  provider::AtOnce tasks_at_once;
  std::function<void(const provider::JobEnd&)> job_ended;
  std::vector<protocol::PrivacyStatement> statements;

 private:
  const std::shared_ptr<tls::Identity> identity_;
  core::Path folder_;
  LeapingClock clock_;
  core::SystemRng rng_;
  GatedStore store_;
  store::MemoryStore provider_store_;
  crypto::SecretKey key_;
  crypto::SecretKey provider_key_;
  const std::shared_ptr<rollout::EngineFactory> engines_ =
      std::make_shared<rollout::SessionEngineFactory>(graph::SessionOptions{});
  core::ThreadLoop loop_;
  rpc::DirectServer streams_{loop_};
  std::unique_ptr<gateway::Gateway> gateway_;
  std::unique_ptr<rpc::DirectClient> provider_client_;
  std::shared_ptr<provider::Provider> provider_;
  std::unique_ptr<http::HttpServer> http_;
  std::shared_ptr<std::atomic<bool>> held_ = std::make_shared<std::atomic<bool>>(false);
};

core::Bytes digits_model();
/// Its input: picture number i.
tensor::NamedTensors picture(std::uint64_t i);

}  // namespace commensal::tests
