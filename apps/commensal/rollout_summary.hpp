// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/client.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {

/// What `rollout --json` prints of one that is over.
nlohmann::ordered_json summary_of(const client::RolloutInfo& info);

}  // namespace commensal::apps
