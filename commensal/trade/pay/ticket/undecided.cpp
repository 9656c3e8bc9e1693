// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ticket/undecided.hpp>

namespace commensal::ticket {

std::set<core::Digest> undecided_jobs(const TicketBook& tickets) {
  std::set<core::Digest> jobs;
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    if (is_settled(state)) continue;
    for (const Record& record : tickets.in(state)) jobs.insert(record.body.job_id);
  }
  return jobs;
}

bool is_undecided(const TicketBook& tickets, const core::Digest& ticket) {
  const Record* const record = tickets.find(ticket);
  return record != nullptr && !is_settled(record->state);
}

}  // namespace commensal::ticket
