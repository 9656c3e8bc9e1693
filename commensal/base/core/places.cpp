// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/places.hpp>
#include <map>
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

std::size_t who_gives_back(std::span<const Holding> holdings, std::size_t asker,
                           std::int64_t party_max) {
  std::map<std::string, std::int64_t> held;
  for (const Holding& one : holdings) held[one.party] += one.bytes;
  const std::int64_t ours = held.at(holdings[asker].party);
  const auto most = std::ranges::max_element(held, {}, [](const auto& one) { return one.second; });
  if (ours > party_max || ours >= most->second) return asker;
  const auto bytes_of = [&](const Holding& one) {
    return one.party == most->first ? one.bytes : -1;
  };
  const auto largest = std::ranges::max_element(holdings, {}, bytes_of);
  return static_cast<std::size_t>(largest - holdings.begin());
}

}  // namespace commensal::core
