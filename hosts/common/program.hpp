// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <tl/expected.hpp>

namespace hosts::common {

/// Parses the options declared on `app`, then calls `run`. Returns the exit status: 0, or 1 with
/// one line on standard error for a bad option and for an error of `run`.
int run_program(CLI::App& app, int argc, char** argv,
                const std::function<tl::expected<void, std::string>()>& run);

}  // namespace hosts::common
