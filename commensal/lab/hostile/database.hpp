// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/child_process.hpp>
#include <commensal/base/core/temporary_folder.hpp>
#include <memory>
#include <string>

namespace commensal::lab::hostile {

/// A PostgreSQL server of its own, on a socket in a folder that is its user's only. It ends with
/// the object, its files too. Not thread-safe.
class Database {
 public:
  static bool is_installed();

  /// Errors: kNotFound (Debian's postgresql-15 is not installed), kUnavailable.
  static core::Result<std::unique_ptr<Database>> start();
  std::string url() const;

 private:
  Database(core::TemporaryFolder folder, core::ChildProcess server)
      : folder_(std::move(folder)), server_(std::move(server)) {}

  core::TemporaryFolder folder_;
  core::ChildProcess server_;
};

}  // namespace commensal::lab::hostile
