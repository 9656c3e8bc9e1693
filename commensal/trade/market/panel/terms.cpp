// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/market/panel/terms.hpp>
#include <limits>

namespace commensal::panel {
namespace {

using core::ErrorCode;
using core::fail;

/// So that no sum of stakes leaves the range of an Amount.
constexpr Amount kAmountMax = Amount::from_words(std::uint64_t{1} << 50, 0);

Result<void> expect_parties(const Terms& terms) {
  const Address nobody;
  if (terms.client == nobody || terms.holder == nobody || terms.client == terms.holder) {
    return fail(ErrorCode::kInvalidArgument, "client and holder: {} and {}, expected two parties",
                crypto::to_text(terms.client), crypto::to_text(terms.holder));
  }
  if (terms.arbiter == terms.client || terms.arbiter == terms.holder)
    return fail(ErrorCode::kInvalidArgument, "arbiter: a party, expected somebody else");
  if (terms.auditors.empty() && terms.arbiter == nobody)
    return fail(ErrorCode::kInvalidArgument, "auditors: none, expected some or an arbiter");
  if (terms.auditors.size() > limits::kPanelAuditorsMax) {
    return fail(ErrorCode::kResourceExhausted, "auditors: {}, at most {} are accepted",
                terms.auditors.size(), limits::kPanelAuditorsMax);
  }
  if (std::ranges::adjacent_find(terms.auditors, std::greater_equal<>()) != terms.auditors.end())
    return fail(ErrorCode::kInvalidArgument, "auditors: expected ascending order");
  for (const Address& one : {nobody, terms.client, terms.holder, terms.arbiter}) {
    if (std::ranges::binary_search(terms.auditors, one)) {
      return fail(ErrorCode::kInvalidArgument,
                  "auditors: {} is among them, expected neither "
                  "nobody nor a party nor the arbiter",
                  crypto::to_text(one));
    }
  }
  return {};
}

Result<void> expect_amounts(const Terms& terms) {
  for (const Amount& amount :
       {terms.face, terms.bond, terms.fee, terms.arbiter_fee, terms.deposit}) {
    if (amount <= kAmountMax) continue;
    return fail(ErrorCode::kInvalidArgument, "amount: {}, expected at most {}",
                protocol::to_text(amount), protocol::to_text(kAmountMax));
  }
  if (terms.deposit < terms.arbiter_fee) {
    return fail(ErrorCode::kInvalidArgument, "deposit: {}, expected at least the arbiter's fee {}",
                protocol::to_text(terms.deposit), protocol::to_text(terms.arbiter_fee));
  }
  return {};
}

}  // namespace

Result<void> Terms::validity() const {
  COMMENSAL_TRY(expect_parties(*this));
  COMMENSAL_TRY(expect_amounts(*this));
  if (appeals_max > limits::kPanelAppealsMax) {
    return fail(ErrorCode::kResourceExhausted, "appeals_max: {}, at most {} are accepted",
                appeals_max, limits::kPanelAppealsMax);
  }
  for (const std::uint64_t ms :
       {objection_ms, draw_ms, commit_ms, reveal_ms, appeal_ms, arbiter_ms}) {
    if (ms >= 1 && ms <= limits::kPanelStageMsMax) continue;
    return fail(ErrorCode::kInvalidArgument, "deadlines: {} ms, expected 1 to {}", ms,
                limits::kPanelStageMsMax);
  }
  return {};
}

Digest case_id(const Terms& terms) {
  return crypto::tagged_hash("commensal/panel/case/v1", protocol::encode(terms));
}

std::vector<Address> draw_members(const Digest& case_id, std::uint64_t instance,
                                  const Digest& beacon, std::vector<Address> pool,
                                  std::size_t count) {
  core::check(count <= pool.size(), "more members than auditors");
  std::uint64_t drawn = 0;
  const auto number = [&] {
    protocol::Writer writer;
    writer.raw(case_id);
    writer.u64(instance);
    writer.raw(beacon);
    writer.u64(drawn++);
    const Digest hash = crypto::tagged_hash("commensal/panel/draw/v1", writer.written());
    return protocol::Reader(hash, "draw").u64();
  };
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint64_t left = pool.size() - j;
    const std::uint64_t fair = std::numeric_limits<std::uint64_t>::max() / left * left;
    std::uint64_t at = number();
    while (at >= fair) at = number();
    std::swap(pool[j], pool[j + at % left]);
  }
  pool.resize(count);
  return pool;
}

}  // namespace commensal::panel
