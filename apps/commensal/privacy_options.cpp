// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/privacy_options.hpp>
#include <charconv>
#include <chrono>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/noun_in.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::PrivacyStatement;

namespace {

/// "" where it was taken, else what is wrong.
std::string add_auditor(const std::string& text, gateway::PrivacyAuditors::Believed& believed) {
  const std::size_t at = text.find('=');
  const auto address =
      crypto::address_from_text(at == std::string::npos ? "" : text.substr(at + 1));
  if (!address) return fmt::format("'{}', expected CLASS=0xADDRESS", text);
  const std::string name = text.substr(0, at);
  if (const auto is_one = protocol::check_privacy_class(name); !is_one)
    return is_one.error().message;
  believed[name].insert(*address);
  std::size_t count = 0;
  for (const auto& [one, auditors] : believed) count += auditors.size();
  if (count <= limits::kPrivacyAuditorsMax) return "";
  return fmt::format("{} auditors, expected at most {}", count, limits::kPrivacyAuditorsMax);
}

Result<PrivacyStatement> read_statement(const std::string& file) {
  COMMENSAL_ASSIGN(const core::Bytes bytes, core::read_file(file, limits::kNounBytesMax));
  auto statement = protocol::decode<PrivacyStatement>(bytes);
  if (statement) return statement;
  const std::string other = protocol::noun_in(bytes);
  if (!other.empty() && other != "a privacy statement")
    return fail(ErrorCode::kInvalidArgument, "expected a privacy statement, this is {}", other);
  return statement;
}

}  // namespace

void declare_privacy_auditors(CLI::App& app, gateway::PrivacyAuditors::Believed& believed) {
  const auto add = [&believed](const std::vector<std::string>& all) {
    for (const std::string& one : all) {
      if (const std::string why = add_auditor(one, believed); !why.empty())
        throw CLI::ValidationError("--privacy-auditor", why);
    }
  };
  app.add_option_function<std::vector<std::string>>(
         "--privacy-auditor", add,
         "CLASS=0xADDRESS, any number of times: this auditor's statements (commensal vouch) say "
         "which "
         "providers may see requests of the class, as of privacy_class=medical")
      ->allow_extra_args(false);
}

void declare_privacy_class(CLI::App& app, std::string& privacy_class) {
  app.add_option("--privacy-class", privacy_class,
                 "Of the inputs: only providers of which an auditor that the gateway believes has "
                 "signed that they may see this class get them (commensal providers)")
      ->check(CLI::Validator(
          [](std::string& name) {
            const auto is_one = protocol::check_privacy_class(name);
            return is_one ? std::string() : is_one.error().message;
          },
          ""));
}

void declare_statements(CLI::App& app, std::vector<std::string>& files) {
  app.add_option("--privacy-statement", files,
                 "What an auditor has signed of this provider (commensal vouch), shown to the "
                 "gateway; several times for several")
      ->allow_extra_args(false);
}

Result<std::vector<PrivacyStatement>> read_statements(const std::vector<std::string>& files) {
  if (files.size() > limits::kPrivacyStatementsMax) {
    return fail(ErrorCode::kInvalidArgument,
                "--privacy-statement: {} of them, at most {} are shown", files.size(),
                limits::kPrivacyStatementsMax);
  }
  std::vector<PrivacyStatement> statements;
  for (const std::string& file : files) {
    auto statement = read_statement(file);
    if (!statement)
      return core::in_context(fmt::format("--privacy-statement {}", file), statement.error());
    statements.push_back(*std::move(statement));
  }
  return statements;
}

std::vector<std::string> lines_of_ended(const std::vector<std::string>& files,
                                        const std::vector<PrivacyStatement>& statements,
                                        std::int64_t now_ms) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (std::cmp_less(now_ms, statements[i].valid_until_ms)) continue;
    lines.push_back(
        fmt::format("--privacy-statement {} of class '{}' has ended on {} and is not shown: "
                    "expected a newer one",
                    files[i], statements[i].privacy_class, last_day(statements[i].valid_until_ms)));
  }
  return lines;
}

Result<std::uint64_t> end_of_day(const std::string& day) {
  using namespace std::chrono;
  int parts[3] = {};
  const char* at = day.data();
  const char* const end = at + day.size();
  for (int i = 0; i < 3; ++i) {
    const std::ptrdiff_t size = i == 0 ? 4 : 2;
    const bool is_whole = end - at >= size && (i == 2 || (end - at > size && at[size] == '-'));
    const auto read = is_whole ? std::from_chars(at, at + size, parts[i]).ptr : at;
    if (read != at + size) break;
    at = read + (i == 2 ? 0 : 1);
    if (i < 2) continue;
    const auto date = year{parts[0]} / month{static_cast<unsigned>(parts[1])} /
                      std::chrono::day{static_cast<unsigned>(parts[2])};
    if (at != end || !date.ok() || parts[0] < 1970) break;
    return static_cast<std::uint64_t>(
        milliseconds((sys_days(date) + days(1)).time_since_epoch()).count());
  }
  return fail(ErrorCode::kInvalidArgument, "the day '{}', expected one as 2027-01-31", day);
}

Result<std::uint64_t> statement_end(const std::string& day, std::int64_t now_ms) {
  constexpr std::uint64_t kDayMs = 86'400'000;
  COMMENSAL_ASSIGN(const std::uint64_t end_ms, end_of_day(day));
  const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(now_ms, 0));
  if (end_ms <= now)
    return fail(ErrorCode::kInvalidArgument, "the day '{}' is over: expected a later one", day);
  const std::uint64_t last_ms = now + limits::kStatementDaysMax * kDayMs;
  if (end_ms - kDayMs <= last_ms) return end_ms;
  return fail(ErrorCode::kInvalidArgument,
              "the day '{}' is more than {} days away, and nobody can take a statement back: "
              "expected one until {}",
              day, limits::kStatementDaysMax, last_day(last_ms + 1));
}

Result<void> check_place(const std::string& file, const std::string& key_file) {
  std::error_code none;
  if (std::filesystem::equivalent(file, key_file, none))
    return fail(ErrorCode::kInvalidArgument, "'{}' is the key's own file: expected another", file);
  const auto status = std::filesystem::symlink_status(file, none);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (std::filesystem::is_regular_file(status) && read_statement(file)) return {};
  return fail(
      ErrorCode::kAlreadyExists,
      "'{}' is there already, and no privacy statement: expected the name of a new file, or "
      "of an older statement",
      file);
}

std::string last_day(std::uint64_t end_ms) {
  using namespace std::chrono;
  constexpr std::uint64_t kEndMax = 253'402'300'800'000;  // of the year 9999
  const milliseconds last(std::clamp<std::uint64_t>(end_ms, 1, kEndMax) - 1);
  const year_month_day date(floor<days>(sys_time<milliseconds>(last)));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace commensal::apps
