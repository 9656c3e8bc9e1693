// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/governor_server.hpp>
#include <commensal/collocation/guest/keeper.hpp>
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
    governor::Rules rules{};
  };
  /// Errors: those of GovernorServer::open().
  static core::Result<std::unique_ptr<Governing>> begin(const Dependencies& deps,
                                                        const Options& options,
                                                        std::unique_ptr<probe::Probe> probe);
  Governing(const Governing&) = delete;
  Governing& operator=(const Governing&) = delete;
  ~Governing();

  /// Waits at most `wait_ms` for guests to say something. To be called several times a second.
  /// Returns the level of the guest in this process.
  double step(int wait_ms, const Report& own);
  View view() const;

 private:
  Governing(const Dependencies& deps, const Options& options, std::unique_ptr<probe::Probe> probe,
            GovernorServer server);
  double now_s() const;
  void begin_anew();
  void read_energy(double least_s);
  std::string status();

  Dependencies deps_;
  Options options_;
  std::unique_ptr<probe::Probe> probe_;
  GovernorServer server_;
  DutyPacer total_;  // what the keeper lets all guests do together
  double capacity_;  // that total_ is of
  probe::CpuMeter meter_;
  double energy_read_s_;
  std::optional<double> energy_j_{};
  std::optional<double> power_w_{};

  mutable std::mutex mutex_;
  std::unique_ptr<Keeper> keeper_;  // guarded where it is exchanged
  std::jthread looking_;            // last: it sees all of the above
};

}  // namespace commensal::guest
