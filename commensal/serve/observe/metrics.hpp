// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/observe/ended.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace commensal::observe {

/// What is not counted but read when somebody asks.
struct Readings {
  double uptime_s = 0;
  std::size_t providers_connected = 0;
  std::size_t jobs_waiting = 0;  // for a provider that is free
  std::size_t jobs_running = 0;
  std::int64_t memory_held_bytes = 0;  // of requests and answers, of all accounts
  std::int64_t memory_max_bytes = 0;
  std::uint64_t log_lines_dropped = 0;
  std::uint64_t spans_dropped = 0;
};

/// A gateway's figures, as Prometheus reads them: counters and histograms since the start, with
/// bounded labels (limits::kMeteredModelsMax models; later ones are "other", unknown ones
/// "unknown"). Thread-safety: any thread.
class Metrics {
 public:
  /// `with_tritons`: as Triton's server calls them too (nv_inference_...).
  explicit Metrics(bool with_tritons);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void count(const Ended& ended);
  /// A request over HTTP was answered. The texts are of a table of routes: they stay, and are few.
  void count(std::string_view method, std::string_view route, int status);
  /// A call over gRPC is over, with one of grpc::StatusCode. Of the text the same holds.
  void count_grpc(std::string_view method, int code, std::int64_t took_ns);
  /// In Prometheus' text format 0.0.4. Milliseconds, where there are many models.
  std::string text(const Readings& now);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::observe
