// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/overhead/overhead.hpp>
#include <commensal/lab/bench/pay/pay_bench.hpp>

namespace commensal::lab::bench::pay {
namespace {

constexpr double kShareMax = 0.015;

bench::Row row(std::string name, const overhead::Share& share, std::optional<double> limit,
               std::string how) {
  return {std::move(name), share.value, share.low, share.high, limit, std::move(how), true};
}

}  // namespace

core::Result<std::vector<bench::Row>> bench_provider(const PayBenchOptions& options,
                                                     const core::Clock& clock) {
  overhead::OverheadOptions overhead;
  overhead.model = options.model;
  overhead.folder = options.folder;
  overhead.rounds = options.rounds;
  COMMENSAL_ASSIGN(const overhead::Overhead found, overhead::measure_overhead(overhead, clock));
  const std::string how = fmt::format(
      "{}, batch 1, one thread, {:.2f} ms of processor time plain; {} rounds of {} requests a "
      "side, "
      "{} under way, {:.1f} receipts a signature, {} winners",
      options.model.stem().string(), found.plain_s * 1e3, options.rounds, overhead.requests,
      overhead.in_flight, found.batch, found.winners);
  return std::vector<bench::Row>{
      row("provider_overhead_beyond_ingest", found.beyond_ingest, kShareMax,
          "processor time of all threads; " + how),
      row("provider_overhead_beyond_ingest_outside", found.beyond_ingest_outside, std::nullopt,
          "the same without the model's own runs; " + how),
      row("provider_overhead_beyond_ingest_inside", found.beyond_ingest_inside, std::nullopt,
          "what the model's own runs take longer; " + how),
      row("provider_overhead_beyond_ingest_wall", found.beyond_ingest_wall, kShareMax,
          "what the requests take longer; " + how),
      row("provider_ingest", found.ingest, std::nullopt,
          "processor time of hashing the request's own bytes; " + how),
      row("provider_overhead", found.all, std::nullopt, "processor time of both; " + how)};
}

}  // namespace commensal::lab::bench::pay
