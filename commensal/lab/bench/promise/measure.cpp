// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/promise/hosts.hpp>
#include <commensal/lab/bench/promise/promise_bench.hpp>

namespace commensal::lab::bench::promise {
namespace {

constexpr double kHour = 3600;
constexpr double kNightS = 20 * kHour;
constexpr double kHalfPromise = 0.005;
constexpr double kCosts[] = {0.002, 0.005, 0.01, 0.02, 0.05};
constexpr double kYesterday = 0.002, kNextDayS = 2 * kHour;
constexpr double kTomorrow[] = {0.01, 0.02, 0.05, 0.15, 0.4};
constexpr double kNoise = 0.06;  // over one second: 3 % over four
constexpr double kSoonLeast = 0.45, kLateLeast = 0.8, kKeptLeast = 0.95, kLostMost = 0.005;

struct Sum {
  double runs = 0, hours = 0, kept = 0, shown = 0, lost = 0, harvest = 0;
  double worst_hour = 0, worst_minute = 0;

  void add(const Outcome& one) {
    ++runs;
    hours += static_cast<double>(one.hours);
    kept += static_cast<double>(one.hours_kept);
    shown += static_cast<double>(one.hours_shown);
    lost += one.lost;
    harvest += one.harvest;
    worst_hour = std::max(worst_hour, one.worst_hour);
    worst_minute = std::max(worst_minute, one.worst_minute);
  }
  void add(const Sum& other) {
    runs += other.runs;
    hours += other.hours;
    kept += other.kept;
    lost += other.lost;
  }
};

SimulatedHost steady(double cost) {
  SimulatedHost host;
  host.noise = kNoise;
  host.slope = constant(cost);
  return host;
}

Fields fields_of(std::string host, const Sum& sum) {
  return {{"host", std::move(host)},          {"hours", sum.hours},
          {"kept", sum.kept / sum.hours},     {"said_to_be", sum.shown / sum.hours},
          {"lost", sum.lost / sum.runs},      {"worst_hour", sum.worst_hour},
          {"worst_minute", sum.worst_minute}, {"harvest", sum.harvest / sum.runs}};
}

std::string line_of(std::string_view host, const Sum& sum) {
  return fmt::format(
      "{:<40} {:>5.1f} % of {:>4.0f} hours kept; lost {:.2f} %, worst hour {:.2f} %, "
      "minute {:.1f} %; harvest {:>5.1f} %\n",
      host, 100 * sum.kept / sum.hours, sum.hours, 100 * sum.lost / sum.runs, 100 * sum.worst_hour,
      100 * sum.worst_minute, 100 * sum.harvest / sum.runs);
}

/// Of what a guest could have that costs half the promise.
double share_of(double harvest, double cost) {
  return harvest / std::min(1.0, kHalfPromise / cost);
}

struct Bench {
  const PromiseBenchOptions& options;
  Report report{};
  std::vector<Fields> hosts{};
  Sum odd{}, missed{}, even{}, changed{};  // hosts; missed: those that are known to lose more

  void add(const std::string& name, const Sum& sum, Sum& pool) {
    pool.add(sum);
    hosts.push_back(fields_of(name, sum));
    report.tables += line_of(name, sum);
  }

  void host(const std::string& name, const SimulatedHost& host, Sum& pool) {
    Sum sum;
    for (int i = 0; i < options.seeds; ++i) sum.add(run(host, options.hours * kHour, seed(i)));
    add(name, sum, pool);
  }

  /// Learnt beside one cost; the next day the guest, or the host, is another.
  void change() {
    std::vector<governor::Carried> learnt;
    for (int i = 0; i < options.seeds; ++i) {
      const Outcome one = run(steady(kYesterday), options.hours * kHour, seed(i));
      learnt.push_back(governor::later(one.carried, kNightS, {}));
    }
    for (const double cost : kTomorrow) {
      Sum sum;
      for (int i = 0; i < options.seeds; ++i) {
        sum.add(
            run(steady(cost), kNextDayS, seed(i) + 2'000'000, learnt[static_cast<std::size_t>(i)]));
      }
      add(fmt::format("{} % once, {} % overnight", 100 * kYesterday, 100 * cost), sum, changed);
    }
  }

  void harvest(double cost) {
    const SimulatedHost host = steady(cost);
    Sum sum;
    std::vector<double> soon, late, next;
    for (int i = 0; i < options.seeds; ++i) {
      const Outcome one = run(host, options.hours * kHour, seed(i));
      sum.add(one);
      soon.push_back(share_of(one.half_hours[1], cost));
      late.push_back(share_of(one.half_hours.back(), cost));
      const governor::Carried tomorrow = governor::later(one.carried, kNightS, {});
      next.push_back(share_of(run(host, kHour, seed(i) + 1'000'000, tomorrow).harvest, cost));
    }
    add(fmt::format("steady, cost {} %", 100 * cost), sum, even);
    const auto row = [&](const char* when, double least, std::vector<double> values) {
      report.rows.push_back(row_at_least(
          fmt::format("harvest at a cost of {} %, {}", 100 * cost, when), least, std::move(values),
          fmt::format("of min(1, 0.5 % / cost), {} seeds, noise 3 % in 4 s", options.seeds)));
    };
    row("second half hour", kSoonLeast, std::move(soon));
    row("last half hour", kLateLeast, std::move(late));
    row("first hour of the next day", kLateLeast, std::move(next));
  }

  void kept(std::string_view what, const Sum& sum, std::optional<double> least) {
    report.rows.push_back(row_at_least(fmt::format("hours kept, by the truth: {}", what), least,
                                       {sum.kept / sum.hours},
                                       fmt::format("of {:.0f}", sum.hours)));
  }

  std::uint64_t seed(int i) const { return options.first_seed + static_cast<std::uint64_t>(i); }
};

}  // namespace

core::Result<Report> run_promise_bench(const PromiseBenchOptions& options) {
  Bench bench{options};
  for (const Kind& kind : kinds()) {
    bench.host(std::string(kind.name), kind.make(), kind.misses ? bench.missed : bench.odd);
    if (kind.misses)
      bench.report.notes.push_back(fmt::format("{} (of the bar): {}", kind.name, kind.misses));
  }
  for (const core::Path& path : options.traces) {
    COMMENSAL_ASSIGN(const Trace trace, read_trace(path));
    for (const double cost : {0.002, 0.02}) {
      bench.host(fmt::format("{}, cost {} %", trace.host, 100 * cost), host_of(trace, cost),
                 bench.odd);
    }
  }
  for (const double cost : kCosts) bench.harvest(cost);
  bench.change();
  bench.report.head = {{"seeds", std::int64_t{options.seeds}}, {"hours", options.hours}};
  bench.report.lists = {{"results", std::move(bench.hosts)}};
  bench.kept("odd hosts", bench.odd, kKeptLeast);
  bench.kept("odd hosts that are known to lose more", bench.missed, std::nullopt);
  bench.kept("steady hosts", bench.even, kKeptLeast);
  bench.kept("a cost that changed overnight", bench.changed, kKeptLeast);
  bench.report.rows.push_back(row_at_most("lost, by the truth", kLostMost,
                                          {bench.odd.lost / bench.odd.runs},
                                          "mean of all runs beside odd hosts"));
  return std::move(bench.report);
}

}  // namespace commensal::lab::bench::promise
