// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/governor_server.hpp>
#include <commensal/collocation/guest/income.hpp>
#include <commensal/collocation/guest/keeper.hpp>
#include <commensal/collocation/guest/memory.hpp>
#include <commensal/collocation/probe/cpu.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace commensal::guest {

/// A machine's governor at work: looks at the host's probe on a thread of its own, divides what the
/// guests may do, and answers them. Thread-safety: one thread; view() any.
class Governing {
 public:
  /// All outlive it.
  struct Dependencies {
    const core::Clock& clock;
    core::Rng& rng;
  };
  struct Options {
    core::Path socket;
    std::string host;
    Join own;
    double processors = 1;
    std::optional<double> host_income_per_hour{};
    Promise promise{};    // to begin with
    core::Path memory{};  // the folder of what was learnt; empty: it is forgotten
    /// One line for the operator. Any thread.
    std::function<void(const std::string&)> say = [](const std::string&) {};
  };
  /// Errors: those of GovernorServer::open().
  static core::Result<std::unique_ptr<Governing>> begin(const Dependencies& deps,
                                                        const Options& options,
                                                        std::unique_ptr<probe::Probe> probe);
  Governing(const Governing&) = delete;
  Governing& operator=(const Governing&) = delete;
  ~Governing();

  /// Waits until there is something to do, half a second at most. To be called without end. Returns
  /// the level of the guest in this process.
  double step(const Report& own);
  /// step() returns at once. Any thread.
  void wake() const { server_.wake(); }
  View view() const;
  /// As view().
  Incomes incomes() const;

 private:
  Governing(const Dependencies& deps, const Options& options, std::unique_ptr<probe::Probe> probe,
            GovernorServer server);
  double now_s() const;
  double wall_s() const;
  int wait_ms() const;
  void begin_anew();
  governor::Carried recall();
  void keep_promise();
  double look();
  void say_signal(const std::string& by_clock);
  void count_incomes();
  void remember(double every_s);
  void read_energy(double least_s);
  std::string status();

  Dependencies deps_;
  Options options_;
  std::unique_ptr<probe::Probe> probe_;
  GovernorServer server_;
  DutyPacer total_;  // what the keeper lets all guests do together
  double capacity_;  // that total_ is of
  FullIncome at_full_;
  double counted_s_ = 0;
  std::string by_clock_;  // why, as was said last
  probe::CpuMeter meter_;
  double energy_read_s_;
  std::optional<double> energy_j_{};
  std::optional<double> power_w_{};

  bool is_forgetful_ = false;  // the memory cannot be written, and that was said
  std::mutex memory_mutex_;    // before the keeper's own
  // Guarded by it, but for writing the file:
  Memory memory_;
  std::string kind_{};  // of guests, as the memory has it
  double remembered_s_ = 0;

  mutable std::mutex mutex_;
  Incomes incomes_;               // guarded where it is written
  std::optional<Keeper> keeper_;  // always one
  std::jthread looking_;          // last: it sees all of the above
};

}  // namespace commensal::guest
