// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/gateway/quotas.hpp>

namespace commensal::gateway {
namespace {

constexpr double kBurstSeconds = 2;
constexpr double kBurstMin = 8;  // a command sends several requests
constexpr int kShares = 4;       // of memory and connections, one at most for an account
constexpr int kFileShares = 16;  // of files that are sent

}  // namespace

Quotas::Quotas(const QuotaConfig& config)
    : config_(config),
      memory_({.bytes_max = config.memory_bytes_max,
               .owner_bytes_max = config.memory_bytes_max / kShares,
               .owner_leases_max = limits::kConnectionsMax / kShares}),
      files_({.bytes_max = limits::kFilesSentBytesMax,
              .owner_bytes_max = limits::kFilesSentBytesMax / kFileShares,
              .owner_leases_max = limits::kConnectionsMax / kShares}),
      rates_(config.requests_per_s, std::max(kBurstSeconds, kBurstMin / config.requests_per_s)) {}

int Quotas::wait_s() const { return static_cast<int>(std::ceil(1 / config_.requests_per_s)); }

core::Result<void> Quotas::admit(const Account& account, std::int64_t now_ns) {
  if (account.role == Role::kOperator) return {};
  const std::lock_guard lock(mutex_);
  if (!rates_.take(account.name, now_ns)) {
    return core::fail(
        core::ErrorCode::kResourceExhausted,
        "'{}' has sent more than the {} requests a second that one account may: again "
        "in {} s",
        account.name, config_.requests_per_s, wait_s());
  }
  return {};
}

}  // namespace commensal::gateway
