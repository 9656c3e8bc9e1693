// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/result.hpp>
#include <string_view>

namespace commensal::apps {

/// Says what went wrong: "WHO: MESSAGE" on stderr, or, where JSON was asked for,
/// {"error": {"code", "message"}} on stdout.
void complain(bool in_json, std::string_view who, const core::Error& error);

/// That what was printed has arrived. Error: kUnavailable: a full disk, say.
core::Result<void> check_output();

/// Whether `command`, or what was called of its own subcommands, was given the flag --json.
bool wants_json(const CLI::App& command);

}  // namespace commensal::apps
