// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/collocation/pairs.hpp>

namespace commensal::lab {

std::span<const Pair> collocation_pairs() {
  static const Pair kPairs[] = {
      {"equihash_1_resnet50", "equihash", {"--threads", "1"}, "equihash_bucket_passes_total",
       "resnet50"},
      {"equihash_2_bert", "equihash", {"--threads", "2"}, "equihash_bucket_passes_total",
       "bert_l4_h256"},
      {"server_resnet50", "server", {}, "server_steps_total/server_busy_seconds_total", "resnet50",
       true},
      {"streamer_mobilenet_v2", "streamer", {"--threads", "1"}, "streamer_bytes_total",
       "mobilenet_v2"},
  };
  return kPairs;
}

std::span<const Arm> collocation_arms() {
  // The two laws of others get the rank that costs a host least, as ours does: laws are compared.
  static constexpr Arm kArms[] = {
      {kControlArm, Rank::kIdle, Law::kNone},
      {"uncontrolled", Rank::kPlain, Law::kFull},
      {"nice_19", Rank::kNice, Law::kFull},
      {"sched_idle", Rank::kIdle, Law::kFull},
      {"suppressor", Rank::kIdle, Law::kSuppressor},
      {"tgs", Rank::kIdle, Law::kTgs},
      {kOurArm, Rank::kIdle, Law::kGovernor},
  };
  return kArms;
}

}  // namespace commensal::lab
