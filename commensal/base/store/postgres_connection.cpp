// SPDX-License-Identifier: Apache-2.0
#include <libpq-fe.h>
#include <poll.h>

#include <cerrno>
#include <commensal/base/core/limits_store.hpp>
#include <commensal/base/store/postgres_connection.hpp>

namespace commensal::store::postgres {
namespace {

using core::Bytes;
using core::ByteView;
using core::Error;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kBinary = 1;
constexpr std::int32_t kByteaType = 17;  // pg_type.dat of PostgreSQL: a built-in's number is fixed

void put_u32(Bytes& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    to.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

/// By the beginning of SQLSTATE: "Appendix A. PostgreSQL Error Codes" of its manual.
struct Row {
  std::string_view state;
  ErrorCode code;
};
constexpr Row kCodes[] = {
    {"08", ErrorCode::kUnavailable},     // connection exception
    {"25006", ErrorCode::kUnavailable},  // read only: a replica
    {"40", ErrorCode::kUnavailable},     // transaction rollback: deadlock
    {"42501", ErrorCode::kPermissionDenied},
    {"53", ErrorCode::kResourceExhausted},  // insufficient resources: disk, memory
    {"55P03", ErrorCode::kUnavailable},     // lock not available
    {"57", ErrorCode::kUnavailable},        // operator intervention: timeout, shutdown
};

ErrorCode code_of(std::string_view state) {
  for (const Row& row : kCodes) {
    if (state.starts_with(row.state)) return row.code;
  }
  return ErrorCode::kDataLoss;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

void ignore_notice(void*, const PGresult*) {}

}  // namespace

Result<Address> Address::parse(const std::string& url) {
  constexpr const char* kExpected =
      "the database's URL is none that can be read, expected "
      "postgresql://USER:PASSWORD@HOST:PORT/DATABASE (in a password, @ is %40)";
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://")) {
    return fail(ErrorCode::kInvalidArgument, "{}", kExpected);
  }
  char* said = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parts(
      PQconninfoParse(url.c_str(), &said), PQconninfoFree);
  PQfreemem(said);
  if (!parts) return fail(ErrorCode::kInvalidArgument, "{}", kExpected);
  Address address;
  address.url_ = url;
  for (const PQconninfoOption* part = parts.get(); part->keyword != nullptr; ++part) {
    const std::string_view keyword = part->keyword, value = part->val != nullptr ? part->val : "";
    if (keyword == "password") address.password_ = value;
    if (keyword == "host" && value.find('@') != std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument, "{}", kExpected);  // half a password
    }
  }
  return address;
}

std::string Address::plain(std::string_view message) const {
  std::string line(message.substr(0, limits::kDatabaseMessageBytesMax));
  while (!line.empty() && line.back() == '\n') line.pop_back();
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (!password_.empty()) replace_all(line, password_, "***");
  return line;
}

Parameters& Parameters::integer(std::int64_t value) {
  Bytes& to = values_.emplace_back();
  put_u32(to, static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) >> 32));
  put_u32(to, static_cast<std::uint32_t>(value));
  return *this;
}

Parameters& Parameters::bytes(ByteView value) {
  values_.emplace_back(value.begin(), value.end());
  return *this;
}

// The format of array_send() in PostgreSQL: dimensions, whether there are nulls, the elements'
// type; of each dimension its size and lower bound; of each element its size and bytes.
Parameters& Parameters::array(const std::vector<ByteView>& values) {
  Bytes& to = values_.emplace_back();
  std::size_t size = 20;
  for (const ByteView value : values) size += 4 + value.size();
  to.reserve(size);
  put_u32(to, values.empty() ? 0 : 1);
  put_u32(to, 0);
  put_u32(to, kByteaType);
  if (values.empty()) return *this;
  put_u32(to, static_cast<std::uint32_t>(values.size()));
  put_u32(to, 1);
  for (const ByteView value : values) {
    put_u32(to, static_cast<std::uint32_t>(value.size()));
    to.insert(to.end(), value.begin(), value.end());
  }
  return *this;
}

void ResultDeleter::operator()(pg_result* result) const { PQclear(result); }
void Connection::Deleter::operator()(pg_conn* connection) const { PQfinish(connection); }

int Answer::rows() const { return PQntuples(result_.get()); }

ByteView Answer::bytes(int row, int column) const {
  return {reinterpret_cast<const std::uint8_t*>(PQgetvalue(result_.get(), row, column)),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Answer::integer(int row, int column) const {
  std::int64_t value = 0;
  for (const std::uint8_t byte : bytes(row, column)) value = value * 256 + byte;
  return value;
}

Result<std::unique_ptr<Connection>> Connection::dial(const Address& address,
                                                     std::int64_t silence_ms,
                                                     const core::Clock& clock) {
  std::unique_ptr<Connection> made(new Connection(address, silence_ms, clock));
  COMMENSAL_TRY(made->connect());
  return made;
}

Result<void> Connection::connect() {
  const char* const keywords[] = {"dbname", "fallback_application_name", nullptr};
  const char* const values[] = {address_.url().c_str(), "commensal", nullptr};
  connection_.reset(PQconnectStartParams(keywords, values, 1));
  if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
    return tl::unexpected(lost(PQerrorMessage(connection_.get())));
  }
  PQsetNoticeReceiver(connection_.get(), ignore_notice, nullptr);
  const std::int64_t until_ns = clock_.monotonic_ns() + silence_ms_ * 1'000'000;
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK;
       state = PQconnectPoll(connection_.get())) {
    if (state == PGRES_POLLING_FAILED) {
      Error error = lost(PQerrorMessage(connection_.get()));
      const bool is_refused = PQconnectionNeedsPassword(connection_.get()) != 0 ||
                              PQconnectionUsedPassword(connection_.get()) != 0;
      if (is_refused && error.message.find("password") != std::string::npos) {
        error.code = ErrorCode::kPermissionDenied;
      }
      return tl::unexpected(error);
    }
    COMMENSAL_TRY(wait(state == PGRES_POLLING_WRITING, until_ns));
  }
  PQsetnonblocking(connection_.get(), 1);
  // The server gives up first, and says so.
  return run(
      fmt::format("SET statement_timeout = {0}; SET lock_timeout = {0};"
                  "SET idle_in_transaction_session_timeout = {0}",
                  silence_ms_ - silence_ms_ / 4));
}

