// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <commensal/lab/bench/collocation/guest.hpp>
#include <commensal/lab/bench/collocation/host_program.hpp>
#include <commensal/lab/bench/collocation/polite.hpp>
#include <numeric>
#include <thread>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr double kWarmS = 3;  // of a host, before it counts

std::string_view metric_of(std::string_view host) {
  return host == "equihash" ? "equihash_bucket_passes_total" : "streamer_bytes_total";
}

struct Way {
  std::string network;
  std::int64_t batch;
  std::unique_ptr<Guest> guest;
  std::vector<double> losses;
  double seconds = 0;
  std::uint64_t images = 0;
};

/// All ways beside one host.
class Run {
 public:
  Run(const PoliteOptions& options, std::string host, const core::Clock& clock)
      : options_(options), host_name_(std::move(host)), clock_(clock), rng_(options.seed) {}

  Result<std::vector<PoliteRow>> run() {
    COMMENSAL_TRY(start());
    sleep(kWarmS);
    COMMENSAL_ASSIGN(double before, rate(nullptr));
    std::vector<std::size_t> order(ways_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 0; round < options_.rounds; ++round) {
      options_.progress(host_name_, round, options_.rounds);
      shuffle(order);
      for (const std::size_t i : order) {
        COMMENSAL_ASSIGN(const double with, rate(&ways_[i]));
        COMMENSAL_ASSIGN(const double after, rate(nullptr));
        ways_[i].losses.push_back(1 - 2 * with / (before + after));
        before = after;
      }
    }
    std::vector<PoliteRow> rows;
    for (const Way& way : ways_) rows.push_back(row_of(way));
    return rows;
  }

 private:
  struct Look {
    double done, at_s;
  };

  Result<void> start() {
    for (const std::string& network : options_.networks) {
      for (const std::int64_t batch : options_.batches) {
        const core::Path model = options_.place.models_folder / (network + ".onnx");
        auto guest = Guest::start(model, Rank::kIdle, batch);
        if (!guest && guest.error().code == ErrorCode::kUnsupported) continue;
        if (!guest) return tl::unexpected(guest.error());
        ways_.push_back({network, batch, *std::move(guest), {}});
      }
    }
    COMMENSAL_ASSIGN(
        host_, HostProgram::start(options_.place.hosts_folder / host_name_, {"--threads", "1"}));
    COMMENSAL_ASSIGN(probe_, probe::open(host_->probe_spec(metric_of(host_name_)), {clock_}));
    return {};
  }

  static void sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  Result<Look> look() {
    const probe::Sample sample = probe_->sample();
    if (!sample.is_fresh()) return fail(ErrorCode::kUnavailable, "the host: {}", sample.why);
    return Look{sample.value, 1e-9 * static_cast<double>(sample.at_ns)};
  }

  /// The host's, over a stretch beside `way`, or alone.
  Result<double> rate(Way* way) {
    const std::uint64_t images = way == nullptr ? 0 : way->guest->images();
    if (way != nullptr) way->guest->set_level(1);
    COMMENSAL_ASSIGN(const Look first, look());
    sleep(options_.stretch_s);
    COMMENSAL_ASSIGN(const Look last, look());
    if (way != nullptr) {
      way->guest->set_level(0);
      way->seconds += last.at_s - first.at_s;
      way->images += way->guest->images() - images;
    }
    return (last.done - first.done) / (last.at_s - first.at_s);
  }

  void shuffle(std::vector<std::size_t>& order) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[rng_.next_u64() % i]);
    }
  }

  PoliteRow row_of(const Way& way) const {
    PoliteRow row;
    row.host = host_name_;
    row.network = way.network;
    row.batch = way.batch;
    row.stretches = static_cast<int>(way.losses.size());
    row.images_per_s = static_cast<double>(way.images) / way.seconds;
    row.loss = share95(way.losses);
    const double ms = 1000 / row.images_per_s;
    row.ms_an_image = {ms * row.loss.mean, ms * row.loss.low, ms * row.loss.high};
    return row;
  }

  const PoliteOptions& options_;
  const std::string host_name_;
  const core::Clock& clock_;
  core::CounterRng rng_;
  std::unique_ptr<HostProgram> host_;
  std::unique_ptr<probe::Probe> probe_;
  std::vector<Way> ways_;
};

}  // namespace

Result<std::vector<PoliteRow>> run_polite(const PoliteOptions& options, const core::Clock& clock) {
  std::vector<PoliteRow> rows;
  for (const std::string& host : options.hosts) {
    COMMENSAL_ASSIGN(auto made, Run(options, host, clock).run());
    std::ranges::move(made, std::back_inserter(rows));
  }
  return rows;
}

Report report_of(const std::vector<PoliteRow>& rows) {
  Report report;
  std::string& text = report.tables;
  text = fmt::format("{:<10}{:<16}{:>6}{:>11}{:>26}{:>32}\n", "host", "network", "batch",
                     "images/s", "host loses", "host's ms an image");
  const auto fields_of = [](const Share95& share) -> Fields {
    return {{"mean", share.mean}, {"low", share.low}, {"high", share.high}};
  };
  std::vector<Fields> list;
  for (const PoliteRow& row : rows) {
    const Share95& ms = row.ms_an_image;
    const auto loss = fmt::format("{:.2f} % ({:.2f}..{:.2f})", 100 * row.loss.mean,
                                  100 * row.loss.low, 100 * row.loss.high);
    text += fmt::format("{:<10}{:<16}{:>6}{:>11.2f}{:>26}{:>32}\n", row.host, row.network,
                        row.batch, row.images_per_s, loss,
                        fmt::format("{:.3f} ({:.3f}..{:.3f})", ms.mean, ms.low, ms.high));
    list.push_back({{"host", row.host},
                    {"network", row.network},
                    {"batch", row.batch},
                    {"stretches", row.stretches},
                    {"images_per_s", row.images_per_s},
                    {"host_loss", fields_of(row.loss)},
                    {"host_ms_an_image", fields_of(row.ms_an_image)}});
  }
  report.lists.emplace_back("results", std::move(list));
  return report;
}

}  // namespace commensal::lab::bench::collocation
