// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/rpc/direct.hpp>
#include <commensal/serve/rpc/grpc_client.hpp>
#include <commensal/serve/rpc/grpc_server.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

/// A gateway and a provider that write down what they hear, and the twins of the stream between
/// them, for contract_test.cpp.
namespace commensal::rpc::testing {

using core::ErrorCode;

/// What happened, as text, in the order of happening; written on the loop, read by the test.
class Log {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
    changed_.notify_all();
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// False when it took too long.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return lines_.size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

inline std::string text_of(const ToGateway& message) {
  if (const auto* hello = std::get_if<Hello>(&message)) return "hello " + hello->name;
  if (const auto* released = std::get_if<Released>(&message))
    return fmt::format("released {}", released->items.size());
  if (const auto* now = std::get_if<HostNow>(&message))
    return now->host ? fmt::format("host {} {}/s", now->host->rate, now->host->unit) : "no host";
  if (const auto* load = std::get_if<Load>(&message)) {
    return load->room_bytes ? fmt::format("load {}, room {}", load->queued, *load->room_bytes)
                            : fmt::format("load {}", load->queued);
  }
  if (const auto* deliver = std::get_if<Deliver>(&message)) {
    return fmt::format("deliver {} {}", deliver->step,
                       core::to_hex(crypto::sha256(deliver->outputs.at(0).value.bytes())));
  }
  if (const auto* pause = std::get_if<Pause>(&message)) return "pause " + pause->reason;
  if (std::holds_alternative<Resume>(message)) return "resume";
  return "other";
}

inline std::string text_of(const ToProvider& message) {
  if (std::holds_alternative<Challenge>(message)) return "challenge";
  if (const auto* welcome = std::get_if<Welcome>(&message))
    return "welcome " + welcome->session_token;
  if (const auto* dismiss = std::get_if<Dismiss>(&message))
    return "dismiss " + dismiss->reason.message;
  if (const auto* offer = std::get_if<Offer>(&message)) {
    return fmt::format("offer {} {}", offer->job.steps,
                       core::to_hex(crypto::sha256(offer->inputs.at(0).value.bytes())));
  }
  if (const auto* withdraw = std::get_if<Withdraw>(&message))
    return withdraw->jobs.empty() ? "withdraw" : "withdraw " + core::to_hex(withdraw->jobs.back());
  if (const auto* prefetch = std::get_if<Prefetch>(&message))
    return fmt::format("prefetch {}", prefetch->bytes);
  if (const auto* release = std::get_if<Release>(&message))
    return fmt::format("release {}", release->models.size());
  return "other";
}

class Gateway final : public GatewayPort {
 public:
  StreamId on_open(std::shared_ptr<ProviderStream> stream, const Channel& below,
                   const std::string&) override {
    streams.push_back(std::move(stream));
    channel = below;
    streams.back()->send(Challenge{});
    const StreamId id = streams.size();
    log.add(fmt::format("{} open", id));
    return id;
  }
  void on_message(StreamId id, ToGateway message) override {
    log.add(fmt::format("{} {}", id, text_of(message)));
    if (std::holds_alternative<Hello>(message)) streams.at(id - 1)->send(Welcome{"token"});
  }
  void on_close(StreamId id) override { log.add(fmt::format("{} close", id)); }
  core::Result<std::string> model_path(const std::string& token, const core::Digest& model,
                                       const core::Digest& certificate) override {
    fetched_with = certificate;
    if (token != "token") return core::fail(ErrorCode::kUnauthenticated, "unknown session");
    const auto found = models.find(model);
    if (found == models.end()) return core::fail(ErrorCode::kNotFound, "unknown model");
    return found->second;
  }

  Log log;
  Channel channel;                                       // the loop's: of the last stream
  std::vector<std::shared_ptr<ProviderStream>> streams;  // the loop's
  std::map<core::Digest, std::string> models;            // constant while streams run
  core::Digest fetched_with{};                           // the certificate; read after the fetch
};

class Provider final : public ProviderPort {
 public:
  void on_message(ToProvider message) override { log.add(text_of(message)); }
  void on_close(core::Error reason) override {
    EXPECT_EQ(reason.message.find('\n'), std::string::npos);
    log.add(fmt::format("close {}", core::name_of(reason.code)));
  }
  Log log;
};

/// One gateway on one loop, and clients for it; both twins offer the same.
class DirectWorld {
 public:
  DirectWorld(core::Loop& loop, Gateway& gateway) : server_(loop) { server_.listen(gateway); }
  std::unique_ptr<GatewayClient> client() {
    return std::make_unique<DirectClient>(server_, DirectFaults(), Channel{{1}, {2}});
  }
  void stop() { server_.stop(); }

 private:
  DirectServer server_;
};

class GrpcWorld {
 public:
  GrpcWorld(core::Loop& loop, Gateway& gateway)
      : loop_(loop), server_(*GrpcServer::start(gateway, loop, "127.0.0.1:0")) {}
  std::unique_ptr<GatewayClient> client() {
    return make_grpc_client(loop_, fmt::format("127.0.0.1:{}", server_->port()));
  }
  void stop() { server_->stop(); }

 private:
  core::Loop& loop_;
  std::unique_ptr<GrpcServer> server_;
};

}  // namespace commensal::rpc::testing
