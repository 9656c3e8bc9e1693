// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/serve/provider/executor.hpp>
#include <commensal/serve/provider/holdings.hpp>
#include <commensal/serve/provider/model_cache.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace commensal::provider {

/// Has models go that their gateways let go of: at once what was made ready to run, though the
/// cache has no file of it any more, and the file as soon as it is here, no other gateway holds it,
/// nothing is computed with it, no accusation about it is pending, and what has been signed can be
/// disputed no longer: who is accused without the model would lose its stake. Goes on after a kill,
/// and without a gateway. Thread-safety: the loop's thread.
class Releases final : public std::enable_shared_from_this<Releases> {
 public:
  /// All of them outlive this object.
  struct Dependencies {
    core::Loop& loop;
    const core::Clock& clock;
    store::JointStore& store;  // of the holdings
    Holdings& holdings;
    ModelCache& cache;
    rpc::GatewayClient& gateway;
    std::shared_ptr<Executor> executor;  // shared with what is off the loop
    /// Something is computed with it, or it is on its way here.
    std::function<bool(const core::Digest& model)> is_in_use;
    /// Some have gone.
    std::function<void()> changed;
  };
  explicit Releases(Dependencies deps) : deps_(std::move(deps)) {}

  /// At a start: goes on with what had been let go of before.
  void open() { look_later(0); }
  /// A new stream: nobody has proved a key on it yet.
  void on_connect();
  void on_meet(const crypto::Address& gateway) { gateway_ = gateway; }
  void handle(const rpc::Release& message);

 private:
  void look();
  void look_later(std::int64_t delay_ms);
  /// When this may go at the earliest; now or before: it may.
  std::uint64_t due_ms(const Holdings::Key& key) const;
  void settle(const Holdings::Key& key);
  void remove(const core::Digest& model);
  void removed(const core::Digest& model, bool is_gone);
  void answer(const core::Digest& model, std::uint64_t until_ms);
  bool is_let_go(const core::Digest& model) const;
  std::uint64_t now_ms() const;

  Dependencies deps_;
  std::optional<crypto::Address> gateway_;  // of this stream
  std::map<core::Digest, bool> asked_;      // on this stream, and whether that has been answered
  std::set<core::Digest> removing_;         // off the loop
  std::optional<std::int64_t> next_ms_;     // look() is due then (monotonic)
};

}  // namespace commensal::provider
