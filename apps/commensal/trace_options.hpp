// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/serve/observe/tracer.hpp>
#include <functional>
#include <string>

namespace commensal::apps {

/// --otlp-endpoint and what belongs to it: where spans of requests go.
struct TraceOptions {
  std::string endpoint;  // "": nowhere

  /// Sets what else is given in `trace`, as long as `app` lives.
  void declare(CLI::App& app, observe::TraceOptions& trace);
  /// What sends spans there, null for nowhere. Error: kInvalidArgument, for what is no URL.
  core::Result<std::function<bool(const std::string&)>> sender() const;
};

}  // namespace commensal::apps
