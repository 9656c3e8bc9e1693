// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <apps/common/service.hpp>
#include <cstdlib>

namespace commensal::apps {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// 0: there was none before it was to stop.
int next_signal(const std::stop_token& stop) {
  const sigset_t set = stop_signals();
  const timespec wait{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!stop.stop_requested()) {
    if (const int number = sigtimedwait(&set, nullptr, &wait); number > 0) return number;
  }
  return 0;
}

void end_at(int number) {
  if (number > 0) std::_Exit(128 + number);
}

}  // namespace

core::Path state_folder(std::string_view name) {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const core::Path base = state != nullptr && *state != '\0' ? core::Path(state)
                          : home != nullptr                  ? core::Path(home) / ".local" / "state"
                                                             : core::Path(".");
  return base / "commensal" / name;
}

void hold_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

EndingAtOnce::EndingAtOnce()
    : waits_([](const std::stop_token& stop) { end_at(next_signal(stop)); }) {}

StoppingOnSignal::StoppingOnSignal()
    : waits_([stopping = stopping_](const std::stop_token& stop) mutable {
        if (next_signal(stop) == 0) return;
        stopping.request_stop();
        end_at(next_signal(stop));
      }) {}

void wait_for_signal(int every_ms, const std::function<bool()>& tick) {
  const sigset_t set = stop_signals();
  const timespec wait{.tv_sec = every_ms / 1000, .tv_nsec = every_ms % 1000 * 1'000'000L};
  while (sigtimedwait(&set, nullptr, &wait) < 0 && tick()) {
  }
}

}  // namespace commensal::apps
