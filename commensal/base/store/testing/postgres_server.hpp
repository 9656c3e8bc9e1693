// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/temporary_folder.hpp>
#include <memory>
#include <optional>
#include <string>

namespace commensal::store::testing {

/// A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket, with a password,
/// written through to the disk, as an unprivileged user where the test runs as root. It ends with
/// the object or with the thread that made it.
class PostgresServer {
 public:
  /// What has to be installed where there is no server program; else nothing.
  static std::optional<std::string> missing_package();

  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  static constexpr const char* kPassword = "s3cret-word";
  std::string url(const std::string& password = kPassword,
                  const std::string& database = "postgres") const;
  /// Where its socket is; the socket's own name begins with ".s.PGSQL.".
  core::Path folder() const { return folder_.path(); }
  /// Runs statements by psql; returns what it prints.
  std::string psql(const std::string& statements) const;

  void start();
  /// SIGKILL for all its processes, as when its machine loses power (but for the disk's cache).
  void kill();
  void restart() { kill(), start(); }
  void pause() { signal_all(19); }   // SIGSTOP
  void resume() { signal_all(18); }  // SIGCONT

 private:
  void signal_all(int number) const;

  core::TemporaryFolder folder_;
  int pid_ = 0;
};

}  // namespace commensal::store::testing
