// SPDX-License-Identifier: Apache-2.0
// A host worth protecting: answers requests of a few milliseconds that come in bursts, whether the
// ones before are answered or not (open loop), and tells its latencies from the time of arrival.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <hosts/common/clock.hpp>
#include <hosts/common/http_server.hpp>
#include <hosts/common/program.hpp>
#include <hosts/common/prometheus.hpp>
#include <hosts/common/stop.hpp>
#include <hosts/server/arrivals.hpp>
#include <hosts/server/latencies.hpp>
#include <hosts/server/work.hpp>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace {

using namespace hosts;
using namespace hosts::server;

struct Options {
  Traffic traffic;
  std::uint64_t seed = 1;
  double seconds = 0;
  double window_s = 60;
  double steps_per_ms = 0;
  std::string http;
};

/// Since the start.
struct Totals {
  std::uint64_t requests = 0;
  double latency_ms = 0;
  double busy_s = 0;        // between beginning and end of requests
  std::uint64_t steps = 0;  // of work
};

/// One thread answers, in order of arrival; from construction to stop().
class Server {
 public:
  explicit Server(const Options& options)
      : options_(options),
        work_(options.seed),
        latencies_(static_cast<std::int64_t>(options.window_s * 1e9)) {
    steps_per_ms_ = options.steps_per_ms > 0 ? options.steps_per_ms : work_.steps_per_ms(0.5);
    started_ns_ = common::now_ns();
    thread_ = std::thread([this] { run(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  double seconds() const { return common::seconds_between(started_ns_, common::now_ns()); }
  double steps_per_ms() const { return steps_per_ms_; }

  Quantiles window() const {
    const std::scoped_lock lock(mutex_);
    return latencies_.window(common::now_ns());
  }
  Quantiles all() const {
    const std::scoped_lock lock(mutex_);
    return latencies_.all();
  }
  std::vector<Latency> take_latencies() {
    const std::scoped_lock lock(mutex_);
    return latencies_.take();
  }
  Totals totals() const {
    const std::scoped_lock lock(mutex_);
    return {latencies_.count(), latencies_.sum_ms(), busy_s_, steps_};
  }

 private:
  void run() {
    Arrivals arrivals(options_.traffic, options_.seed);
    volatile double sink = 0;
    double free_at_ms = 0;  // a server that nobody hinders
    for (Arrival next = arrivals.next(); wait_until(started_ns_ + next.at_ns);
         next = arrivals.next()) {
      const auto steps = static_cast<std::uint64_t>(next.work_ms * steps_per_ms_);
      const std::int64_t begun_ns = common::now_ns();
      sink = sink + work_.run(steps);
      const std::int64_t done_ns = common::now_ns();
      const std::scoped_lock lock(mutex_);
      busy_s_ += common::seconds_between(begun_ns, done_ns);
      steps_ += steps;
      const double at_ms = static_cast<double>(next.at_ns) * 1e-6;
      free_at_ms = std::max(free_at_ms, at_ms) + next.work_ms;
      latencies_.add(done_ns, {static_cast<double>(done_ns - started_ns_ - next.at_ns) * 1e-6,
                               free_at_ms - at_ms});
    }
  }

  /// False: stopped.
  bool wait_until(std::int64_t at_ns) const {
    constexpr std::int64_t kSliceNs = 50'000'000;
    while (!stop_) {
      const std::int64_t left = at_ns - common::now_ns();
      if (left <= 0) return true;
      const timespec time{0, std::min(left, kSliceNs)};
      (void)nanosleep(&time, nullptr);
    }
    return false;
  }

  const Options options_;
  Work work_;
  double steps_per_ms_ = 0;
  std::int64_t started_ns_ = 0;
  mutable std::mutex mutex_;
  Latencies latencies_;
  double busy_s_ = 0;
  std::uint64_t steps_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Of each request since this was asked for last, so that whoever compares stretches of time has
/// quantiles of their own: the milliseconds that it took, and that it would have. One asks; a
/// second one would take from the first.
common::HttpAnswer latencies_of(Server& server) {
  std::string text;
  for (const Latency& one : server.take_latencies()) {
    char pair[64];
    (void)std::snprintf(pair, sizeof pair, "%s[%.4g,%.4g]", text.empty() ? "" : ",", one.ms,
                        one.unhindered_ms);
    text += pair;
  }
  return {200, "application/json", "[" + text + "]\n"};
}

common::HttpAnswer answer(Server& server, std::string_view target) {
  if (target == "/latencies") return latencies_of(server);
  if (target != "/metrics") return {404, "text/plain", "expected /metrics or /latencies\n"};
  const Totals totals = server.totals();
  const Quantiles window = server.window();
  const std::string_view name = "server_latency_ms";
  const std::string_view help = "Latency from arrival to answer, over the last window.";
  const common::Metric metrics[] = {
      {"server_requests_total", "counter", "Requests answered.",
       static_cast<double>(totals.requests)},
      {"server_latency_ms_total", "counter", "Sum of all latencies.", totals.latency_ms},
      {"server_busy_seconds_total", "counter", "Time in which requests were worked on.",
       totals.busy_s},
      {"server_steps_total", "counter", "Work done, in equal steps.",
       static_cast<double>(totals.steps)},
      {"server_window_requests", "gauge", "Requests in the window.",
       static_cast<double>(window.count)},
      {name, "gauge", help, window.p50_ms, "quantile=\"0.5\""},
      {name, "gauge", help, window.p99_ms, "quantile=\"0.99\""},
      {name, "gauge", help, window.p999_ms, "quantile=\"0.999\""}};
  return {200, std::string(common::kPrometheusType), common::to_prometheus(metrics)};
}

tl::expected<void, std::string> check(const Options& options) {
  const Traffic& traffic = options.traffic;
  if (traffic.work_ms_min > traffic.work_ms_max)
    return tl::unexpected<std::string>("--work-ms-min is above --work-ms-max");
  const double load = traffic.mean_per_s() * (traffic.work_ms_min + traffic.work_ms_max) / 2000;
  if (load >= 0.9)
    return tl::unexpected("the requests are " + std::to_string(load) +
                          " of what one thread can answer, expected less than 0.9");
  return {};
}

tl::expected<void, std::string> run(const Options& options) {
  if (auto fine = check(options); !fine) return fine;
  common::StopSignals stop;
  Server server(options);
  std::unique_ptr<common::HttpServer> http;
  if (!options.http.empty()) {
    auto opened = common::HttpServer::open(
        options.http, [&](std::string_view target) { return answer(server, target); });
    if (!opened) return tl::unexpected(opened.error());
    http = *std::move(opened);
    std::printf("{\"http_port\": %u}\n", unsigned{http->port()});
    (void)std::fflush(stdout);
  }
  while (options.seconds <= 0 || server.seconds() < options.seconds) {
    const double left = options.seconds > 0 ? options.seconds - server.seconds() : 1;
    if (stop.wait(static_cast<std::int64_t>(1000 * std::clamp(left, 0.0, 1.0)) + 1)) break;
  }
  http.reset();
  const double lasted = server.seconds();
  server.stop();
  const Quantiles all = server.all();
  const nlohmann::ordered_json json = {
      {"seed", options.seed},  {"seconds", lasted},    {"steps_per_ms", server.steps_per_ms()},
      {"requests", all.count}, {"p50_ms", all.p50_ms}, {"p99_ms", all.p99_ms},
      {"p999_ms", all.p999_ms}};
  std::printf("%s\n", json.dump().c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Answers requests that come in bursts, and tells how late.", "server");
  Options options;
  const auto number = [&](const char* name, double& value, const char* what, double least) {
    app.add_option(name, value, what)->check(CLI::Range(least, 1e9))->capture_default_str();
  };
  Traffic& traffic = options.traffic;
  number("--calm-rate", traffic.calm_per_s, "Requests a second outside bursts", 1e-3);
  number("--burst-rate", traffic.burst_per_s, "Requests a second in bursts", 1e-3);
  number("--calm-seconds", traffic.calm_s, "Mean time between bursts", 1e-3);
  number("--burst-seconds", traffic.burst_s, "Mean length of a burst", 1e-3);
  number("--work-ms-min", traffic.work_ms_min, "Least work of a request", 1e-3);
  number("--work-ms-max", traffic.work_ms_max, "Most work of a request", 1e-3);
  number("--window", options.window_s, "Seconds that the served quantiles are of", 1);
  number("--steps-per-ms", options.steps_per_ms,
         "What a millisecond of work is; 0: measured at the start", 0);
  number("--seconds", options.seconds, "Stop after so long; 0: on SIGTERM or SIGINT", 0);
  app.add_option("--seed", options.seed, "Of the arrivals")->capture_default_str();
  app.add_option("--http", options.http,
                 "Serve GET /metrics and /latencies at HOST:PORT; port 0: a free one");
  return common::run_program(app, argc, argv, [&options] { return run(options); });
}
