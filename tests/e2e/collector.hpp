// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/network.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace commensal::e2e {

/// A collector of spans (OTLP over HTTP, JSON), one connection at a time, which may misbehave.
class Collector {
 public:
  enum class Mood { kTakes, kFails, kHangs };

  /// Port 0: any that is free.
  explicit Collector(std::uint16_t port = 0);
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  std::uint16_t port() const { return listener_.port; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }
  void set(Mood mood);
  /// Of bodies that have come, whatever was answered.
  std::size_t bodies() const;
  /// Of this trace, among those that were taken.
  std::vector<nlohmann::json> spans(const std::string& trace_id) const;
  /// The head of the last request.
  std::string head() const;

 private:
  void run(const std::stop_token& stop);
  void serve(int socket, const std::stop_token& stop);
  /// False where it is not to answer at all.
  bool take(const std::string& head, const std::string& body, std::string& answer);

  core::Listener listener_;
  mutable std::mutex mutex_;  // guards the rest
  Mood mood_ = Mood::kTakes;
  std::size_t bodies_ = 0;
  std::string head_;
  std::vector<nlohmann::json> spans_;
  std::jthread thread_;  // last: it uses what is above
};

}  // namespace commensal::e2e
