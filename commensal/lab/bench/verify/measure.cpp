// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/bench/overhead/overhead.hpp>
#include <commensal/lab/bench/verify/subject.hpp>

namespace commensal::lab::bench::verify {
namespace {

constexpr double kBeyondIngestMax = 0.003;
constexpr double kOverheadMax = 0.015;
constexpr std::size_t kRequests = 144;  // of a slice: enough for batches as large as they ever get

using Rows = std::vector<bench::Row>;

core::Result<Rows> provider_rows(const VerifyBenchOptions& options, const core::Clock& clock) {
  overhead::OverheadOptions overhead;
  overhead.model = options.resnet;
  overhead.folder = options.folder;
  overhead.rounds = options.rounds;
  overhead.requests = kRequests;
  COMMENSAL_ASSIGN(const overhead::Overhead found, overhead::measure_overhead(overhead, clock));
  const std::string how = fmt::format(
      "{}, batch 1, one thread, {:.1f} ms plain; {} rounds of {} requests a side, {} under way, "
      "{:.1f} receipts a signature",
      options.resnet.stem().string(), found.plain_s * 1e3, options.rounds, overhead.requests,
      overhead.in_flight, found.batch);
  const auto row = [&](const char* name, const overhead::Share& share, std::optional<double> limit,
                       const char* what) {
    return bench::Row{name, share.value, share.low, share.high, limit, what + how, true};
  };
  return Rows{
      row("provider_overhead_beyond_ingest", found.beyond_ingest, kBeyondIngestMax,
          "receipts and tickets, processor time of all threads; "),
      row("provider_overhead_beyond_ingest_outside", found.beyond_ingest_outside, std::nullopt,
          "the same without the model's own runs; "),
      row("provider_overhead_beyond_ingest_inside", found.beyond_ingest_inside, std::nullopt,
          "what the model's own runs take longer; "),
      row("provider_overhead_beyond_ingest_wall", found.beyond_ingest_wall, std::nullopt,
          "what the requests take longer; "),
      row("provider_overhead", found.all, kOverheadMax, "and hashing the request's own bytes; ")};
}

void append(Rows& rows, Rows more) {
  for (bench::Row& row : more) rows.push_back(std::move(row));
}

}  // namespace

core::Result<Report> run_verify_bench(const VerifyBenchOptions& options, const core::Clock& clock) {
  COMMENSAL_ASSIGN(Rows rows, provider_rows(options, clock));
  COMMENSAL_ASSIGN(const Subject resnet, Subject::load(options.resnet));
  double audit = 0;
  COMMENSAL_ASSIGN(Rows replays, replay_rows(resnet, options.rounds, audit));
  append(rows, std::move(replays));
  append(rows, rule_rows(audit, options.seed));
  COMMENSAL_ASSIGN(Rows disputes, dispute_rows(resnet, options.disputes, options.seed, true));
  append(rows, std::move(disputes));
  if (options.encoder.empty()) return report_of(std::move(rows));
  COMMENSAL_ASSIGN(const Subject encoder, Subject::load(options.encoder));
  COMMENSAL_ASSIGN(Rows more, dispute_rows(encoder, options.disputes, options.seed, false));
  append(rows, std::move(more));
  return report_of(std::move(rows));
}

}  // namespace commensal::lab::bench::verify
