// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_store.hpp>
#include <commensal/base/store/bounds.hpp>
#include <commensal/base/store/postgres_lease.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <mutex>
#include <span>
#include <thread>
#include <tuple>

namespace commensal::store::postgres {
namespace {

using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using core::Result;
using Write = core::Store::Write;

constexpr std::int64_t kFirstPauseMs = 20, kLongestPauseMs = 500;

constexpr Statement kGet = {
    "get", "SELECT value FROM commensal_entries WHERE space = $1::bytea AND key = $2::bytea"};
constexpr Statement kScan = {
    "scan",
    "SELECT key, value FROM commensal_entries WHERE space = $1::bytea AND key >= $2::bytea"
    " AND key < $3::bytea ORDER BY key LIMIT $4::bigint"};
// A batch, or a part of one, is one statement: its first part finds out whether this connection of
// this writer is still the newest, and keeps whoever would be newer out until all is committed; no
// key is in both of the others.
constexpr Statement kApply = {
    "apply",
    "WITH mine AS (UPDATE commensal_writer SET batch = $3::bigint"
    " WHERE token = $1::bigint AND dial = $2::bigint RETURNING 1),"
    " gone AS (DELETE FROM commensal_entries AS e"
    " USING unnest($4::bytea[], $5::bytea[]) AS d(space, key)"
    " WHERE e.space = d.space AND e.key = d.key AND (SELECT count(*) FROM mine) = 1),"
    " put AS (INSERT INTO commensal_entries(space, key, value)"
    " SELECT space, key, value"
    " FROM unnest($6::bytea[], $7::bytea[], $8::bytea[]) AS p(space, key, value)"
    " WHERE (SELECT count(*) FROM mine) = 1"
    " ON CONFLICT (space, key) DO UPDATE SET value = excluded.value)"
    " SELECT count(*) FROM mine"};
// Waits for a batch that is still under way on the connection before; one that has not begun is
// refused from now on. So what it says of the last batch is final.
constexpr Statement kResume = {
    "resume",
    "UPDATE commensal_writer SET dial = dial + 1 WHERE token = $1::bigint RETURNING dial, batch"};

/// All access is by the primary key, whatever the statistics of a table say that has just grown.
/// What is switched off counts as dear where there is no other way, and what is dear would be
/// compiled, each time.
constexpr const char* kSettings =
    "SET synchronous_commit = on; SET plan_cache_mode = force_generic_plan; SET jit = off;"
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;"
    "SET enable_mergejoin = off";

/// The first key after all that begin with `prefix`.
Bytes end_of(ByteView prefix) {
  Bytes end(prefix.begin(), prefix.end());
  while (!end.empty() && end.back() == 0xff) end.pop_back();
  if (end.empty()) return Bytes(limits::kStoreKeyBytesMax + 1, 0xff);
  ++end.back();
  return end;
}

/// Of writes of one key the last, as the others leave nothing.
std::vector<const Write*> what_remains(const core::Store::Batch& batch) {
  std::vector<const Write*> writes;
  for (const Write& write : batch) writes.push_back(&write);
  const auto name = [](const Write* write) { return std::tie(write->space, write->key); };
  std::ranges::stable_sort(writes, {}, name);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (i + 1 == writes.size() || name(writes[i]) != name(writes[i + 1]))
      writes[kept++] = writes[i];
  }
  writes.resize(kept);
  return writes;
}

std::size_t bytes_of(const Write& write) {
  return write.space.size() + write.key.size() + (write.value ? write.value->size() : 0);
}

class ServerStore final : public PostgresStore {
 public:
  ServerStore(Address address, const PostgresOptions& options, const core::Clock& clock)
      : address_(std::move(address)), options_(options), clock_(clock) {}

  Result<void> open() {
    COMMENSAL_ASSIGN(lease_, Lease::take(address_, options_, clock_));
    COMMENSAL_TRY(ready());
    return {};
  }

