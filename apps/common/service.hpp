// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <functional>
#include <stop_token>
#include <string_view>
#include <thread>

namespace commensal::apps {

/// $XDG_STATE_HOME/commensal/NAME, or ~/.local/state/commensal/NAME (XDG Base Directory
/// Specification).
core::Path state_folder(std::string_view name);

/// Blocks SIGINT and SIGTERM for this thread and all it starts. Call before any thread is made.
void hold_signals();

/// While it lives SIGINT and SIGTERM, which are held, end the program at once: a start is broken
/// off as by a kill.
class EndingAtOnce {
 public:
  EndingAtOnce();

 private:
  std::jthread waits_;
};

/// While it lives the first of these signals asks to stop, and the second ends the program at once.
class StoppingOnSignal {
 public:
  StoppingOnSignal();
  std::stop_token token() const { return stopping_.get_token(); }

 private:
  std::stop_source stopping_;
  std::jthread waits_;
};

/// Sleeps until SIGINT or SIGTERM arrives, calling `tick` every `every_ms` while it says true.
void wait_for_signal(int every_ms, const std::function<bool()>& tick);

}  // namespace commensal::apps