/// Until the server has something to say, or can be told something, if that is wanted.
Result<void> Connection::wait(bool to_write, std::int64_t until_ns) {
  while (true) {
    const std::int64_t left_ms = (until_ns - clock_.monotonic_ns()) / 1'000'000;
    pollfd socket{.fd = PQsocket(connection_.get()),
                  .events = static_cast<short>(POLLIN | (to_write ? POLLOUT : 0)),
                  .revents = 0};
    const int ready = left_ms <= 0 ? 0 : ::poll(&socket, 1, static_cast<int>(left_ms));
    if (ready > 0) return {};
    if (ready < 0 && errno == EINTR) continue;
    return tl::unexpected(lost(fmt::format("the server said nothing for {} ms", silence_ms_)));
  }
}

/// Until all is sent and a result can be read.
Result<void> Connection::settle() {
  while (true) {
    const int unsent = PQflush(connection_.get());
    if (unsent < 0) return tl::unexpected(lost(PQerrorMessage(connection_.get())));
    if (unsent == 0 && PQisBusy(connection_.get()) == 0) return {};
    COMMENSAL_TRY(wait(unsent > 0, clock_.monotonic_ns() + silence_ms_ * 1'000'000));
    if (PQconsumeInput(connection_.get()) == 0) {
      return tl::unexpected(lost(PQerrorMessage(connection_.get())));
    }
  }
}

Result<void> Connection::send(const Statement& statement, const Parameters& parameters) {
  if (!prepared_.contains(statement.name)) {
    if (PQsendPrepare(connection_.get(), statement.name, statement.text, 0, nullptr) == 0) {
      return tl::unexpected(lost(PQerrorMessage(connection_.get())));
    }
    COMMENSAL_TRY(collect(nullptr));
    prepared_.insert(statement.name);
  }
  std::vector<const char*> values;
  std::vector<int> sizes, formats;
  for (const Bytes& value : parameters.values_) {
    // libpq takes a null pointer for NULL.
    values.push_back(value.empty() ? "" : reinterpret_cast<const char*>(value.data()));
    sizes.push_back(static_cast<int>(value.size()));
    formats.push_back(kBinary);
  }
  if (PQsendQueryPrepared(connection_.get(), statement.name, static_cast<int>(values.size()),
                          values.data(), sizes.data(), formats.data(), kBinary) == 0) {
    return tl::unexpected(lost(PQerrorMessage(connection_.get())));
  }
  return {};
}

Result<Answer> Connection::collect(const std::function<bool(const Answer&)>* visit) {
  Answer last;
  std::optional<Error> failed;
  bool is_wanted = true;
  while (true) {
    COMMENSAL_TRY(settle());
    PGresult* const result = PQgetResult(connection_.get());
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result);
    Answer answer(result);
    if (status == PGRES_SINGLE_TUPLE) {
      if (is_wanted && visit != nullptr) is_wanted = (*visit)(answer);
    } else if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
      last = std::move(answer);
    } else if (!failed) {
      failed = failure(result);
    }
  }
  if (failed) return tl::unexpected(*failed);
  return last;
}

Result<Answer> Connection::ask(const Statement& statement, const Parameters& parameters) {
  COMMENSAL_TRY(send(statement, parameters));
  return collect(nullptr);
}

Result<void> Connection::stream(const Statement& statement, const Parameters& parameters,
                                const std::function<bool(const Answer&)>& visit) {
  COMMENSAL_TRY(send(statement, parameters));
  PQsetSingleRowMode(connection_.get());
  COMMENSAL_TRY(collect(&visit));
  return {};
}

Result<void> Connection::run(const std::string& statements) {
  if (PQsendQuery(connection_.get(), statements.c_str()) == 0) {
    return tl::unexpected(lost(PQerrorMessage(connection_.get())));
  }
  COMMENSAL_TRY(collect(nullptr));
  return {};
}

Error Connection::failure(const pg_result* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) return lost(PQresultErrorMessage(result));
  // The server ends, or has just begun to: it hangs up.
  if (std::string_view(state).starts_with("57P")) is_lost_ = true;
  const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return {code_of(state),
          fmt::format("database: {} ({})", address_.plain(text != nullptr ? text : ""), state)};
}

Error Connection::lost(std::string_view why) {
  is_lost_ = true;
  return {ErrorCode::kUnavailable, fmt::format("database: {}", address_.plain(why))};
}

}  // namespace commensal::store::postgres
