// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/journey.hpp>

namespace commensal::gateway {

void Journey::on_offer(const crypto::Address& to, std::int64_t now_ns) {
  offered_ns = now_ns;
  committed_ns = 0;
  ++offers;
  provider = to;
  tells_runs = false;
  run.reset();
}

void Journey::on_commit(const rpc::Commit& message, std::size_t item, std::int64_t now_ns) {
  committed_ns = now_ns;
  tells_runs = message.runs.has_value();
  if (!tells_runs) return;
  const auto found = std::ranges::find(*message.runs, item, &rpc::Commit::Run::item);
  if (found == message.runs->end()) return;
  run = *found;
  // No run was longer than we have waited, whatever is said.
  run->took_ns = std::min(run->took_ns, static_cast<std::uint64_t>(now_ns - offered_ns));
}

}  // namespace commensal::gateway
