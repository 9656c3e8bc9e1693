// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>
#include <string>
#include <string_view>

namespace commensal::apps {

/// What a shell completes a program's words by, from its commands and options as they are declared:
/// commands, options, the values of those that are one of a list, files elsewhere. `shell`: bash,
/// zsh or fish. Error: kInvalidArgument (another).
core::Result<std::string> completion_for(std::string_view shell, const CLI::App& program);

/// The command that prints it, of the program that it is declared on.
Run declare_completion(CLI::App& app);

}  // namespace commensal::apps
