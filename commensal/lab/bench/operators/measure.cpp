// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/kernels/peak.hpp>
#include <commensal/lab/bench/operators/measure.hpp>
#include <commensal/lab/bench/operators/outputs.hpp>
#include <commensal/lab/bench/runtime/inputs.hpp>
#include <map>

namespace commensal::lab::bench::operators {

using core::Result;

namespace {

constexpr double kUs = 1e6;
constexpr Case kNothing = {"Identity", "f32[1]"};
// Nodes that nothing folds or fuses, of a few elements.
constexpr Case kSmallNodes[] = {{"CumSum", "f32[8] i64{0}"},
                                {"Softmax", "f32[1,8]"},
                                {"Trilu", "f32[3,3]"},
                                {"MatMul", "f32[4,4] *f32[4,4]"},
                                {"ReduceMax", "f32[1,8] i64{1}", "", 1, 18},
                                {"Gather", "f32[8] i64{1,0,2,3,4,5,6,7}"}};
constexpr int kChain = 65;

struct Measured {
  std::string op, what;
  int threads = 1;
  Compared compared;
  double net = 0;       // ratio without what the peer's language takes; 0: it takes most
  double roofline = 0;  // our time beside what reading the inputs from memory takes; 0: cached
};

struct Refused {
  std::string what, why;
};

class Bench {
 public:
  Bench(const Options& options, const core::Path& folder, const kernels::Peak& peak)
      : options_(options), folder_(folder), peak_(peak) {}

  /// Errors: as Runner's; `who` becomes whose.
  Result<Pair> load(const Subject& subject, int threads, const char** who) const {
    *who = nullptr;
    COMMENSAL_ASSIGN(Runner ours, options_.ours());
    COMMENSAL_ASSIGN(Runner theirs, options_.theirs());
    const core::Path model = folder_ / "model.onnx";
    COMMENSAL_TRY(core::write_file_atomically(model, subject.model));
    std::vector<InputFile> inputs;
    for (std::size_t i = 0; i < subject.feeds.size(); ++i) {
      COMMENSAL_ASSIGN(inputs.emplace_back(), write_input(folder_ / fmt::format("input{}.bin", i),
                                                          subject.names[i], subject.feeds[i]));
    }
    *who = "the peer";
    COMMENSAL_TRY(theirs.feed(inputs));
    COMMENSAL_TRY(theirs.load(model, threads));
    *who = "ours";
    COMMENSAL_TRY(ours.feed(inputs));
    COMMENSAL_TRY(ours.load(model, threads));
    return Pair{std::move(ours), std::move(theirs)};
  }

  Result<Compared> compare(const Subject& subject, int threads) {
    const char* who = nullptr;
    auto pair = load(subject, threads, &who);
    if (!pair) return core::in_context(who == nullptr ? "bench" : who, pair.error());
    return take_turns(*pair, threads, options_.turns);
  }

  /// `language_s`: of each of the options' numbers of threads.
  Result<void> add(const Subject& subject, const std::map<int, double>& language_s) {
    for (const int threads : options_.threads) {
      const char* who = nullptr;
      auto pair = load(subject, threads, &who);
      const std::string named = fmt::format("{} {}", subject.op, subject.what);
      if (!pair && who == nullptr) return tl::unexpected(pair.error());
      if (!pair) {
        (who == std::string_view("ours") ? refused_ : unmeasured_)
            .push_back({named, pair.error().message});
        return {};
      }
      if (threads == options_.threads.front()) {
        COMMENSAL_ASSIGN(const std::string difference, difference_of(*pair, folder_));
        if (!difference.empty()) {
          refused_.push_back({named, difference});
          return {};
        }
      }
      Measured row{subject.op, subject.what, threads, {}, 0, roofline_s(subject)};
      COMMENSAL_ASSIGN(row.compared, take_turns(*pair, threads, options_.turns));
      const double language = language_s.at(threads);
      const double net_s = row.compared.theirs.median_s - language;
      if (net_s > language) row.net = row.compared.ours.median_s / net_s;
      if (row.roofline > 0) row.roofline = row.compared.ours.median_s / row.roofline;
      rows_.push_back(std::move(row));
    }
    return {};
  }

  std::vector<Measured> rows_;
  std::vector<Refused> refused_, unmeasured_;

 private:
  /// What reading the inputs from memory takes one thread; 0 where they may lie in caches.
  double roofline_s(const Subject& subject) const {
    constexpr double kCaches = 16.0 * (1 << 20);
    double bytes = 0;
    for (const tensor::Tensor& feed : subject.feeds)
      bytes += static_cast<double>(feed.type().bytes());
    return bytes > kCaches ? bytes / peak_.bytes_per_s : 0;
  }

