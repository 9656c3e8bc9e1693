// SPDX-License-Identifier: Apache-2.0
// A host worth protecting: solves Equihash and serves its rate as xmrig does.
#include <sodium.h>

#include <algorithm>
#include <cstdio>
#include <hosts/common/clock.hpp>
#include <hosts/common/counter_file.hpp>
#include <hosts/common/http_server.hpp>
#include <hosts/common/program.hpp>
#include <hosts/common/prometheus.hpp>
#include <hosts/common/stop.hpp>
#include <hosts/equihash/miner.hpp>
#include <hosts/equihash/summary.hpp>
#include <mutex>

namespace {

using namespace hosts;
using namespace hosts::equihash;

struct Options {
  unsigned n = 200;
  unsigned k = 9;
  unsigned threads = 1;
  std::uint64_t seed = 1;
  double seconds = 0;
  std::string http;
  std::string counter;
};

/// What xmrig has not: the count itself, as it is when it is asked for.
common::HttpAnswer metrics_of(const Miner& miner) {
  const common::Metric metrics[] = {{"equihash_bucket_passes_total", "counter",
                                     "Bucket passes, each counted by its work.",
                                     static_cast<double>(miner.counts().passes)}};
  return {200, std::string(common::kPrometheusType), common::to_prometheus(metrics)};
}

/// The figures that the server's thread reads and the main thread writes.
class Board {
 public:
  Board(const MinerOptions& options, const Miner& miner, std::int64_t started_ns)
      : options_(options), miner_(miner), started_ns_(started_ns), threads_(options.threads) {}

  void take() {
    const std::scoped_lock lock(mutex_);
    const std::int64_t now = common::now_ns();
    total_.add(now, miner_.counts().passes);
    const auto passes = miner_.passes_of_threads();
    for (std::size_t i = 0; i < passes.size(); ++i) threads_[i].add(now, passes[i]);
    highest_ = std::max(highest_, means_of(total_)[0].value_or(0));
  }

  common::HttpAnswer answer(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/metrics") return metrics_of(miner_);
    if (path != "/2/summary" && path != "/1/summary" && path != "/")
      return {404, "application/json", "{\"error\": \"expected /2/summary or /metrics\"}\n"};
    const std::scoped_lock lock(mutex_);
    Status status{options_,
                  miner_.counts(),
                  common::seconds_between(started_ns_, common::now_ns()),
                  means_of(total_),
                  {},
                  highest_};
    for (const auto& thread : threads_) status.threads.push_back(means_of(thread));
    return {200, "application/json", to_xmrig_summary(status)};
  }

 private:
  const MinerOptions options_;
  const Miner& miner_;
  const std::int64_t started_ns_;
  std::mutex mutex_;
  common::RateWindows total_;
  std::vector<common::RateWindows> threads_;
  double highest_ = 0;
};

tl::expected<void, std::string> run(const Options& given) {
  const auto params = make_params(given.n, given.k);
  if (!params) return tl::unexpected(params.error());
  if (sodium_init() < 0) return tl::unexpected<std::string>("libsodium does not start");
  common::StopSignals stop;
  const MinerOptions options{*params, given.threads, given.seed};
  if (!given.counter.empty() && !common::replace_count(given.counter, 0))
    return tl::unexpected("cannot write the counter file '" + given.counter + "'");
  const std::int64_t started_ns = common::now_ns();
  Miner miner(options);
  Board board(options, miner, started_ns);
  std::unique_ptr<common::HttpServer> server;
  if (!given.http.empty()) {
    auto opened = common::HttpServer::open(
        given.http, [&board](std::string_view target) { return board.answer(target); });
    if (!opened) return tl::unexpected(opened.error());
    server = *std::move(opened);
    std::printf("{\"http_port\": %u}\n", unsigned{server->port()});
    (void)std::fflush(stdout);
  }
  const auto seconds = [&] { return common::seconds_between(started_ns, common::now_ns()); };
  constexpr double kTickSeconds = 0.1;
  while (true) {
    board.take();
    if (!given.counter.empty()) (void)common::replace_count(given.counter, miner.counts().passes);
    const double left = given.seconds > 0 ? given.seconds - seconds() : kTickSeconds;
    if (left <= 0) break;
    if (stop.wait(static_cast<std::int64_t>(1000 * std::min(left, kTickSeconds)) + 1)) break;
  }
  server.reset();
  const MinerCounts counts = miner.counts();
  const double lasted = seconds();
  miner.stop();
  std::fputs(to_final_json(options, counts, lasted).c_str(), stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Solves Equihash without end, and tells how fast, as a miner does.", "equihash");
  Options options;
  app.add_option("--n", options.n, "Bits of a string")->capture_default_str();
  app.add_option("--k", options.k, "2^k strings make a solution")->capture_default_str();
  app.add_option("--threads", options.threads, "Threads, each with nonces and memory of its own")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Stop after so long; 0: on SIGTERM or SIGINT")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Makes the header that is solved")->capture_default_str();
  app.add_option("--http", options.http,
                 "Serve GET /2/summary and /metrics at HOST:PORT; port 0: a free one");
  app.add_option("--counter", options.counter, "Keep the count of bucket passes in this file");
  return common::run_program(app, argc, argv, [&options] { return run(options); });
}
