// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/store/postgres_connection.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace commensal::store::postgres {

/// That its holder is the newest writer of a database: the row of commensal_writer has its token,
/// and a time by the server's clock until which nobody takes over. A thread with a connection of
/// its own renews it; the destructor gives it back.
/// Thread-safety: take() and the destructor one thread, the rest any.
class Lease {
 public:
  /// Makes the tables where they are missing, and waits while another holds it. `address` and
  /// `clock` must outlive it. Errors: open_postgres_store()'s.
  static core::Result<std::unique_ptr<Lease>> take(const Address& address,
                                                   const PostgresOptions& options,
                                                   const core::Clock& clock);
  ~Lease();

  std::int64_t token() const { return token_; }
  /// PostgresStore's.
  const std::string& secret() const { return secret_; }
  const std::string& former_secret() const { return former_secret_; }
  /// PostgresStore's.
  void publish(std::string addresses);
  bool is_lost() const { return is_lost_; }
  /// For who has seen that another token is newer. Returns what to tell.
  core::Error lose();
  static core::Error error_of_lost();

 private:
  Lease(const Address& address, const PostgresOptions& options, const core::Clock& clock)
      : address_(address), options_(options), clock_(clock) {}

  core::Result<bool> try_to_take();
  core::Result<void> look_at_other();
  core::Result<void> wait_for_it();
  core::Result<void> connect();
  void renew(const std::stop_token& stop);

  const Address& address_;
  const PostgresOptions options_;
  const core::Clock& clock_;
  std::unique_ptr<Connection> connection_;  // the thread's, once there is one
  std::int64_t token_ = 0;
  std::string secret_, former_secret_;
  bool has_told_ = false;
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;  // guards the next two
  std::string addresses_;
  bool is_news_ = false;  // the server has not been told of them
  std::condition_variable_any ending_;
  std::jthread renews_;
};

}  // namespace commensal::store::postgres
