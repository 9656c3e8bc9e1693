// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <map>
#include <string>

namespace commensal::gateway {

enum class RolloutState : std::uint8_t {
  kRunning,
  kFinished,   // all steps are delivered
  kFailed,     // a party refuses to go on
  kCaught,     // an audit has found a step that is wrong
  kCancelled,  // its account wants no more of it
};
std::span<const std::string_view> enum_names(RolloutState);

/// RolloutEntry::reason_code of kFailed, of a rollout whose states are to be finite: the next one
/// would not be, as was seen here, or as its provider claims by refusing the step itself
/// (kInvalidArgument).
inline constexpr std::string_view kNotFinite = "not-finite";

/// What the gateway knows of a rollout besides its steps (rollout::JobRows).
struct RolloutEntry {
  static constexpr std::string_view kRecord = "rollout";
  static constexpr std::uint8_t kVersion = 2;  // with what it has come to

  core::Digest id{};    // of its first job: the key
  core::Digest job{};   // its present one, after a provider would not begin the first
  std::string account;  // whose it is
  std::string key;      // the consumer's own name for it, or ""
  std::string model;    // "owner/model"
  std::uint32_t version = 0;
  core::Digest content{};    // SHA-256 of the model's file
  core::Digest noise_key{};  // rollout::noise_chain
  crypto::Address provider;
  std::uint64_t steps = 0;
  double audit_probability = 0;  // of each step: as asked for, or what the stake needs
  std::int64_t created_ms = 0;
  RolloutState state = RolloutState::kRunning;
  std::string reason;            // kFailed, kCaught: why, for people
  std::uint64_t steps_done = 0;  // delivered; on disk once it is over
  core::Digest final_root{};     // of the last one's outputs; zero before step 1
  // The model's, which may have been removed since.
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
  std::optional<std::string> privacy_class = {};  // of its states: Order's
  /// Not on disk, where an older gateway would refuse it: after a start it is unknown, "".
  std::string reason_code = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("job", self.job);
    archive.field("account", self.account);
    archive.field("key", self.key);
    archive.field("model", self.model);
    archive.field("version", self.version);
    archive.field("content", self.content);
    archive.field("noise_key", self.noise_key);
    archive.field("provider", self.provider);
    archive.field("steps", self.steps);
    archive.field("audit_probability", self.audit_probability);
    archive.field("created_ms", self.created_ms);
    archive.field("state", self.state);
    archive.field("reason", self.reason);
    archive.field("steps_done", self.steps_done);
    archive.field("final_root", self.final_root);
    archive.field("inputs", self.inputs);
    archive.field("outputs", self.outputs);
    archive.tail("privacy_class", self.privacy_class);
  }
};

/// The gateway's rows about rollouts, beside those of rollout::JobRows: "rollouts": J ->
/// RolloutEntry. Thread-safety: one thread, the store's.
class RolloutBook {
 public:
  explicit RolloutBook(core::Store& store) : store_(store) {}

  /// Reads the entries; call once before the rest. Error: kDataLoss.
  core::Result<void> open();

  const std::map<core::Digest, RolloutEntry>& entries() const { return entries_; }
  const RolloutEntry* find(const core::Digest& rollout) const;
  const RolloutEntry* find(const std::string& account, const std::string& key) const;
  const RolloutEntry* of_job(const core::Digest& job) const;
  /// Durable when it returns, or with the store's hold. Errors: the store's.
  core::Result<void> put(const RolloutEntry& entry);
  /// What takes the entry off the disk; then forget() it.
  static core::Store::Write removal(const core::Digest& rollout);
  void forget(const core::Digest& rollout);

 private:
  core::Store& store_;
  std::map<core::Digest, RolloutEntry> entries_;
  std::map<std::pair<std::string, std::string>, core::Digest> keys_;
  std::map<core::Digest, core::Digest> of_job_;  // present ones only
};

}  // namespace commensal::gateway
