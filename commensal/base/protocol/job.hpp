// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/amount.hpp>
#include <commensal/base/protocol/encoding.hpp>

namespace commensal::protocol {

/// What a job is. Tables and switches go by it; jobs of further kinds take the same way.
enum class JobKind : std::uint8_t {
  kAnswer,   // one step on the client's inputs
  kRollout,  // steps whose outputs are fed back
};
std::span<const std::string_view> enum_names(JobKind);

/// What follows from a kind for whoever carries a job.
struct JobTraits {
  bool is_kept = false;   // on disk by both parties, step by step: it outlives streams and crashes
  bool is_joint = false;  // steps of several jobs may be computed together
  bool is_movable = false;  // another provider may do it instead, or once more
};
const JobTraits& traits_of(JobKind kind);

enum class NoisePolicy : std::uint8_t {
  kNone,        // a memoised right answer is no fraud
  kCalibrated,  // every input of a rollout is disturbed by a seed that the client reveals late
};
std::span<const std::string_view> enum_names(NoisePolicy);

/// Which states a rollout may pass through; what is in no rollout may be anything.
enum class StateRule : std::uint8_t {
  kAny,
  kFinite,   // no NaN, no infinity: nothing that swallows what is added to it
  kMovable,  // nor anything so large that noise of the job's scale could vanish in its rounding
};
std::span<const std::string_view> enum_names(StateRule);

/// Output `output` of a step is input `input` of the next one, both by their place in the graph.
struct Feed {
  std::uint32_t output = 0;
  std::uint32_t input = 0;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("output", self.output);
    archive.field("input", self.input);
  }
  bool operator==(const Feed&) const = default;
};

/// From whom an auditor may be drawn.
enum class AuditorClass : std::uint8_t { kPublic, kPrivacyClass, kOwnerList, kNobody };
std::span<const std::string_view> enum_names(AuditorClass);

/// All that client and provider agree on before the first step. Its id stands in every commitment
/// and receipt, so that none of it can be changed or reused afterwards.
struct Job {
  static constexpr NounKind kKind = NounKind::kJob;

  JobKind kind = JobKind::kAnswer;
  Digest graph_root{};
  Digest weight_root{};
  std::uint32_t numerics_version = 0;
  Digest input_commitment{};  // c_0: commit_input
  std::uint64_t steps = 1;    // n: commitments c_1 to c_n follow
  crypto::Address client;
  crypto::Address provider;
  Amount face_value;       // of a winning ticket
  Digest win_threshold{};  // 256 bits, big-endian: a ticket below it wins
  std::vector<Digest> beacons;
  NoisePolicy noise = NoisePolicy::kNone;
  std::uint8_t noise_exponent = 0;  // its scale is 2^-exponent, at most 100; 0 without noise
  Digest noise_anchor{};  // v_0 of the hash chain that the seeds are made of (verify/noise); zero
                          // without noise
  StateRule states = StateRule::kAny;
  std::vector<Feed> feeds;  // of a rollout, by input; inputs without one stay the client's
  AuditorClass auditors = AuditorClass::kPublic;
  std::vector<crypto::Address> auditor_list;  // empty unless auditors is kOwnerList
  /// Since 1970; after it nobody answers for the job's receipts any longer. 0: for ever.
  std::uint64_t valid_until_ms = 0;
  Digest draw_commitment{};  // commit_nonce of the consumer's; zero: it has no part in a draw

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("kind", self.kind);
    archive.field("graph_root", self.graph_root);
    archive.field("weight_root", self.weight_root);
    archive.field("numerics_version", self.numerics_version);
    archive.field("input_commitment", self.input_commitment);
    archive.field("steps", self.steps);
    archive.field("client", self.client);
    archive.field("provider", self.provider);
    archive.field("face_value", self.face_value);
    archive.field("win_threshold", self.win_threshold);
    archive.field("beacons", self.beacons);
    archive.field("noise", self.noise);
    archive.field("noise_exponent", self.noise_exponent);
    archive.field("noise_anchor", self.noise_anchor);
    archive.field("states", self.states);
    archive.field("feeds", self.feeds);
    archive.field("auditors", self.auditors);
    archive.field("auditor_list", self.auditor_list);
    archive.field("valid_until_ms", self.valid_until_ms);
    archive.field("draw_commitment", self.draw_commitment);
  }
  const JobTraits& traits() const { return traits_of(kind); }
  /// Error: kInvalidArgument for fields that contradict each other.
  core::Result<void> validity() const;
  bool operator==(const Job&) const = default;
};

/// J = H("commensal/job/v1", encoding).
Digest job_id(const Job& job);

}  // namespace commensal::protocol
