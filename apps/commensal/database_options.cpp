// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <apps/commensal/database_options.hpp>
#include <apps/common/service.hpp>
#include <array>
#include <commensal/base/core/limits_store.hpp>
#include <cstdio>

namespace commensal::apps {
namespace {

constexpr std::size_t kHostShownMax = 32;

struct Opened {
  core::SystemClock clock;  // which the store needs to its end
  std::unique_ptr<store::PostgresStore> store;
};

/// Who this is, for who waits.
std::string own_name() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format("{}, process {}", std::string(host.data()).substr(0, kHostShownMax),
                     ::getpid());
}

}  // namespace

void DatabaseOptions::declare(CLI::App& app) {
  app.add_option("--db", url,
                 "State in PostgreSQL, postgresql://USER@HOST:PORT/DATABASE, in place of the data "
                 "folder's store; keys and models stay in the folder. A password belongs in the "
                 "variable, as others see options")
      ->envname("COMMENSAL_DB");
  app.add_option("--lease-ms", lease_ms,
                 "With --db: a gateway that is silent for so long is taken over from")
      ->check(CLI::Range(limits::kLeaseMsMin, limits::kLeaseMsMax))
      ->capture_default_str();
}

core::Result<std::shared_ptr<store::PostgresStore>> DatabaseOptions::open() const {
  if (url.empty()) return nullptr;
  store::PostgresOptions options;
  options.owner = own_name();
  options.lease_ms = lease_ms;
  options.on_wait = [](const std::string& owner) {
    fmt::print(stderr, "note: waiting as a standby: the database is in use by the gateway of {}\n",
               owner);
    std::fflush(stderr);
  };
  const EndingAtOnce ending;
  const auto opened = std::make_shared<Opened>();
  COMMENSAL_ASSIGN(opened->store, store::open_postgres_store(url, options, opened->clock));
  return std::shared_ptr<store::PostgresStore>(opened, opened->store.get());
}

}  // namespace commensal::apps
