// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/lab/hostile/database.hpp>
#include <filesystem>
#include <thread>

namespace commensal::lab::hostile {
namespace {

using core::ErrorCode;
using core::Result;

const core::Path kPrograms = "/usr/lib/postgresql/15/bin";  // Debian's
constexpr int kNobody = 65534;                              // Debian's nobody and nogroup
constexpr int kTries = 400, kSayMs = 5'000;
constexpr auto kBetween = std::chrono::milliseconds(25);

/// The server refuses to run as root.
std::vector<std::string> unprivileged(std::vector<std::string> command) {
  if (::geteuid() != 0) return command;
  std::vector<std::string> all = {"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
                                  "--pdeathsig=KILL"};
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

bool is_up(const core::Path& folder, const core::Path& log) {
  auto asked = core::ChildProcess::start({kPrograms / "pg_isready", "-h", folder}, log);
  if (!asked) return false;
  const auto said = asked->read_line(kSayMs, limits::kHostLineBytesMax);
  asked->wait();
  return said && said->find("accepting connections") != std::string::npos;
}

}  // namespace

bool Database::is_installed() { return std::filesystem::exists(kPrograms / "postgres"); }

Result<std::unique_ptr<Database>> Database::start() {
  if (!is_installed())
    return core::fail(ErrorCode::kNotFound, "attacks at a relay need Debian's postgresql-15");
  COMMENSAL_ASSIGN(auto folder, core::TemporaryFolder::make("commensal-hostile-db"));
  const core::Path at = folder.path(), data = at / "data", log = at / "log";
  if (::geteuid() == 0 && ::chown(at.c_str(), kNobody, kNobody) != 0)
    return core::fail(ErrorCode::kUnavailable, "cannot give {} to nobody", at.string());
  // Who may open the socket at all is its user.
  COMMENSAL_ASSIGN(
      auto made, core::ChildProcess::start(
                     unprivileged({kPrograms / "initdb", "-D", data, "-U", "gateway", "-A", "trust",
                                   "--no-locale", "-E", "UTF8", "--no-sync"}),
                     log));
  made.wait();
  COMMENSAL_ASSIGN(
      auto server,
      core::ChildProcess::start(unprivileged({kPrograms / "postgres", "-D", data, "-k", at, "-c",
                                              "listen_addresses=", "-c", "shared_buffers=16MB"}),
                                log));
  for (int i = 0; i < kTries; ++i, std::this_thread::sleep_for(kBetween)) {
    if (is_up(at, log))
      return std::unique_ptr<Database>(new Database(std::move(folder), std::move(server)));
  }
  return core::fail(ErrorCode::kUnavailable, "PostgreSQL does not start");
}

std::string Database::url() const {
  return fmt::format("postgresql://gateway@/postgres?host={}", folder_.path().string());
}

}  // namespace commensal::lab::hostile
