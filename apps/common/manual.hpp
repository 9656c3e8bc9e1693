// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/program.hpp>

namespace commensal::apps {

/// A page of the manual, in man(7): "commensal-infer" is PAGE.1.
struct ManualPage {
  std::string name;
  std::string text;
};

/// The program's own page, with its commands by who uses them, and one for each command, from the
/// same tables as --help. `app`: the program's commands as they are declared.
std::vector<ManualPage> manual_of(const Program& program, const CLI::App& app);

/// The command that writes them into a folder, for who builds packages; --help does not show it.
Run declare_manual(CLI::App& app, const Program& program);

}  // namespace commensal::apps
