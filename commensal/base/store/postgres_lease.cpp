// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_store.hpp>
#include <commensal/base/store/postgres_lease.hpp>
#include <utility>

namespace commensal::store::postgres {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using std::chrono::milliseconds;

constexpr int kSchemaVersion = 1;
constexpr std::int64_t kRenewalsPerLease = 4;
constexpr std::int64_t kLookEveryMsMax = 500;  // of a standby, as a lease may be given back

constexpr Statement kLook = {
    "look",
    "SELECT current_setting('fsync') = 'on', EXISTS(SELECT FROM pg_attribute"
    " WHERE attrelid = to_regclass('commensal_writer') AND attname = 'former')"};
// One transaction, and one process at a time: PostgreSQL's own IF NOT EXISTS fails where two make a
// table at once. Values are kept as they are: most are random. The columns that were added since
// the first version have defaults, so that who does not know them may write too; the addresses that
// such a one leaves behind are not its own, as their token says.
constexpr const char* kMakeTables =
    "BEGIN;"
    "SELECT pg_advisory_xact_lock(1131246444);"
    "CREATE TABLE IF NOT EXISTS commensal_entries(space bytea NOT NULL, key bytea NOT NULL,"
    " value bytea NOT NULL, PRIMARY KEY(space, key));"
    "ALTER TABLE commensal_entries ALTER value SET STORAGE EXTERNAL;"
    "CREATE TABLE IF NOT EXISTS commensal_writer(one boolean PRIMARY KEY CHECK(one),"
    " schema bigint NOT NULL, token bigint NOT NULL, dial bigint NOT NULL, batch bigint NOT NULL,"
    " owner text NOT NULL, until timestamptz NOT NULL);"
    "INSERT INTO commensal_writer VALUES(true, 1, 0, 0, 0, '', '-infinity') ON CONFLICT DO NOTHING;"
    "ALTER TABLE commensal_writer ADD COLUMN IF NOT EXISTS addresses text NOT NULL DEFAULT '',"
    " ADD COLUMN IF NOT EXISTS addresses_of bigint NOT NULL DEFAULT 0,"
    " ADD COLUMN IF NOT EXISTS secret uuid NOT NULL DEFAULT gen_random_uuid(),"
    " ADD COLUMN IF NOT EXISTS former uuid NOT NULL DEFAULT gen_random_uuid();"
    "COMMIT";
constexpr Statement kWriterOf = {
    "writer",
    "SELECT schema, owner, token,"
    " CASE WHEN addresses_of = token THEN addresses ELSE '' END, secret::text"
    " FROM commensal_writer"};
constexpr Statement kTake = {
    "take",
    "UPDATE commensal_writer SET token = token + 1, dial = 0, batch = 0, owner = $1::text,"
    " until = clock_timestamp() + $2::bigint::float8 * interval '1 millisecond',"
    " former = secret, secret = gen_random_uuid()"
    " WHERE until <= clock_timestamp() RETURNING token, secret::text, former::text"};
constexpr Statement kRenew = {
    "renew",
    "UPDATE commensal_writer SET"
    " until = clock_timestamp() + $2::bigint::float8 * interval '1 millisecond'"
    " WHERE token = $1::bigint RETURNING 1"};
constexpr Statement kPublish = {"publish",
                                "UPDATE commensal_writer SET addresses = $2::text,"
                                " addresses_of = token WHERE token = $1::bigint RETURNING 1"};
constexpr Statement kGiveBack = {
    "give_back",
    "UPDATE commensal_writer SET until = '-infinity', addresses = '' WHERE token = $1::bigint"};

std::string text_in(const Answer& answer, int column) {
  return std::string(core::as_text(answer.bytes(0, column)));
}

Result<void> settle_schema(Connection& connection) {
  COMMENSAL_ASSIGN(const Answer found, connection.ask(kLook, {}));
  if (found.integer(0, 0) == 0) {
    return fail(ErrorCode::kFailedPrecondition,
                "database: its server runs with fsync=off and would lose what it has confirmed, "
                "expected fsync=on");
  }
  if (found.integer(0, 1) == 0) COMMENSAL_TRY(connection.run(kMakeTables));
  COMMENSAL_ASSIGN(const Answer writer, connection.ask(kWriterOf, {}));
  const std::int64_t schema = writer.rows() == 1 ? writer.integer(0, 0) : 0;
  if (schema == kSchemaVersion) return {};
  return fail(ErrorCode::kFailedPrecondition,
              "database: another version of commensal wrote it (schema {}, expected {}): use a new "
              "database",
              schema, kSchemaVersion);
}

}  // namespace