  std::optional<core::Error> taken_over() const override {
    if (!lease_->is_lost()) return std::nullopt;
    return Lease::error_of_lost();
  }

  void publish(std::string addresses) override { lease_->publish(std::move(addresses)); }

  const std::string& secret() const override { return lease_->secret(); }
  const std::string& former_secret() const override { return lease_->former_secret(); }

  Result<std::optional<Bytes>> get(std::string_view space, ByteView key) override {
    scanner_.check_not_this_thread();
    COMMENSAL_TRY(check_key(space, key));
    const std::lock_guard lock(mutex_);
    Parameters name;
    name.bytes(core::as_bytes(space)).bytes(key);
    for (int tries = 1;; ++tries) {
      COMMENSAL_ASSIGN(Connection * connection, ready());
      const auto found = connection->ask(kGet, name);
      if (!found && connection->is_lost() && tries < limits::kStatementTries) continue;
      if (!found) return tl::unexpected(found.error());
      if (found->rows() == 0) return std::nullopt;
      const ByteView value = found->bytes(0, 0);
      return Bytes(value.begin(), value.end());
    }
  }

  Result<void> apply(const Batch& batch) override {
    scanner_.check_not_this_thread();
    COMMENSAL_TRY(check_batch(batch));
    const std::lock_guard lock(mutex_);
    if (batch.empty()) return {};
    if (lease_->is_lost()) return tl::unexpected(Lease::error_of_lost());
    ++batch_;
    std::optional<core::Error> failed;  // of a try of which nobody knows what it did
    for (int tries = 0; tries < limits::kStatementTries; ++tries) {
      const auto connection = ready();
      if (!connection)
        return tl::unexpected(failed ? unknown(connection.error()) : connection.error());
      if (failed && last_batch_ == batch_) return {};
      const auto written = write(**connection, what_remains(batch));
      if (written || !(*connection)->is_lost()) return written;
      failed = written.error();
    }
    return tl::unexpected(unknown(*failed));
  }

  Result<void> scan(std::string_view space, ByteView prefix, const Visitor& visit) override {
    const Scanner::Scan scan(scanner_);
    COMMENSAL_TRY(check_key(space, prefix));
    const std::lock_guard lock(mutex_);
    Bytes from(prefix.begin(), prefix.end());
    const Bytes end = end_of(prefix);
    int tries = 0;
    while (true) {
      Parameters page;
      page.bytes(core::as_bytes(space)).bytes(from).bytes(end).integer(limits::kScanRows);
      int rows = 0;
      bool goes_on = true;
      COMMENSAL_ASSIGN(Connection * connection, ready());
      const auto read = connection->stream(kScan, page, [&](const Answer& row) {
        ++rows;
        const ByteView key = row.bytes(0, 0);
        from.assign(key.begin(), key.end());
        from.push_back(0);  // the next key that can be
        return goes_on = visit(key, row.bytes(0, 1));
      });
      if (!goes_on) return {};
      tries = rows > 0 ? 0 : tries + 1;
      if (!read && connection->is_lost() && tries < limits::kStatementTries) continue;
      if (!read) return read;
      if (rows < limits::kScanRows) return {};
    }
  }

 private:
  static core::Error unknown(const core::Error& error) {
    return {error.code,
            fmt::format("{}; whether the last batch was written is not known", error.message)};
  }

