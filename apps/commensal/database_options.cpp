// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <apps/commensal/database_options.hpp>
#include <apps/common/service.hpp>
#include <array>
#include <commensal/base/core/limits_relay.hpp>
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
  app.add_option("--advertise", host,
                 "With --db: host by which the other gateways reach this one (default: what each "
                 "port listens on, or this machine's name where that is any)");
}

core::Result<Database> DatabaseOptions::open(const daemon::GatewayDaemonConfig& daemon) const {
  Database made;
  if (url.empty()) return made;
  COMMENSAL_ASSIGN(made.standby, daemon::Standby::open(daemon, host));
  core::Result<void> passes;
  const StoppingOnSignal signals;
  store::PostgresOptions options;
  options.owner = own_name();
  options.lease_ms = lease_ms;
  options.stop = signals.token();
  options.on_wait = [&](const std::string& owner) {
    passes = made.standby->pass_on();
    fmt::print(stderr,
               "note: waiting as a standby: the database is in use by the gateway of {}, "
               "to which connections are passed on\n",
               owner);
    if (!passes) fmt::print(stderr, "note: they are not: {}\n", passes.error().message);
    std::fflush(stderr);
  };
  options.on_writer = [&](const store::Writer& writer) { made.standby->point_at(writer); };
  const auto opened = std::make_shared<Opened>();
  auto store = store::open_postgres_store(url, options, opened->clock);
  if (store && options.stop.stop_requested()) {  // just when it had waited long enough
    store = core::fail(core::ErrorCode::kCancelled, "told to stop");
  }
  const bool is_told = !store && store.error().code == core::ErrorCode::kCancelled;
  if (is_told) made.standby->drain(limits::kDrainMs);
  if (!store) return tl::unexpected(store.error());
  opened->store = *std::move(store);
  made.store = std::shared_ptr<store::PostgresStore>(opened, opened->store.get());
  return made;
}

}  // namespace commensal::apps
