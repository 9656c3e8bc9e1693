// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/clock.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>

struct pg_conn;  // libpq's
struct pg_result;

namespace commensal::store::postgres {

/// Where a server and its database are, and who asks.
class Address {
 public:
  /// Error: kInvalidArgument, without a word of the text, as a password is in it.
  static core::Result<Address> parse(const std::string& url);

  const std::string& url() const { return url_; }
  /// What libpq or the server says, in one line, without the password.
  std::string plain(std::string_view message) const;

 private:
  std::string url_, password_;
};

/// Values of a statement, in its order, in PostgreSQL's binary format.
class Parameters {
 public:
  Parameters& integer(std::int64_t value);                       // bigint
  Parameters& bytes(core::ByteView value);                       // bytea, text
  Parameters& array(const std::vector<core::ByteView>& values);  // bytea[]

 private:
  friend class Connection;
  std::vector<core::Bytes> values_;
};

struct ResultDeleter {
  void operator()(pg_result* result) const;
};

/// Rows, whose values are in binary format.
class Answer {
 public:
  explicit Answer(pg_result* result = nullptr) : result_(result) {}
  int rows() const;
  core::ByteView bytes(int row, int column) const;
  std::int64_t integer(int row, int column) const;  // bigint, integer or boolean

 private:
  std::unique_ptr<pg_result, ResultDeleter> result_;
};

/// Prepared on each connection when it is asked first.
struct Statement {
  const char* name;
  const char* text;
};

/// One connection to a server. A server that is silent for longer than `silence_ms` while it is
/// waited for has lost it; so has one that hangs up. Then nothing is known of what was sent last.
/// Errors: kUnavailable (lost, or what comes again: no room, a lock, a statement that took too
/// long), kPermissionDenied, kResourceExhausted (its disk is full), else kDataLoss.
/// Thread-safety: none.
class Connection {
 public:
  static core::Result<std::unique_ptr<Connection>> dial(const Address& address,
                                                        std::int64_t silence_ms,
                                                        const core::Clock& clock);
  core::Result<Answer> ask(const Statement& statement, const Parameters& parameters);
  /// The same row by row, so that only one is in memory; once `visit` says false it sees no more.
  core::Result<void> stream(const Statement& statement, const Parameters& parameters,
                            const std::function<bool(const Answer&)>& visit);
  /// Statements without parameters, separated by semicolons.
  core::Result<void> run(const std::string& statements);
  bool is_lost() const { return is_lost_; }

 private:
  struct Deleter {
    void operator()(pg_conn* connection) const;
  };
  Connection(const Address& address, std::int64_t silence_ms, const core::Clock& clock)
      : address_(address), silence_ms_(silence_ms), clock_(clock) {}

  core::Result<void> connect();
  core::Result<void> wait(bool to_write, std::int64_t until_ns);
  core::Result<void> settle();
  core::Result<void> send(const Statement& statement, const Parameters& parameters);
  core::Result<Answer> collect(const std::function<bool(const Answer&)>* visit);
  core::Error failure(const pg_result* result);
  core::Error lost(std::string_view why);

  const Address& address_;
  const std::int64_t silence_ms_;
  const core::Clock& clock_;
  std::unique_ptr<pg_conn, Deleter> connection_;
  std::set<const char*> prepared_;  // names, which are literals
  bool is_lost_ = false;
};

}  // namespace commensal::store::postgres
