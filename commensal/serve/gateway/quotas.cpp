// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/gateway/quotas.hpp>

namespace commensal::gateway {
namespace {

constexpr double kBurstSeconds = 2;
constexpr int kShares = 4;  // of memory and connections, one at most for an account

}  // namespace

Quotas::Quotas(const QuotaConfig& config)
    : config_(config),
      memory_({.bytes_max = config.memory_bytes_max,
               .owner_bytes_max = config.memory_bytes_max / kShares,
               .owner_leases_max = limits::kConnectionsMax / kShares}) {}

core::Result<void> Quotas::admit(const Account& account, std::int64_t now_ns) {
  if (account.role == Role::kOperator) return {};
  const double full = std::max(1.0, config_.requests_per_s * kBurstSeconds);
  const auto [at, is_new] = buckets_.try_emplace(account.name, Bucket{full, now_ns});
  Bucket& bucket = at->second;
  const double passed_s = static_cast<double>(now_ns - bucket.at_ns) * 1e-9;
  bucket = {std::min(full, bucket.tokens + passed_s * config_.requests_per_s), now_ns};
  if (bucket.tokens < 1) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "'{}' has sent more than the {} requests a second that one account may",
                      account.name, config_.requests_per_s);
  }
  bucket.tokens -= 1;
  return {};
}

}  // namespace commensal::gateway
