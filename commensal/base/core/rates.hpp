// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

namespace commensal::core {

/// How often each may: a bucket of tokens for everybody, that fills with time. A value; not
/// thread-safe.
template <class Key>
class Rates {
 public:
  /// On average so often a second; at once as often as in `burst_s` seconds.
  Rates(double per_s, double burst_s) : per_s_(per_s), full_(std::max(1.0, per_s * burst_s)) {}

  /// Takes a token at this time (monotonic), if there is one.
  bool take(const Key& who, std::int64_t now_ns) {
    Bucket& bucket = bucket_of(who, now_ns);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
  /// Takes so many at this time, there or not: until they are there again it may not.
  void charge(const Key& who, double tokens, std::int64_t now_ns) {
    Bucket& bucket = bucket_of(who, now_ns);
    bucket.tokens = std::max(bucket.tokens - tokens, -full_);
  }
  /// How many there are for it, of the most that there can be.
  double left(const Key& who, std::int64_t now_ns) const {
    const auto found = buckets_.find(who);
    return found == buckets_.end() ? 1 : filled(found->second, now_ns) / full_;
  }
  double per_s() const { return per_s_; }

 private:
  static constexpr std::size_t kSweptMin = 1024;
  struct Bucket {
    double tokens = 0;
    std::int64_t at_ns = 0;
  };
  Bucket& bucket_of(const Key& who, std::int64_t now_ns) {
    if (buckets_.size() > swept_ * 2 + kSweptMin) sweep(now_ns);
    Bucket& bucket = buckets_.try_emplace(who, Bucket{full_, now_ns}).first->second;
    bucket = {filled(bucket, now_ns), now_ns};
    return bucket;
  }
  double filled(const Bucket& bucket, std::int64_t now_ns) const {
    const double passed_s =
        static_cast<double>(std::max<std::int64_t>(now_ns - bucket.at_ns, 0)) * 1e-9;
    return std::min(full_, bucket.tokens + passed_s * per_s_);
  }
  /// Who may as often as one who never has needs no bucket. Each is looked at once for two that
  /// came.
  void sweep(std::int64_t now_ns) {
    std::erase_if(buckets_, [&](const auto& one) { return filled(one.second, now_ns) >= full_; });
    swept_ = buckets_.size();
  }

  const double per_s_, full_;
  std::map<Key, Bucket> buckets_;
  std::size_t swept_ = 0;  // how many were left then
};

}  // namespace commensal::core
