// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <time.h>

#include <hosts/common/stop.hpp>

namespace hosts::common {
namespace {

sigset_t the_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = the_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  (void)signal(SIGPIPE, SIG_IGN);
}

bool StopSignals::wait(std::int64_t wait_ms) {
  const sigset_t set = the_signals();
  const timespec time{wait_ms / 1000, wait_ms % 1000 * 1'000'000};
  if (!came_ && sigtimedwait(&set, nullptr, &time) > 0) came_ = true;
  return came_;
}

}  // namespace hosts::common
