// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/governing.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <commensal/collocation/guest/lock.hpp>
#include <commensal/collocation/guest/messages.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace commensal::guest {

struct GuestClientOptions {
  core::Path folder;      // of the machine's governor
  std::string host;       // spec of the probe; "auto": whatever the governor keeps, or is found
  Join guest{};           // and the promise that its owner asks for
  double processors = 1;  // of the machine
  std::optional<double> host_income_per_hour{};
  core::Path memory{};  // where it governs, it keeps here what it learns; empty: nowhere
  /// One line for the operator. Any thread.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// How a guest sits at its machine.
struct GuestClientView {
  bool has_joined = false;     // it hears from a governor, in this process or another
  double level = 0;            // of this guest
  std::optional<View> view{};  // where the governor is in this process
  Incomes incomes{};           // ... and what it counts
};

/// A guest's place on its machine. One guest of all is the governor, which looks at the host; the
/// others join it over a socket and run as fast as it says. When it is gone, or silent for three
/// seconds, they stand still at once; one of them takes the lock and begins anew: with the host
/// that it was given, or with "auto" the same one while it is there, and no looser promise than it
/// has heard. At work on threads of its own until it is destroyed; then the guest stands still.
class GuestClient {
 public:
  /// All outlive it.
  struct Dependencies {
    const core::Clock& clock;
    core::Rng& rng;
    DutyPacer& pacer;  // the guest's
    /// What "auto" stands for on this machine, and any other spec for itself; and its probe. Both
    /// are called on the client's thread, where it is to govern.
    std::function<core::Result<std::string>(const std::string&)> choose_host;
    std::function<core::Result<std::unique_ptr<probe::Probe>>(const std::string&)> open_probe;
  };
  /// With `lock` this guest is the governor at once.
  GuestClient(Dependencies deps, GuestClientOptions options, std::optional<Lock> lock);
  GuestClient(const GuestClient&) = delete;
  GuestClient& operator=(const GuestClient&) = delete;
  ~GuestClient();

  /// What the guest says of itself. Any thread.
  void tell(const Report& report);
  GuestClientView view() const;

 private:
  void run(const std::stop_token& stop);
  void govern(const std::stop_token& stop);
  core::Result<std::unique_ptr<Governing>> begin_to_govern();
  core::Result<std::string> choose_host() const;
  void join(const std::stop_token& stop);
  void take(const ToGuest& said);
  void stand_still();
  std::string promises() const;
  void say_once(const std::string& line);
  Report report();
  double now_s() const;

  Dependencies deps_;
  GuestClientOptions options_;
  std::optional<Lock> lock_;
  std::string kept_;  // the host of the governor that it heard last
  Promise promise_;   // in force, as far as it has heard
  std::string said_;
  double wanted_s_ = -1e9;  // when it had something to do last

  mutable std::mutex mutex_;
  Report told_;                           // guarded
  bool has_joined_ = false;               // guarded
  std::unique_ptr<Governing> governing_;  // guarded where it is exchanged
  std::jthread thread_;                   // last: it sees all of the above
};

/// What the governor of that folder says of itself: its line of status.
/// Errors: kUnavailable (there is none), kDeadlineExceeded (no answer within two seconds).
core::Result<std::string> ask_status(const core::Path& folder, const core::Clock& clock);

}  // namespace commensal::guest