  /// A connection that is whole, dialled again if need be.
  Result<Connection*> ready() {
    if (connection_ && !connection_->is_lost()) return connection_.get();
    const std::int64_t until_ns = clock_.monotonic_ns() + options_.redial_ms * 1'000'000;
    for (std::int64_t pause_ms = kFirstPauseMs;;
         pause_ms = std::min(2 * pause_ms, kLongestPauseMs)) {
      const auto resumed = resume();
      if (resumed) return connection_.get();
      const bool is_late = clock_.monotonic_ns() + pause_ms * 1'000'000 > until_ns;
      if (resumed.error().code != ErrorCode::kUnavailable || is_late) {
        return tl::unexpected(resumed.error());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
  }

  Result<void> resume() {
    connection_.reset();
    COMMENSAL_ASSIGN(auto made, Connection::dial(address_, options_.silence_ms, clock_));
    COMMENSAL_TRY(made->run(kSettings));
    Parameters mine;
    mine.integer(lease_->token());
    COMMENSAL_ASSIGN(const Answer resumed, made->ask(kResume, mine));
    if (resumed.rows() == 0) return tl::unexpected(lease_->lose());
    dial_ = resumed.integer(0, 0);
    last_batch_ = resumed.integer(0, 1);
    connection_ = std::move(made);
    return {};
  }

  /// An error of a connection that is whole: nothing was written.
  Result<void> write(Connection& connection, std::span<const Write* const> writes) {
    const auto first = part_of(writes);
    if (first.size() == writes.size()) return write_part(connection, writes);
    COMMENSAL_TRY(connection.run("BEGIN"));
    while (!writes.empty()) {
      const auto part = part_of(writes);
      const auto written = write_part(connection, part);
      if (!written) {
        if (!connection.is_lost()) std::ignore = connection.run("ROLLBACK");
        return written;
      }
      writes = writes.subspan(part.size());
    }
    return connection.run("COMMIT");
  }

  static std::span<const Write* const> part_of(std::span<const Write* const> writes) {
    std::size_t bytes = 0, count = 0;
    for (const Write* write : writes) {
      bytes += bytes_of(*write);
      if (count > 0 && bytes > limits::kStatementBytesMax) break;
      if (++count == limits::kStatementRowsMax) break;
    }
    return writes.first(count);
  }

  Result<void> write_part(Connection& connection, std::span<const Write* const> writes) {
    std::vector<ByteView> gone_spaces, gone_keys, spaces, keys, values;
    for (const Write* write : writes) {
      (write->value ? spaces : gone_spaces).push_back(core::as_bytes(write->space));
      (write->value ? keys : gone_keys).emplace_back(write->key);
      if (write->value) values.emplace_back(*write->value);
    }
    Parameters all;
    all.integer(lease_->token()).integer(dial_).integer(batch_);
    all.array(gone_spaces).array(gone_keys).array(spaces).array(keys).array(values);
    COMMENSAL_ASSIGN(const Answer written, connection.ask(kApply, all));
    if (written.integer(0, 0) == 1) return {};
    return tl::unexpected(lease_->lose());
  }

  const Address address_;
  const PostgresOptions options_;
  const core::Clock& clock_;
  std::unique_ptr<Lease> lease_;
  std::mutex mutex_;  // of what follows: one statement at a time
  std::unique_ptr<Connection> connection_;
  std::int64_t dial_ = 0;        // of connection_: which one of this writer's it is
  std::int64_t batch_ = 0;       // the last that was to be written
  std::int64_t last_batch_ = 0;  // that was, when connection_ was made
  Scanner scanner_;
};

}  // namespace
}  // namespace commensal::store::postgres

namespace commensal::store {

core::Result<std::unique_ptr<PostgresStore>> open_postgres_store(const std::string& url,
                                                                 const PostgresOptions& options,
                                                                 const core::Clock& clock) {
  const bool is_named = !options.owner.empty() && options.owner.size() <= limits::kNameBytesMax;
  core::check(is_named && options.lease_ms >= limits::kLeaseMsMin &&
                  options.lease_ms <= limits::kLeaseMsMax,
              "a writer has a name and a lease");
  COMMENSAL_ASSIGN(auto address, postgres::Address::parse(url));
  auto store = std::make_unique<postgres::ServerStore>(std::move(address), options, clock);
  COMMENSAL_TRY(store->open());
  return store;
}

}  // namespace commensal::store
