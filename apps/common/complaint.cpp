// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/complaint.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

namespace commensal::apps {

void complain(bool in_json, std::string_view who, const core::Error& error) {
  if (!in_json) {
    // Where it cannot be said, the exit status says it; fmt::print would throw.
    std::fputs(fmt::format("{}: {}\n", who, error.message).c_str(), stderr);
    return;
  }
  using Json = nlohmann::ordered_json;
  const Json said = {
      {"error", {{"code", std::string(core::name_of(error.code))}, {"message", error.message}}}};
  fmt::print("{}\n", said.dump(-1, ' ', false, Json::error_handler_t::replace));
}

core::Result<void> check_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return core::fail(core::ErrorCode::kUnavailable, "cannot write standard output{}{}",
                    errno == 0 ? "" : ": ", errno == 0 ? "" : std::strerror(errno));
}

bool wants_json(const CLI::App& command) {
  const CLI::Option* option = command.get_option_no_throw("--json");
  const bool is_flag = option != nullptr && option->get_expected_max() == 0;
  if (is_flag && option->count() > 0) return true;
  const auto called = command.get_subcommands();
  return std::ranges::any_of(called, [](const CLI::App* one) { return wants_json(*one); });
}

}  // namespace commensal::apps
