// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/guest/facts.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <memory>
#include <optional>
#include <string>

namespace commensal::guest {

struct GuestProcessOptions {
  GuestClientOptions client;           // without a host nobody is protected
  std::uint64_t memory_bytes_max = 0;  // 0: no limit
  /// The whole process is nothing but a guest: its session steps back, and it dies first.
  bool is_whole = true;
};

/// This process as a guest of its machine: governor, probe, client and server put together. Without
/// a host it does nothing, and nothing holds the guest.
/// Thread-safety: the owner's thread, unless said otherwise.
class GuestProcess {
 public:
  explicit GuestProcess(GuestProcessOptions options);
  GuestProcess(const GuestProcess&) = delete;
  GuestProcess& operator=(const GuestProcess&) = delete;

  bool has_host() const { return !options_.client.host.empty(); }
  /// What computes for the guest is held by it; null without a host. Until join() its level is the
  /// caller's to set.
  DutyPacer* pacer() { return has_host() ? &pacer_ : nullptr; }
  /// To be called on the threads that compute, before those that they start. Any thread. Those that
  /// speak to others keep their rank, or a busy machine would cut the stream.
  void ready_thread() const;
  /// Takes its place among the guests of this machine. To be called before there are threads that
  /// compute. Errors: those of the spec; kNotFound ("auto" finds no host); those of the folder in
  /// which guests find each other; kUnavailable (a memory limit that the system does not grant).
  core::Result<void> join();

  /// What the machine's governor and its operator are told of this guest.
  void tell(const Work& work);
  GuestClientView view() const;
  /// One line whenever the guest starts, stops or is stopped, and else every `every_s`.
  std::optional<std::string> news(double every_s);
  /// Says why the guest stands still, "" while it need not be said: for
  /// daemon::ProviderDaemonConfig::why_paused. What is returned belongs to one thread.
  std::function<std::string()> why_paused() const;
  /// Lets the guest's threads go, so that they can end.
  void release();

 private:
  double now_s() const;
  core::Result<std::unique_ptr<probe::Probe>> open_probe(const std::string& spec) const;

  GuestProcessOptions options_;
  core::SystemClock clock_;
  core::SystemRng rng_;
  DutyPacer pacer_;
  Facts facts_;
  std::unique_ptr<GuestClient> client_;  // its threads see all of the above
  std::atomic<bool> is_held_ = false;    // from join() to release()
  bool was_stopped_ = true;
  double shown_s_ = 0;
};

/// What an operator reads of the host now; what is not known is named so.
std::string line_of(const View& now);

}  // namespace commensal::guest
