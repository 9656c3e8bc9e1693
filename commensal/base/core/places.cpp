// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/places.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace commensal::core {
namespace {

constexpr std::size_t kShares = 4;   // one at most of a party while others come, and for strangers
constexpr std::size_t kAtOnce = 16;  // connections of one honest client

struct Party {
  bool is_known = false;
  std::size_t size = 0;
  std::optional<std::size_t> oldest;  // of those that can leave
};

}  // namespace

std::optional<std::size_t> who_leaves(std::span<const Place> places) {
  std::array<std::unordered_map<std::string_view, Party>, 2> parties;  // strangers, accounts
  std::size_t strangers = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    Party& party = parties[place.is_known ? 1 : 0][place.party];
    party.is_known = place.is_known;
    ++party.size;
    if (!place.is_known) ++strangers;
    if (place.is_at_work) continue;
    if (!party.oldest || place.since_ns < places[*party.oldest].since_ns) party.oldest = i;
  }
  const std::size_t share = places.size() / kShares;
  const auto rank = [&](const Party& party) {
    return std::tuple(party.size > share ? party.size : 0, party.is_known == (strangers <= share),
                      std::max(party.size, kAtOnce), -places[*party.oldest].since_ns,
                      *party.oldest);
  };
  const Party* first = nullptr;
  for (const auto& side : parties) {
    for (const auto& [name, party] : side) {
      if (!party.oldest) continue;
      if (first == nullptr || rank(party) > rank(*first)) first = &party;
    }
  }
  return first == nullptr ? std::nullopt : first->oldest;
}

}  // namespace commensal::core
