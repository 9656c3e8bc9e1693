// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/provider_log.hpp>
#include <commensal/base/core/network.hpp>

namespace commensal::apps {
namespace {

constexpr std::int64_t kJobsEveryMs = 10'000;
constexpr std::int64_t kFetchEveryMs = 5'000;
constexpr std::size_t kHexDigits = 12;  // of a model's hash: enough to know it by

}  // namespace

core::Result<void> check_stream_address(const std::string& text) {
  const auto is_one = [](const std::string& one) {
    const auto where = core::Endpoint::parse(one);
    return where && where->port > 0;
  };
  if (std::ranges::all_of(core::endpoints_of(text), is_one)) return {};
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "--gateway '{}', expected HOST:PORT of the gateway's port for providers, such "
                    "as 127.0.0.1:8090",
                    text);
}

std::string ProviderLog::stream_line(const provider::ProviderStatus& now) const {
  const std::string why = now.stream_message.empty() ? "" : ": " + now.stream_message;
  switch (now.stream) {
    case provider::StreamState::kConnected:
      return fmt::format("connected to {}", gateway_);
    case provider::StreamState::kDismissed:
      return fmt::format("dismissed by {}{}", gateway_, why);
    case provider::StreamState::kConnecting:
      break;
  }
  return fmt::format("connecting to {}{}{}", gateway_, why, why.empty() ? "" : "; goes on trying");
}

/// The same as before while there is nothing new to say.
std::string ProviderLog::fetch_line(const provider::ProviderStatus& now, std::int64_t now_ms) {
  const provider::Fetch& fetch = now.fetch;
  const bool is_new = fetch.number != fetches_;
  if (fetch.number == 0) return "";
  if (!is_new && !fetch.is_over && now_ms - fetch_told_ms_ < kFetchEveryMs) return fetch_;
  fetches_ = fetch.number;
  fetch_told_ms_ = now_ms;
  const std::string model = core::to_hex(fetch.model).substr(0, kHexDigits);
  const double mib = static_cast<double>(fetch.bytes) / (1 << 20);
  if (!fetch.is_over) return fmt::format("fetches model {}: {:.1f} MiB so far", model, mib);
  if (fetch.failed.empty()) return fmt::format("fetched model {}, {:.1f} MiB", model, mib);
  return fmt::format("model {} did not come: {}", model, fetch.failed);
}

std::string ProviderLog::money_line(const provider::ProviderStatus& now) const {
  std::string line;
  if (now.tickets.paid + now.tickets.penalised + now.tickets.slashed > 0) {
    line = fmt::format("tickets: {} paid, {} in all; {} penalised, {} slashed; ", now.tickets.paid,
                       to_text(now.tickets.value_paid), now.tickets.penalised, now.tickets.slashed);
  }
  if (!now.balance) return line;
  line += fmt::format("available {}, stake {}", to_text(now.balance->available),
                      to_text(now.balance->stake));
  if (now.balance->stake < now.balance->stake_wanted) {
    line += fmt::format(" of {} that the gateway wants: it sends no work before",
                        to_text(now.balance->stake_wanted));
  }
  if (now.unjudged > 0) {
    line += fmt::format("; {} winner(s) not judged in time: their pay is asked for in the ledger",
                        now.unjudged);
  }
  return line;
}

std::vector<std::string> ProviderLog::add(const provider::ProviderStatus& now,
                                          std::int64_t now_ms) {
  std::vector<std::string> lines;
  const auto on_change = [&lines](std::string& last, std::string line) {
    if (line == last) return;
    last = std::move(line);
    if (!last.empty()) lines.push_back(last);
  };
  on_change(trust_, !now.new_gateway
                        ? ""
                        : fmt::format("takes the key {} of {} for the gateway's from now on; "
                                      "--gateway-key if you know another",
                                      to_text(*now.new_gateway), gateway_));
  on_change(stream_, stream_line(now));
  on_change(paused_,
            now.paused.empty() ? (paused_.empty() ? "" : "goes on") : "paused: " + now.paused);
  on_change(fetch_, fetch_line(now, now_ms));
  on_change(money_, money_line(now));
  const std::uint64_t answers = now.delivered - delivered_, refusals = now.refused - refused_;
  if (answers + refusals == 0 || (told_ms_ > 0 && now_ms - told_ms_ < kJobsEveryMs)) return lines;
  lines.push_back(fmt::format("{} answers since, {} in all; {} jobs refused{}, {} waiting", answers,
                              now.delivered, now.refused,
                              refusals == 0 ? "" : fmt::format(" (the last: {})", now.refused_why),
                              now.queued));
  delivered_ = now.delivered;
  refused_ = now.refused;
  told_ms_ = now_ms;
  return lines;
}

}  // namespace commensal::apps
