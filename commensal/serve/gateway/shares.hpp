// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/address.hpp>
#include <map>
#include <string>
#include <utility>

namespace commensal::gateway {

/// Whose jobs providers have in hand. An account that is alone may fill all providers; while others
/// ask too it has few jobs at each, so that nobody waits there behind what one account has sent,
/// and long ones (of a model that takes long, or that nobody has answered yet) at half of the
/// providers only, or at one. A value; time comes from outside, in monotonic milliseconds.
class Shares {
 public:
  void on_request(const std::string& account, std::int64_t now_ms) {
    if (account != last_) {
      others_ms_ = last_ms_;
      last_ = account;
    }
    last_ms_ = now_ms;
  }
  void on_offer(const std::string& account, const crypto::Address& provider, bool is_long) {
    ++jobs_[{account, provider}];
    ++in_hand_[provider];
    if (is_long) ++long_[provider][account];
  }
  void on_end(const std::string& account, const crypto::Address& provider, bool is_long) {
    const auto found = jobs_.find({account, provider});
    if (found == jobs_.end()) return;
    if (--found->second == 0) jobs_.erase(found);
    if (const auto all = in_hand_.find(provider); --all->second == 0) in_hand_.erase(all);
    const auto there = is_long ? long_.find(provider) : long_.end();
    if (there == long_.end()) return;
    if (--there->second[account] == 0) there->second.erase(account);
    if (there->second.empty()) long_.erase(there);
  }
  /// How many jobs it has, of all accounts together.
  std::uint32_t in_hand(const crypto::Address& provider) const {
    const auto found = in_hand_.find(provider);
    return found == in_hand_.end() ? 0 : found->second;
  }
  /// Whether it has a long job in hand, anybody's.
  bool has_long(const crypto::Address& provider) const { return long_.contains(provider); }
  struct Asker {
    std::string account;
    std::size_t waiting = 0;     // of its jobs
    bool is_long = false;        // the next of them
    std::size_t providers = 1;   // that there are for it
    std::uint32_t jobs_max = 0;  // that it wants to have at each at most; 0: as many as it may
  };
  /// Whether the provider shall have no more jobs of the account now.
  bool is_full(const Asker& asker, const crypto::Address& provider, std::int64_t now_ms) const {
    const auto found = jobs_.find({asker.account, provider});
    if (asker.jobs_max > 0 && found != jobs_.end() && found->second >= asker.jobs_max) return true;
    const std::int64_t others_ms = asker.account == last_ ? others_ms_ : last_ms_;
    if (now_ms - others_ms >= limits::kOthersMs) return false;
    const std::uint32_t most = asker.waiting >= kFlood ? 1 : limits::kAccountJobsMax;
    if (found != jobs_.end() && found->second >= most) return true;
    return asker.is_long && !has_long_of(asker.account, provider) &&
           long_at(asker.account) >= std::max<std::size_t>(1, asker.providers / 2);
  }

 private:
  static constexpr std::size_t kFlood = 8;  // so much is in no hurry

  bool has_long_of(const std::string& account, const crypto::Address& provider) const {
    const auto there = long_.find(provider);
    return there != long_.end() && there->second.contains(account);
  }
  std::size_t long_at(const std::string& account) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        long_, [&](const auto& there) { return there.second.contains(account); }));
  }

  using Counts = std::map<std::string, std::uint32_t>;                     // by account, none is 0
  std::map<std::pair<std::string, crypto::Address>, std::uint32_t> jobs_;  // none is 0
  std::map<crypto::Address, std::uint32_t> in_hand_;                       // none is 0
  std::map<crypto::Address, Counts> long_;                                 // none is empty
  std::string last_;                                                       // who asked last
  std::int64_t last_ms_ = -limits::kOthersMs;                              // and when
  std::int64_t others_ms_ = -limits::kOthersMs;                            // when somebody else did
};

}  // namespace commensal::gateway
