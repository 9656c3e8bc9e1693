// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/store.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace commensal::store {

/// Who writes on a database, to those that wait.
struct Writer {
  std::int64_t token = 0;  // grows with each that takes over
  std::string addresses;   // as it has published them; "": not yet, or no more
  std::string secret;      // of its time, for those that know it to know each other by
};

struct PostgresOptions {
  /// Who writes, in words, for those that wait; 1 to limits::kNameBytesMax bytes.
  std::string owner = {};
  /// A writer that has not renewed its lease for so long is taken over from, by the server's clock.
  std::int64_t lease_ms = 10'000;
  /// A connection on which the server is silent for so long is given up.
  std::int64_t silence_ms = 10'000;
  /// Another is dialled for so long, while who called waits.
  std::int64_t redial_ms = 5'000;
  /// Called once where another holds the lease, with its owner; then opening waits.
  std::function<void(const std::string& owner)> on_wait = {};
  /// Called at each look while another holds it.
  std::function<void(const Writer&)> on_writer = {};
  /// Then it waits no longer: opening ends with kCancelled.
  std::stop_token stop = {};
};

/// The twin for several machines: tables in a PostgreSQL database, of which one writer holds the
/// lease. A writer that was asleep while another has taken over writes no more: each batch is
/// applied by the server only while its writer is the newest.
/// Contract and thread-safety: core::Store, but a call may wait for as long as PostgresOptions say.
/// Errors beyond core::Store's: kUnavailable while the server is away (of a batch of which nobody
/// knows whether it was written the message says so), kFailedPrecondition once another has taken
/// over, kPermissionDenied.
class PostgresStore : public core::Store {
 public:
  /// Why nothing is written any more, once another has taken over. Thread-safety: any thread.
  virtual std::optional<core::Error> taken_over() const = 0;
  /// Tells those that wait, at their next look, where this writer listens; at most
  /// limits::kWriterAddressesBytesMax bytes. Thread-safety: any thread.
  virtual void publish(std::string addresses) = 0;
  /// Writer::secret, a new one with each that takes over, and the one before it. Thread-safety: any
  /// thread.
  virtual const std::string& secret() const = 0;
  virtual const std::string& former_secret() const = 0;
};

/// `url`: postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or with ?host=FOLDER of a Unix socket.
/// Makes the tables where they are missing, and waits until it has the lease, which it renews from
/// a thread of its own and gives back when it is destroyed. `clock` must outlive it. Errors:
/// kInvalidArgument (not such a URL), kUnavailable (also: no such database), kPermissionDenied,
/// kFailedPrecondition (tables of a newer Commensal; a server that does not write through to its
/// disk), kCancelled.
core::Result<std::unique_ptr<PostgresStore>> open_postgres_store(const std::string& url,
                                                                 const PostgresOptions& options,
                                                                 const core::Clock& clock);

}  // namespace commensal::store
