// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/collocation/guest/guest_process.hpp>

namespace commensal::apps {

/// --host and what goes with it, for commands that run guests. `guest` outlives the app.
void declare_guest(CLI::App& app, guest::GuestProcessOptions& guest);

}  // namespace commensal::apps
