// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/testing/postgres_server.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include <tests/e2e/own_network.hpp>
#include <tests/e2e/system.hpp>

namespace commensal::e2e {

/// Where a gateway serves, whenever it is started.
struct Place {
  std::string host, http, grpc, providers;  // "127.0.0.2", "HOST:PORT"
  std::string url() const { return "http://" + http; }
};

/// What customers have seen. Thread-safety: any thread.
class Tally {
 public:
  void answered(const std::string& account, const std::string& receipt, std::int64_t now_ns);
  void failed(const std::string& why);
  /// Of an answer: not the output that it should have.
  void wrong() { ++wrongs_; }

  std::map<std::string, std::vector<std::string>> receipts() const;  // by account, acknowledged
  std::uint64_t answers() const;
  std::uint64_t failures() const;
  std::uint64_t wrongs() const { return wrongs_; }
  /// The failures by what was said, most first, for who looks into them.
  std::string words() const;
  /// The longest time without any answer.
  struct Gap {
    std::int64_t from_ns = 0, until_ns = 0;
    double seconds() const { return static_cast<double>(until_ns - from_ns) * 1e-9; }
  };
  Gap longest_gap(std::int64_t now_ns) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> receipts_;
  std::map<std::string, std::uint64_t> why_;
  std::uint64_t answers_ = 0, failures_ = 0;
  std::atomic<std::uint64_t> wrongs_ = 0;
  std::int64_t last_ns_ = 0;
  Gap gap_;
};

/// Several gateways on one folder and one PostgreSQL, each with an address of its own, and
/// providers that know all of them: real programs, which are killed and started again.
class Cluster {
 public:
  static constexpr std::size_t kGateways = 3, kProviders = 10;
  static constexpr int kLeaseMs = 1'000;

  Cluster(std::uint64_t seed, OwnNetwork network) : seed_(seed), network_(network) {}

  void start();
  /// One thing of many goes wrong.
  void disturb();
  /// Whether cuts of the network are among these.
  bool may_cut() const { return network_.is_own(); }
  /// Whatever has ended by itself, or was killed, is started.
  void mend();
  /// Whether all gateways and so many providers are there, within a minute.
  bool is_whole(client::Client& client);
  /// All end in order.
  void stop();

  const Place& place(std::size_t i) const { return places_[i]; }
  std::string token() const;  // the operator's
  store::testing::PostgresServer& server() { return server_; }
  std::string log(std::size_t gateway) const;
  /// What was done, by name.
  std::map<std::string, int> done() const;
  /// What was done from a while before such a time to its end, a line each, for who looks into it.
  std::string done_in(const Tally::Gap& gap) const;
  std::uint64_t dice(std::uint64_t sides);

 private:
  void choose_places();
  void start_gateway(std::size_t i);
  void start_provider(std::size_t i);
  std::size_t writer();
  void pause_writer();
  void cut_off(std::size_t i);

  const std::uint64_t seed_;
  const OwnNetwork network_;
  std::uint64_t thrown_ = 0, disturbed_ = 0;
  Folder folder_;
  store::testing::PostgresServer server_;
  std::array<Place, kGateways> places_;
  std::array<std::unique_ptr<Process>, kGateways> gateways_;
  std::array<std::unique_ptr<Process>, kProviders> providers_;
  const core::SystemClock clock_{};
  std::vector<std::pair<std::int64_t, std::string>> done_;  // when
};

}  // namespace commensal::e2e
