// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/rollout_summary.hpp>

namespace commensal::apps {

nlohmann::ordered_json summary_of(const client::RolloutInfo& info) {
  nlohmann::ordered_json made = {{"job", core::to_hex(info.id)},
                                 {"provider", crypto::to_text(info.provider)},
                                 {"state", info.state},
                                 {"reason", info.reason}};
  if (!info.reason_code.empty()) made["reason_code"] = info.reason_code;
  made["steps_done"] = info.steps_done;
  made["final_state"] = core::to_hex(info.final_state);
  made["audits"] = info.audits_matched + info.mismatches.size();
  made["mismatches"] = info.mismatches;
  return made;
}

}  // namespace commensal::apps
