// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/crypto/address.hpp>
#include <map>
#include <string>
#include <utility>

namespace commensal::gateway {

/// Whose jobs providers have in hand. An account that is alone may fill all providers; while others
/// ask too it has few jobs at each, so that nobody waits there behind what one account has sent.
/// A value; time comes from outside, in monotonic milliseconds.
class Shares {
 public:
  void on_request(const std::string& account, std::int64_t now_ms) {
    if (account != last_) others_ms_ = std::exchange(last_ms_, now_ms);
    if (account != last_) last_ = account;
    last_ms_ = now_ms;
  }
  void on_offer(const std::string& account, const crypto::Address& provider) {
    ++jobs_[{account, provider}];
  }
  void on_end(const std::string& account, const crypto::Address& provider) {
    const auto found = jobs_.find({account, provider});
    if (found != jobs_.end() && --found->second == 0) jobs_.erase(found);
  }
  /// Whether the provider shall have no more jobs of the account now.
  bool is_full(const std::string& account, const crypto::Address& provider,
               std::int64_t now_ms) const {
    const std::int64_t others_ms = account == last_ ? others_ms_ : last_ms_;
    if (now_ms - others_ms >= limits::kOthersMs) return false;
    const auto found = jobs_.find({account, provider});
    return found != jobs_.end() && found->second >= limits::kAccountJobsMax;
  }

 private:
  std::map<std::pair<std::string, crypto::Address>, std::uint32_t> jobs_;  // none is 0
  std::string last_;                                                       // who asked last
  std::int64_t last_ms_ = -limits::kOthersMs;                              // and when
  std::int64_t others_ms_ = -limits::kOthersMs;                            // when somebody else did
};

}  // namespace commensal::gateway
