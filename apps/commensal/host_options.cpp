// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/host_options.hpp>

namespace commensal::apps {

void declare_guest(CLI::App& app, guest::GuestProcessOptions& guest) {
  app.add_option("--host", guest.client.host,
                 "What runs here and must not be disturbed: a probe such as "
                 "xmrig:http://127.0.0.1:4067 or process:PID, or auto (commensal probe --help)");
  app.add_option("--weight", guest.client.guest.weight,
                 "Share of what the host leaves, beside this machine's guests")
      ->check(CLI::Range(1.0, guest::kWeightMax))
      ->capture_default_str();
  app.add_option("--guest-memory-max", guest.memory_bytes_max,
                 "Memory that this guest may have, such as 4GiB; beyond it, it is ended")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  app.add_option("--host-income-per-hour", guest.client.host_income_per_hour,
                 "What the host earns, shown beside what guests earn; in the ledger's unit")
      ->check(CLI::NonNegativeNumber);
}

}  // namespace commensal::apps
