// SPDX-License-Identifier: Apache-2.0
// A host worth protecting: moves memory, counts the bytes and serves the count.
#include <algorithm>
#include <cstdio>
#include <hosts/common/clock.hpp>
#include <hosts/common/counter_file.hpp>
#include <hosts/common/http_server.hpp>
#include <hosts/common/program.hpp>
#include <hosts/common/prometheus.hpp>
#include <hosts/common/stop.hpp>
#include <hosts/streamer/triad.hpp>
#include <nlohmann/json.hpp>

namespace {

using namespace hosts;

struct Options {
  unsigned threads = 1;
  std::size_t array_mb = 0;  // 0: by the cache
  double seconds = 0;
  std::string http;
  std::string counter;
};

common::HttpAnswer metrics_of(const streamer::Triad& triad, std::string_view target) {
  if (target != "/metrics") return {404, "text/plain", "expected /metrics\n"};
  const common::Metric metrics[] = {{"streamer_bytes_total", "counter", "Bytes read and written.",
                                     static_cast<double>(triad.bytes())}};
  return {200, std::string(common::kPrometheusType), common::to_prometheus(metrics)};
}

tl::expected<void, std::string> run(const Options& options) {
  common::StopSignals stop;
  // Four times the last cache, but no more than a gigabyte: some machines show a whole host's
  // cache.
  const std::size_t cache = streamer::last_cache_bytes().value_or(std::size_t{64} << 20);
  const std::size_t bytes = options.array_mb > 0
                                ? options.array_mb << 20
                                : std::min(4 * cache, std::size_t{1} << 30) / 3 / options.threads;
  if (!options.counter.empty() && !common::replace_count(options.counter, 0))
    return tl::unexpected("cannot write the counter file '" + options.counter + "'");
  streamer::Triad triad(options.threads, bytes);
  const std::int64_t started_ns = common::now_ns();
  std::unique_ptr<common::HttpServer> server;
  if (!options.http.empty()) {
    auto opened = common::HttpServer::open(
        options.http, [&](std::string_view target) { return metrics_of(triad, target); });
    if (!opened) return tl::unexpected(opened.error());
    server = *std::move(opened);
    std::printf("{\"http_port\": %u}\n", unsigned{server->port()});
    (void)std::fflush(stdout);
  }
  const auto seconds = [&] { return common::seconds_between(started_ns, common::now_ns()); };
  constexpr double kTickSeconds = 0.1;
  while (true) {
    if (!options.counter.empty()) (void)common::replace_count(options.counter, triad.bytes());
    const double left = options.seconds > 0 ? options.seconds - seconds() : kTickSeconds;
    if (left <= 0) break;
    if (stop.wait(static_cast<std::int64_t>(1000 * std::min(left, kTickSeconds)) + 1)) break;
  }
  server.reset();
  const double lasted = seconds();
  const std::uint64_t moved = triad.bytes();
  triad.stop();
  if (!triad.is_right()) return tl::unexpected<std::string>("the memory does not hold its values");
  const nlohmann::ordered_json json = {{"threads", options.threads},
                                       {"array_bytes", bytes},
                                       {"seconds", lasted},
                                       {"bytes", moved},
                                       {"gb_per_s", static_cast<double>(moved) / lasted * 1e-9}};
  std::printf("%s\n", json.dump().c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Moves memory without end, and tells how much.", "streamer");
  Options options;
  app.add_option("--threads", options.threads, "Threads, each with three arrays of its own")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--array-mb", options.array_mb,
                 "MiB of each array; 0: all arrays together four times the last cache, up to 1 GiB")
      ->check(CLI::Range(0, 65536))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Stop after so long; 0: on SIGTERM or SIGINT")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--http", options.http, "Serve GET /metrics at HOST:PORT; port 0: a free one");
  app.add_option("--counter", options.counter, "Keep the count of bytes in this file");
  return common::run_program(app, argc, argv, [&options] { return run(options); });
}
