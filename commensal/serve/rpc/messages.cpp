// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <commensal/base/core/limits_observe.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/rpc/messages.hpp>

namespace commensal::rpc {
namespace {

/// A short line.
core::Result<void> check_name(std::string_view field, const std::string& name) {
  constexpr std::size_t kMax = limits::kNameBytesMax;
  if (name.size() > kMax) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{} has {} bytes, at most {} are accepted",
                      field, name.size(), kMax);
  }
  if (!protocol::is_line(name)) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{} is not one line", field);
  }
  return {};
}

using Version = std::array<std::uint32_t, 3>;

bool is_from(const Version& least, std::string_view version) {
  Version parts = {};
  const char* at = version.data();
  const char* const end = at + version.size();
  for (std::uint32_t& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts >= least;
}

/// What is handled in one turn of the gateway's loop.
core::Result<void> check_count(std::string_view what, std::size_t count, std::size_t most) {
  if (count <= most) return {};
  return core::fail(core::ErrorCode::kResourceExhausted, "{} {}, at most {} are accepted", count,
                    what, most);
}

}  // namespace

core::Result<void> Batching::validity() const {
  COMMENSAL_TRY(check_count("preferred sizes", preferred.size(), limits::kPreferredSizesMax));
  if (wait_us > limits::kBatchWaitUsMax) {
    return core::fail(core::ErrorCode::kInvalidArgument, "batching: a wait of {} us, at most {}",
                      wait_us, limits::kBatchWaitUsMax);
  }
  const bool rises =
      std::ranges::adjacent_find(preferred, std::greater_equal<>()) == preferred.end();
  if (rows_max == 0 || !rises || (!preferred.empty() && preferred.front() == 0)) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "batching: expected rows from 1 on, and preferred sizes that rise");
  }
  return {};
}

core::Result<void> RequestName::validity() const {
  for (const std::string* const text : {&id, &trace_id}) {
    if (text->size() <= limits::kRequestIdBytesMax && protocol::is_line(*text)) continue;
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "request: a name of {} bytes, expected one line of at most {}", text->size(),
                      limits::kRequestIdBytesMax);
  }
  return {};
}

bool knows_batching(std::string_view version) { return is_from({0, 1, 1}, version); }
bool knows_requests(std::string_view version) { return is_from({0, 1, 2}, version); }
bool knows_prefetch(std::string_view version) { return is_from({0, 1, 2}, version); }
bool knows_statements(std::string_view version) { return is_from({0, 1, 3}, version); }
bool knows_release(std::string_view version) { return is_from({0, 1, 4}, version); }
bool knows_host(std::string_view version) { return is_from({0, 1, 5}, version); }

core::Result<void> Hello::validity() const {
  COMMENSAL_TRY(check_name("name", name));
  COMMENSAL_TRY(check_name("version", version));
  return check_count("cached models", cached_models.size(), limits::kHelloModelsMax);
}

core::Result<void> Load::validity() const {
  return check_count("cached models", cached_models.size(), limits::kHelloModelsMax);
}

core::Result<void> Commit::validity() const {
  COMMENSAL_TRY(check_count("commitments", items.size(), limits::kCommitsMax));
  if (!runs) return {};
  const bool rises =
      std::ranges::adjacent_find(*runs, std::greater_equal<>(), &Run::item) == runs->end();
  const bool is_last = runs->empty() || runs->back().item < items.size();
  const auto is_run = [](const Run& run) { return run.tasks > 0 && run.rows > 0; };
  if (rises && is_last && std::ranges::all_of(*runs, is_run)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "runs: expected tasks and rows, each run with an item of its own, in order");
}

core::Result<void> Statements::validity() const {
  return check_count("statements", items.size(), limits::kPrivacyStatementsMax);
}

core::Result<void> Release::validity() const {
  return check_count("models", models.size(), limits::kHelloModelsMax);
}

core::Result<void> Released::validity() const {
  return check_count("models", items.size(), limits::kHelloModelsMax);
}

core::Result<void> HostSeen::validity() const {
  COMMENSAL_TRY(check_name("unit", unit));
  for (const double figure : {rate, reference, income_per_hour.value_or(0)}) {
    if (std::isfinite(figure) && figure >= 0) continue;
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a figure of the host is {}, expected 0 or more", figure);
  }
  return {};
}

core::Result<void> Claims::validity() const {
  return check_count("claims", items.size(), limits::kClaimsMax);
}

std::vector<Claims> Claims::in_messages(std::vector<Item> items) {
  constexpr std::size_t kHalf = limits::kRpcFrameBytesMax / 2;  // frames have words of their own
  std::vector<Claims> made;
  std::size_t bytes = kHalf;
  for (Item& item : items) {
    protocol::Writer writer;
    protocol::write(writer, item);
    const std::size_t size = writer.written().size();
    if (bytes + size > kHalf || made.back().items.size() == limits::kClaimsMax) {
      made.emplace_back();
      bytes = 0;
    }
    bytes += size;
    made.back().items.push_back(std::move(item));
  }
  return made;
}

core::Result<void> Balance::validity() const {
  return check_count("tickets owed", owed, limits::kTicketsOwedMax);
}

core::Result<void> Outcomes::Item::validity() const { return check_name("event", event); }

core::Digest challenge_digest(const core::Digest& nonce, const crypto::Address& gateway,
                              const Channel& channel) {
  return crypto::tagged_hash("commensal/challenge/v1", nonce, gateway.bytes, channel.gateway,
                             channel.provider);
}

core::Digest hello_digest(const core::Digest& nonce, const crypto::Address& address,
                          const crypto::Address& gateway, const Channel& channel) {
  return crypto::tagged_hash("commensal/hello/v1", nonce, address.bytes, gateway.bytes,
                             channel.gateway, channel.provider);
}

}  // namespace commensal::rpc