core::Error Lease::error_of_lost() {
  return {ErrorCode::kFailedPrecondition, "database: another gateway has taken over"};
}

core::Error Lease::lose() {
  is_lost_ = true;
  return error_of_lost();
}

Result<void> Lease::connect() {
  if (connection_ && !connection_->is_lost()) return {};
  connection_.reset();
  COMMENSAL_ASSIGN(connection_, Connection::dial(address_, options_.silence_ms, clock_));
  return {};
}

Result<bool> Lease::try_to_take() {
  COMMENSAL_TRY(connect());
  Parameters mine;
  mine.bytes(core::as_bytes(options_.owner)).integer(options_.lease_ms);
  COMMENSAL_ASSIGN(const Answer taken, connection_->ask(kTake, mine));
  if (taken.rows() == 1) {
    token_ = taken.integer(0, 0);
    secret_ = text_in(taken, 1);
    former_secret_ = text_in(taken, 2);
    return true;
  }
  COMMENSAL_TRY(look_at_other());
  return false;
}

Result<void> Lease::look_at_other() {
  COMMENSAL_ASSIGN(const Answer other, connection_->ask(kWriterOf, {}));
  if (other.rows() != 1) return {};
  secret_ = text_in(other, 4);
  if (!std::exchange(has_told_, true) && options_.on_wait) options_.on_wait(text_in(other, 1));
  if (options_.on_writer) options_.on_writer({other.integer(0, 2), text_in(other, 3), secret_});
  return {};
}

Result<void> Lease::wait_for_it() {
  const milliseconds pause(std::min(options_.lease_ms / kRenewalsPerLease, kLookEveryMsMax));
  std::int64_t heard_ns = clock_.monotonic_ns();
  std::unique_lock lock(mutex_);
  while (!options_.stop.stop_requested()) {
    const auto taken = try_to_take();
    const std::int64_t now_ns = clock_.monotonic_ns();
    if (taken && *taken) return {};
    if (taken) heard_ns = now_ns;
    const bool is_away = !taken && taken.error().code == ErrorCode::kUnavailable && has_told_ &&
                         now_ns - heard_ns < limits::kStandbyAwayMs * 1'000'000;
    if (!taken && !is_away) return tl::unexpected(taken.error());
    ending_.wait_for(lock, options_.stop, pause, [] { return false; });
  }
  return fail(ErrorCode::kCancelled, "database: told to wait no longer");
}

Result<std::unique_ptr<Lease>> Lease::take(const Address& address, const PostgresOptions& options,
                                           const core::Clock& clock) {
  std::unique_ptr<Lease> made(new Lease(address, options, clock));
  COMMENSAL_TRY(made->connect());
  COMMENSAL_TRY(settle_schema(*made->connection_));
  COMMENSAL_TRY(made->wait_for_it());
  Lease* const lease = made.get();
  lease->renews_ = std::jthread([lease](const std::stop_token& stop) { lease->renew(stop); });
  return made;
}

void Lease::publish(std::string addresses) {
  core::check(addresses.size() <= limits::kWriterAddressesBytesMax, "addresses have a bound");
  const std::lock_guard lock(mutex_);
  addresses_ = std::move(addresses);
  is_news_ = true;
  ending_.notify_all();
}

/// A server that is away is asked again: only another's token ends it.
void Lease::renew(const std::stop_token& stop) {
  Parameters mine;
  mine.integer(token_).integer(options_.lease_ms);
  const milliseconds pause(options_.lease_ms / kRenewalsPerLease);
  std::unique_lock lock(mutex_);
  bool is_late = false;  // the server has not been told what it is to be
  while (!is_lost_) {
    ending_.wait_for(lock, stop, pause, [&] { return is_news_ && !is_late; });
    if (stop.stop_requested()) return;
    is_late = is_news_;
    if (!connect()) continue;
    const auto renewed = connection_->ask(kRenew, mine);
    if (renewed && renewed->rows() == 0) is_lost_ = true;
    if (!renewed || is_lost_ || !is_news_) continue;
    Parameters where;
    where.integer(token_).bytes(core::as_bytes(addresses_));
    is_news_ = is_late = !connection_->ask(kPublish, where).has_value();
  }
}

Lease::~Lease() {
  if (!renews_.joinable()) return;  // it was never taken
  renews_.request_stop();
  renews_.join();
  Parameters mine;
  mine.integer(token_);
  // Where it cannot be told it runs out. A connection that lay idle may prove to be lost.
  for (int tries = 0; tries < 2 && !is_lost_ && connect(); ++tries) {
    if (connection_->ask(kGiveBack, mine)) return;
  }
}

}  // namespace commensal::store::postgres
