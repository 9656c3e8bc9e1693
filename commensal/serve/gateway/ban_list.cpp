// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/record.hpp>
#include <commensal/serve/gateway/ban_list.hpp>

namespace commensal::gateway {
namespace {

constexpr std::string_view kBans = "bans";
constexpr std::uint32_t kDoublingsMax = 10;

core::Bytes key_of(const crypto::Address& address) {
  return {address.bytes.begin(), address.bytes.end()};
}

}  // namespace

core::Result<void> BanList::open() {
  core::Result<void> status;
  COMMENSAL_TRY(store_.scan(kBans, {}, [&](core::ByteView key, core::ByteView value) {
    crypto::Address address;
    auto ban = protocol::decode_stored<Ban>(value);
    if (!ban || key.size() != address.bytes.size()) {
      status = core::fail(core::ErrorCode::kDataLoss, "a row of bans cannot be read");
      return false;
    }
    std::ranges::copy(key, address.bytes.begin());
    by_age_.emplace(ban->since_ms, address);
    bans_.emplace(address, *std::move(ban));
    return true;
  }));
  return status;
}

core::Result<void> BanList::add(const crypto::Address& address, const std::string& why) {
  Ban& ban = bans_[address];
  by_age_.erase({ban.since_ms, address});
  ban.why = why.substr(0, limits::kBanWhyBytesMax);
  ban.since_ms = clock_.wall_ms();
  ban.until_ms = ban.since_ms + (limits::kBanMs << std::min(ban.count, kDoublingsMax));
  ++ban.count;
  by_age_.emplace(ban.since_ms, address);
  COMMENSAL_ASSIGN(core::Bytes row, protocol::encode_stored(ban));
  core::Store::Batch batch = {{std::string(kBans), key_of(address), std::move(row)}};
  while (bans_.size() > limits::kBansMax) {
    const crypto::Address oldest = by_age_.begin()->second;
    batch.push_back({std::string(kBans), key_of(oldest), std::nullopt});
    by_age_.erase(by_age_.begin());
    bans_.erase(oldest);
  }
  return store_.apply(batch);
}

const Ban* BanList::find(const crypto::Address& address) const {
  const auto found = bans_.find(address);
  return found == bans_.end() ? nullptr : &found->second;
}

std::string BanList::why(const crypto::Address& address) const {
  const Ban* const ban = find(address);
  return ban == nullptr || clock_.wall_ms() >= ban->until_ms ? "" : ban->why;
}

}  // namespace commensal::gateway
