// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/store/bounds.hpp>
#include <functional>
#include <map>
#include <memory>

namespace commensal::store {

/// Several owners of one store, whose batches become one: what is applied between hold() and
/// release(), or in together_later(), is read back at once, but durable only when release() returns
/// or `done` is told. So nothing of it may be acknowledged before. Batches reach the store in the
/// order in which they were applied: what is durable is always all up to some moment. After one
/// that failed nobody knows what is on disk, and the owners have gone on in memory: every later
/// write fails too.
/// Contract otherwise and errors: core::Store. `below` must outlive this object.
/// Thread-safety: one thread, with together_later() the loop's. What is being written off the loop
/// when this object ends is waited for; what is to be is dropped, as by a kill.
class JointStore final : public core::Store {
 public:
  using Change = std::function<core::Result<void>()>;
  using Done = std::function<void(const core::Result<void>&)>;

  explicit JointStore(core::Store& below) : below_(below) {}
  JointStore(const JointStore&) = delete;
  JointStore& operator=(const JointStore&) = delete;
  ~JointStore() override;

  /// Why nothing is written any more, if so.
  const std::optional<core::Error>& broken() const { return broken_; }

  void hold() { ++holds_; }
  /// Writes what was held, in one batch; of holds inside holds the outermost does. Error: the
  /// store's.
  core::Result<void> release();
  /// Runs `change` between a hold and its release. Error: the first of change's and release's; what
  /// a change that failed has applied until then is written all the same, as each of its batches
  /// is whole in itself.
  core::Result<void> together(const Change& change);
  /// The same, but nobody waits for the disk: what is held is written off the loop, and what comes
  /// meanwhile in one batch after it. `done` is told of its outcome on the loop, in order, never
  /// before this returns. Not inside a hold. `loop` must run none of its tasks once this object has
  /// ended (core::ScopedLoop).
  void together_later(core::Loop& loop, const Change& change, Done done);
  /// Tells `done` once all that was applied is durable, or will never be: perhaps before this
  /// returns, or the release of what holds it.
  void when_durable(Done done);

  core::Result<std::optional<core::Bytes>> get(std::string_view space, core::ByteView key) override;
  core::Result<void> apply(const Batch& batch) override;
  core::Result<void> scan(std::string_view space, core::ByteView prefix,
                          const Visitor& visit) override;

 private:
  using Value = std::optional<core::Bytes>;  // absent: deleted
  using Space = std::map<core::Bytes, Value>;
  struct Errand;

  Batch take_held();
  core::Result<void> write(const Batch& batch);
  core::Result<void> write_held();
  void settle();
  void begin_writing(core::Loop& loop);
  void end_writing();
  std::shared_ptr<Errand> take_written();

  core::Store& below_;
  int holds_ = 0;
  std::map<std::string, Space, std::less<>> held_;
  std::vector<Done> waiting_;        // for what is held
  std::shared_ptr<Errand> writing_;  // what was held before, off the loop
  std::optional<core::Error> broken_;
  Scanner scanner_;
};

}  // namespace commensal::store
