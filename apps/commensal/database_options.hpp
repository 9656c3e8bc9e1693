// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/postgres_store.hpp>
#include <commensal/serve/daemon/standby.hpp>
#include <memory>
#include <string>

namespace commensal::apps {

/// A gateway's place at a database; both null where its state is in its folder.
struct Database {
  std::unique_ptr<daemon::Standby> standby;
  std::shared_ptr<store::PostgresStore> store;
};

/// --db and what belongs to it: where a gateway's state is, if not in its folder.
struct DatabaseOptions {
  std::string url;  // "": in its folder
  std::int64_t lease_ms = 10'000;
  std::string host;  // by which other gateways reach this one; "": as it listens

  void declare(CLI::App& app);
  /// Opens the ports that `daemon` names and returns once this gateway may write. While another one
  /// works on the database they pass connections on to it, which is said once, on standard error.
  /// Errors: daemon::Standby's and store::open_postgres_store()'s; kCancelled where a signal has
  /// ended the waiting in order.
  core::Result<Database> open(const daemon::GatewayDaemonConfig& daemon) const;
};

}  // namespace commensal::apps
