// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/observe/observer.hpp>
#include <commensal/serve/oip/model_config.hpp>
#include <commensal/serve/oip/statistics.hpp>
#include <commensal/serve/oip/system_memory.hpp>
#include <mutex>
#include <string>

namespace commensal::oip {

/// How the operator has consumers served.
struct Options {
  std::string server_name = "commensal";  // in the server's metadata
  std::string anonymous;                  // the account of who shows no token; "": nobody's
  bool system_memory = false;             // clients of this host may name shared memory of theirs
  observe::Options observe = {};          // what operators see of it
};

/// How often each party (core::Place::party: a network, or an account whose connection it is) may
/// ask without a token. Thread-safety: any thread.
class Strangers {
 public:
  /// False where it has asked too often.
  bool ask(const std::string& party, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    return rates_.take(party, now_ns);
  }
  /// It is answered with so many bytes: as if it had asked more often, for a second at most.
  void answer(const std::string& party, std::size_t bytes, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    const auto requests = static_cast<double>(bytes / limits::kStrangerAnswerBytes);
    rates_.charge(party, std::min(requests, limits::kStrangerRequestsPerSecond), now_ns);
  }
  /// It makes itself an account, uninvited; false where it, or all together, have too often.
  bool sign_up(const std::string& party, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    return sign_ups_.take(party, now_ns) && all_sign_ups_.take(0, now_ns) &&
           daily_sign_ups_.take(party, now_ns);
  }

 private:
  static constexpr double kDayS = 86'400;

  std::mutex mutex_;
  core::Rates<std::string> sign_ups_{limits::kSignUpsPerSecond,
                                     limits::kSignUpsAtOnce / limits::kSignUpsPerSecond};
  // Of those that the others have let by, which are few.
  core::Rates<std::string> daily_sign_ups_{limits::kSignUpsPerDay / kDayS, kDayS};
  core::Rates<int> all_sign_ups_{limits::kSignUpsAllPerSecond,
                                 limits::kSignUpsAllAtOnce / limits::kSignUpsAllPerSecond};
  core::Rates<std::string> rates_{
      limits::kStrangerRequestsPerSecond,
      limits::kStrangerRequestsAtOnce / limits::kStrangerRequestsPerSecond};
};

/// What is kept from request to request, in whatever protocol. Thread-safety: any thread, but
/// configs, the loop's.
struct Serving {
  observe::Observer observer;
  const Options options = {};
  Strangers strangers = {};
  Statistics statistics = {};
  SystemMemory memory = {};
  Configs configs = {};
};

}  // namespace commensal::oip
