// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <memory>
#include <string>

namespace commensal::apps {

/// --db and what belongs to it: where a gateway's state is, if not in its folder.
struct DatabaseOptions {
  std::string url;  // "": in its folder
  std::int64_t lease_ms = 10'000;

  void declare(CLI::App& app);
  /// Null where none is named. While another gateway works on it this one waits, and says so once,
  /// on standard error. Errors: store::open_postgres_store()'s.
  core::Result<std::shared_ptr<store::PostgresStore>> open() const;
};

}  // namespace commensal::apps
