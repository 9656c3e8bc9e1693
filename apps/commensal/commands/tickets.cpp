// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/connection.hpp>
#include <apps/commensal/money_requests.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/serve/http/money_json.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

struct TicketsArguments {
  std::string folder;
  std::string provider;
  Connection connection;
  bool json = false;
};

/// What the daemon of this folder keeps, gateway or provider; it may be running.
Result<std::string> from_folder(const TicketsArguments& options) {
  const core::Path file = core::Path(options.folder) / "state.sqlite";
  if (!std::filesystem::exists(file)) {
    return core::fail(core::ErrorCode::kNotFound, "'{}' is not the folder of a daemon",
                      options.folder);
  }
  COMMENSAL_ASSIGN(const auto store, store::open_sqlite_store(file));
  const core::SystemClock clock;
  ticket::TicketBook book(*store, clock);
  COMMENSAL_TRY(book.open());
  const auto summary = ticket::summarise(book, static_cast<std::uint64_t>(clock.wall_ms()),
                                         [](const core::Digest&) { return true; });
  return http::tickets_json(summary, &book.totals());
}

Result<std::string> from_gateway(const TicketsArguments& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  return client.get_json("/v1/tickets" +
                         (options.provider.empty() ? "" : "?provider=" + options.provider));
}

Result<int> tickets(const TicketsArguments& options) {
  COMMENSAL_ASSIGN(const std::string text,
                   options.folder.empty() ? from_gateway(options) : from_folder(options));
  COMMENSAL_ASSIGN(const Json json, parse_answer(text));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_tickets(json);
  }
  return 0;
}

}  // namespace

Run declare_tickets(CLI::App& app) {
  const auto options = std::make_shared<TicketsArguments>();
  auto* folder = app.add_option("--data-dir", options->folder,
                                "Folder of a daemon, gateway or provider, instead of a gateway "
                                "that is asked");
  app.add_option("--provider", options->provider, "Address: only the tickets of this provider")
      ->excludes(folder);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return tickets(*options); };
}

}  // namespace commensal::apps
