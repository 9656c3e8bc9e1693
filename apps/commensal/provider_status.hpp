// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/result.hpp>
#include <string>

namespace commensal::apps {

/// `provider status`: what this machine's governor says, once or again and again.
struct StatusOptions {
  bool json = false;
  bool watch = false;

  CLI::App* declare(CLI::App& provider);
  core::Result<int> run() const;
};

/// A governor's line of status as a page for people. Error: kDataLoss (it is no such line).
core::Result<std::string> status_page(const std::string& line);

}  // namespace commensal::apps