  const Options& options_;
  const core::Path& folder_;
  const kernels::Peak& peak_;
};

/// Time of a node more in a graph of such nodes, of the dearest of them; no row where `ops` names
/// none.
Result<std::vector<Row>> node_rows(Bench& bench, std::span<const std::string> ops) {
  Row row{.name = "node_ns", .limit = 150, .at_most = true};
  for (const Case& each : kSmallNodes) {
    if (!ops.empty() && std::ranges::find(ops, each.ops) == ops.end()) continue;
    std::array<double, 2> seconds{};
    for (const int copies : {1, kChain}) {
      COMMENSAL_ASSIGN(const Subject subject, subject_of(each, each.ops, copies));
      COMMENSAL_ASSIGN(const Compared compared, bench.compare(subject, 1));
      seconds[copies == 1 ? 0 : 1] = compared.ours.median_s;
    }
    const double ns = 1e9 * (seconds[1] - seconds[0]) / (kChain - 1);
    row.how += fmt::format("{}{} {:.0f}", row.how.empty() ? "" : ", ", each.ops, ns);
    row.value = std::max(row.value, ns);
  }
  row.low = row.high = row.value;
  return row.how.empty() ? std::vector<Row>() : std::vector<Row>{std::move(row)};
}

std::vector<Row> rows_of(const Bench& bench, bool firsts) {
  // Where the peer's language takes most of its time nothing is told about its kernels.
  std::vector<double> ratios;
  for (const Measured& row : bench.rows_) {
    if (row.net > 0) ratios.push_back(row.net);
  }
  if (ratios.empty()) return {};
  // The mean's interval at 95 %, as if rows were drawn from all that might be measured.
  const double mean = geometric_mean(ratios);
  double squares = 0;
  for (const double ratio : ratios) squares += std::pow(std::log(ratio / mean), 2);
  const auto n = static_cast<double>(ratios.size());
  const double half = 1.96 * std::sqrt(squares) / n;
  const std::string how = fmt::format("net, {} rows of {}{}", ratios.size(), bench.rows_.size(),
                                      firsts ? ", an operator's first case alone" : "");
  const auto at = [&](double share) { return quantile(ratios, share); };
  return {
      {"operators_geomean", mean, mean * std::exp(-half), mean * std::exp(half), 0.9, how, true},
      {"operators_p95", at(0.95), at(0.95), at(0.95), 1.5, how, true},
      {"operators_worst", at(1), at(1), at(1), 3, how, true},
      {"refused_or_different", static_cast<double>(bench.refused_.size()), 0, 0, 0,
       "cases that the peer answers", true}};
}

std::string table_of(std::vector<Measured> rows) {
  std::ranges::sort(rows, std::ranges::greater(), &Measured::net);
  std::string text =
      fmt::format("{:<24} {:>7} {:>10} {:>10} {:>7} {:>7} {:>8}  {}\n", "operator", "threads",
                  "ours us", "theirs us", "ratio", "net", "roofline", "inputs");
  for (const Measured& row : rows) {
    text += fmt::format("{:<24} {:>7} {:>10.1f} {:>10.1f} {:>7.2f} {:>7.2f} {:>8.1f}  {}\n", row.op,
                        row.threads, row.compared.ours.median_s * kUs,
                        row.compared.theirs.median_s * kUs, row.compared.ratio.value, row.net,
                        row.roofline, row.what);
  }
  return text;
}

std::vector<Fields> fields_of(const std::vector<Measured>& rows) {
  std::vector<Fields> list;
  for (const Measured& row : rows) {
    list.push_back({{"operator", row.op},
                    {"inputs", row.what},
                    {"threads", row.threads},
                    {"ours_us", row.compared.ours.median_s * kUs},
                    {"theirs_us", row.compared.theirs.median_s * kUs},
                    {"ratio", row.compared.ratio.value},
                    {"low", row.compared.ratio.low},
                    {"high", row.compared.ratio.high},
                    {"net_ratio", row.net},
                    {"times_roofline", row.roofline}});
  }
  return list;
}

}  // namespace

Result<Report> run_operators_bench(const Options& options, const core::Clock& clock) {
  COMMENSAL_ASSIGN(const auto scratch, core::TemporaryFolder::make("commensal-bench"));
  kernels::ThreadPool one(1);
  kernels::Peak peak;
  if (const auto isas = kernels::available_isas(); !isas.empty()) {
    COMMENSAL_ASSIGN(peak, kernels::measure_peak(isas.back(), one, clock));
  }
  Bench bench(options, scratch.path(), peak);
  COMMENSAL_ASSIGN(const Subject nothing, subject_of(kNothing, kNothing.ops));
  std::map<int, double> language_s;
  for (const int threads : options.threads) {
    COMMENSAL_ASSIGN(const Compared idle, bench.compare(nothing, threads));
    language_s[threads] = idle.theirs.median_s;
  }
  auto all = picks(options.ops);
  if (options.firsts) all = firsts(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (options.progress) options.progress(std::string(all[i].op), i, all.size());
    COMMENSAL_ASSIGN(const Subject subject, subject_of(*all[i].row, all[i].op));
    COMMENSAL_TRY(bench.add(subject, language_s));
  }
  Report report;
  report.rows = rows_of(bench, options.firsts);
  COMMENSAL_ASSIGN(const auto nodes, node_rows(bench, options.ops));
  report.rows.insert(report.rows.end(), nodes.begin(), nodes.end());
  for (const auto& [threads, seconds] : language_s) {
    report.rows.push_back(row_at_most(
        fmt::format("language_us_{}t", threads), std::nullopt, {seconds * kUs},
        "the peer's run of one element into an output that is there, taken off for net ratios"));
  }
  report.tables = table_of(bench.rows_);
  report.lists = {{"results", fields_of(bench.rows_)}};
  for (const auto& [what, why] : bench.refused_)
    report.notes.push_back(fmt::format("{}: {}", what, why));
  for (const auto& [ops, why] : not_measured())
    report.notes.push_back(fmt::format("not measured: {}: {}", ops, why));
  for (const auto& [what, why] : bench.unmeasured_)
    report.notes.push_back(fmt::format("not measured: {}: {}", what, why));
  return report;
}

}  // namespace commensal::lab::bench::operators
