// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_kept.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/address.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace commensal::gateway {

/// Why and how long a provider gets no work.
struct Ban {
  static constexpr std::string_view kRecord = "ban";

  std::string why;
  std::int64_t since_ms = 0;  // by the wall's clock
  std::int64_t until_ms = 0;
  std::uint32_t count = 0;  // how often it was caught

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("why", self.why);
    archive.field("since_ms", self.since_ms);
    archive.field("until_ms", self.until_ms);
    archive.field("count", self.count);
  }
};

/// Who was caught: for limits::kBanMs, and twice as long each time. Durable, and bounded: beyond
/// limits::kBansMax who was caught longest ago is forgotten, its ban with it. What it has at stake
/// is the ledger's affair. Thread-safety: one thread, the store's.
class BanList {
 public:
  /// Both outlive this object.
  BanList(core::Store& store, const core::Clock& clock) : store_(store), clock_(clock) {}

  /// Reads what is there; call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  /// It counts in memory whatever happens. Error: the store's.
  core::Result<void> add(const crypto::Address& address, const std::string& why);
  /// Its last ban, which may be over; null: none is known.
  const Ban* find(const crypto::Address& address) const;
  /// Why it gets no work now, or "".
  std::string why(const crypto::Address& address) const;
  const std::map<crypto::Address, Ban>& all() const { return bans_; }

 private:
  core::Store& store_;
  const core::Clock& clock_;
  std::map<crypto::Address, Ban> bans_;
  std::set<std::pair<std::int64_t, crypto::Address>> by_age_;  // since_ms
};

}  // namespace commensal::gateway
