// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <apps/commensal/waiting.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <cstdio>

namespace commensal::apps {
namespace {

constexpr int kQuietWaitS = 3;  // most answers are there before anybody wonders

/// Why nobody computes the model now; "" if somebody does, or nobody says.
std::string why_it_waits(const Connection& connection, const std::string& model) {
  auto client = connect(connection);
  if (!client) return "";
  const auto ready = client->get_json("/v2/models/" + model + "/ready");
  return ready ? "" : ready.error().message;
}

void tell_of_waiting(const std::stop_token& stop, const Connection& connection,
                     const std::string& model) {
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  std::string told;
  bool is_shown = false;
  for (int second = 1; !stop.stop_requested(); ++second) {
    guest::wait(stop, 1);
    if (stop.stop_requested() || second < kQuietWaitS) continue;
    const std::string why = second % kQuietWaitS == 0 ? why_it_waits(connection, model) : told;
    if (!why.empty() && why != told) {
      fmt::print(stderr, "{}waiting: {}\n", is_shown ? "\r\x1b[K" : "", why);
    }
    told = why;
    if (is_terminal) fmt::print(stderr, "\rno answer for {} s\x1b[K", second);
    is_shown = is_terminal;
    std::fflush(stderr);
  }
  if (is_shown) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace

Waiting::Waiting(Connection connection, std::string model)
    : thread_([connection = std::move(connection), model = std::move(model)](
                  const std::stop_token& stop) { tell_of_waiting(stop, connection, model); }) {}

}  // namespace commensal::apps
