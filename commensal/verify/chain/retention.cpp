// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/chain/retention.hpp>

namespace commensal::chain {

using core::Result;

Result<std::vector<core::Digest>> make_room(core::Store& store, std::size_t more,
                                            const Retention& retention) {
  COMMENSAL_ASSIGN(const auto kept, chains_by_age(store));
  std::vector<core::Digest> gone;
  for (const core::Digest& chain : kept) {
    if (kept.size() - gone.size() + more <= retention.kept_max) return gone;
    if (!retention.may_go(chain)) continue;
    core::Store::Batch rest;
    if (retention.forget) {
      COMMENSAL_ASSIGN(rest, retention.forget(chain));
    }
    COMMENSAL_TRY(ChainRows(store, chain).erase(std::move(rest)));
    gone.push_back(chain);
  }
  if (kept.size() - gone.size() + more <= retention.kept_max) return gone;
  return core::fail(core::ErrorCode::kResourceExhausted,
                    "{} chains are kept, at most {}, and none of them is over", kept.size(),
                    retention.kept_max);
}

}  // namespace commensal::chain
