// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <utility>

namespace commensal::lab::bench::collocation {
namespace {

template <class T>
void shuffle(std::vector<T>& values, core::Rng& rng) {
  for (std::size_t left = values.size(); left > 1; --left) {
    const auto at = static_cast<std::size_t>(rng.next_unit() * static_cast<double>(left));
    std::swap(values[left - 1], values[std::min(at, left - 1)]);
  }
}

}  // namespace

std::span<const Pair> collocation_pairs() {
  static const Pair kPairs[] = {
      {"equihash_1_resnet50",
       "equihash",
       {"--threads", "1"},
       "equihash_bucket_passes_total",
       "resnet50"},
      {"equihash_2_bert",
       "equihash",
       {"--threads", "2"},
       "equihash_bucket_passes_total",
       "bert_l4_h256"},
      {"server_resnet50",
       "server",
       {},
       "server_steps_total/server_busy_seconds_total",
       "resnet50",
       true},
      {"streamer_mobilenet_v2",
       "streamer",
       {"--threads", "1"},
       "streamer_bytes_total",
       "mobilenet_v2"},
  };
  return kPairs;
}

std::span<const Arm> collocation_arms() {
  // The two laws of others get the rank that costs a host least, as ours does: laws are compared.
  static constexpr Arm kArms[] = {
      {kControlArm, Rank::kIdle, Law::kNone},        {"uncontrolled", Rank::kPlain, Law::kFull},
      {"nice_19", Rank::kNice, Law::kFull},          {"sched_idle", Rank::kIdle, Law::kFull},
      {"suppressor", Rank::kIdle, Law::kSuppressor}, {"tgs", Rank::kIdle, Law::kTgs},
      {kOurArm, Rank::kIdle, Law::kGovernor},
  };
  return kArms;
}

std::vector<Step> make_order(const std::vector<const Arm*>& arms, int blocks, int others,
                             core::Rng& rng) {
  std::vector<std::vector<Step>> units(static_cast<std::size_t>(blocks));
  for (const Arm* arm : arms) {
    const bool is_coupled = arm->name == kControlArm || arm->name == kOurArm;
    for (int i = 0; i < (is_coupled ? blocks : others); ++i) {
      if (is_coupled) {
        units[static_cast<std::size_t>(i)].push_back({arm, i});
      } else {
        units.push_back({{arm, i}});
      }
    }
  }
  shuffle(units, rng);
  std::vector<Step> order;
  for (auto& unit : units) {
    shuffle(unit, rng);
    order.insert(order.end(), unit.begin(), unit.end());
  }
  return order;
}

}  // namespace commensal::lab::bench::collocation
