// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/compute/graph/session.hpp>
#include <string>

namespace commensal::apps {

/// --backend, --isa, --threads, --memory-max and --cache, for every command that runs models here.
struct BackendOptions {
  std::string backend = "cpu";
  std::string isa;
  int threads = 1;
  std::int64_t memory_bytes_max = limits::kMemoryBytesDefault;
  std::string cache;  // folder of packed weights; none: they are packed anew

  void declare(CLI::App& app);
  graph::SessionOptions session() const;
  /// Error: kUnsupported (this machine lacks the instruction set).
  core::Result<void> check() const;
  /// The instruction set that such a session runs on; none for ref/.
  std::optional<kernels::Isa> isa_used() const;
};

}  // namespace commensal::apps
