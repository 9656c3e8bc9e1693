// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/compute/kernels/peak.hpp>
#include <commensal/lab/bench/operators/measure.hpp>
#include <commensal/lab/bench/operators/small_nodes.hpp>
#include <commensal/lab/bench/operators/subject_files.hpp>
#include <commensal/lab/bench/runtime/outputs.hpp>
#include <limits>
#include <map>

namespace commensal::lab::bench::operators {

using core::Result;

namespace {

constexpr double kUs = 1e6;
constexpr Case kNothing = {"Identity", "f32[1]"};

struct Measured {
  std::string op, what;
  int threads = 1;
  Compared compared;
  double roofline = std::numeric_limits<double>::quiet_NaN();  // our time over the machine's least
};

/// What it takes the peer beside the operator to run one of one element.
struct PeerTakes {
  double language_s = 0;
  double profiler_s = 0;  // that makes its clock read: in every row
};

struct Refused {
  std::string what, why;
};

class Bench {
 public:
  Bench(const Options& options, const core::Path& folder, const kernels::Peak& peak)
      : options_(options), folder_(folder), peak_(peak) {}

  /// `clock`: the peer's. Errors: as Runner's; `who` becomes whose.
  Result<Pair> load(const Subject& subject, int threads, const char** who,
                    Clock clock = Clock::kOwn) const {
    *who = nullptr;
    COMMENSAL_ASSIGN(Runner ours, options_.ours());
    COMMENSAL_ASSIGN(Runner theirs, options_.theirs());
    COMMENSAL_ASSIGN(const SubjectFiles files, write_subject(subject, folder_));
    *who = "the peer";
    COMMENSAL_TRY(theirs.feed(files.inputs));
    COMMENSAL_TRY(theirs.load(files.model, threads, clock));
    *who = "ours";
    COMMENSAL_TRY(ours.feed(files.inputs));
    COMMENSAL_TRY(ours.load(files.model, threads));
    return Pair{std::move(ours), std::move(theirs)};
  }

  Result<Compared> compare(const Subject& subject, int threads, Clock clock = Clock::kOwn) {
    const char* who = nullptr;
    auto pair = load(subject, threads, &who, clock);
    if (!pair) return core::in_context(who == nullptr ? "bench" : who, pair.error());
    return take_turns(*pair, threads, options_.turns);
  }

  /// What goes wrong with one is told with the others.
  void add(const Subject& subject) {
    const auto added = try_add(subject);
    if (!added)
      refused_.push_back({fmt::format("{} {}", subject.op, subject.what), added.error().message});
  }

  Result<void> try_add(const Subject& subject) {
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
      COMMENSAL_ASSIGN(const std::string difference, difference_of(*pair, folder_));
      if (!difference.empty()) {
        refused_.push_back({named, difference});
        return {};
      }
      Measured row{.op = subject.op, .what = subject.what, .threads = threads};
      COMMENSAL_ASSIGN(row.compared, take_turns(*pair, threads, options_.turns));
      if (const double least_s = least_seconds(subject, threads); least_s > 0)
        row.roofline = row.compared.ours.median_s / least_s;
      rows_.push_back(std::move(row));
    }
    return {};
  }

  Result<PeerTakes> peer_takes() {
    COMMENSAL_ASSIGN(const Subject nothing, subject_of(kNothing, kNothing.ops));
    COMMENSAL_ASSIGN(const Compared net, compare(nothing, 1, Clock::kNet));
    COMMENSAL_ASSIGN(const Compared own, compare(nothing, 1));
    return PeerTakes{net.theirs.language_s,
                     std::max(own.theirs.median_s - net.theirs.median_s, 0.0)};
  }

  std::vector<Measured> rows_;
  std::vector<Refused> refused_, unmeasured_;

 private:
  /// Reading inputs and writing outputs, where caches cannot hold them, or the multiply-adds of a
  /// product in binary32, directly done; 0 where neither holds it up.
  double least_seconds(const Subject& subject, int threads) const {
    constexpr double kCaches = 16.0 * (1 << 20);
    const auto bytes = static_cast<double>(subject.bytes);
    const double products = static_cast<double>(subject.product_ops) / (peak_.ops_per_s * threads);
    return std::max(products, bytes > kCaches ? bytes / peak_.bytes_per_s : 0);
  }

  const Options& options_;
  const core::Path& folder_;
  const kernels::Peak& peak_;
};

/// The rows of one number of threads, with `profiler_s` taken off the peer's time. Of one that is
/// nothing else, to a tenth, no ratio is left: those are counted.
struct Told {
  std::vector<double> ratios;
  std::map<std::string_view, double> by_op;  // sums of logarithms' distances from the mean
  std::size_t hidden = 0;

  Told(const std::vector<Measured>& rows, int threads, double profiler_s = 0) {
    std::vector<std::string_view> ops;
    for (const Measured& row : rows) {
      if (row.threads != threads) continue;
      const double theirs_s = row.compared.theirs.median_s;
      if (profiler_s > 0 && theirs_s < 1.1 * profiler_s) {
        ++hidden;
        continue;
      }
      ratios.push_back(row.compared.ratio.value * theirs_s / (theirs_s - profiler_s));
      ops.push_back(row.op);
    }
    for (std::size_t i = 0; i < ratios.size(); ++i)
      by_op[ops[i]] += std::log(ratios[i] / geometric_mean(ratios));
  }
  /// The interval at 95 %, operators being drawn, of each of which all rows go together.
  Row mean(std::string name) const {
    double squares = 0;
    for (const auto& [op, sum] : by_op) squares += sum * sum;
    const double value = geometric_mean(ratios);
    const double half = 1.96 * std::sqrt(squares) / static_cast<double>(ratios.size());
    return {std::move(name), value, value * std::exp(-half), value * std::exp(half)};
  }
  /// With the interval at 95 % of the order of the rows.
  Row at(std::string name, double share) const {
    const double half = 1.96 * std::sqrt(share * (1 - share) / static_cast<double>(ratios.size()));
    const auto of = [&](double where) { return quantile(ratios, std::clamp(where, 0.0, 1.0)); };
    return {std::move(name), of(share), of(share - half), of(share + half)};
  }
};

/// Figures, each the worst over the numbers of threads.
class Worst {
 public:
  void add(Row row, std::optional<double> limit, int threads, const Told& told) {
    row.limit = limit;
    row.at_most = row.is_bar = true;
    std::string how = fmt::format("{} thread{}, {} rows: {:.3g}", threads, threads == 1 ? "" : "s",
                                  told.ratios.size(), row.value);
    if (told.hidden > 0) how += fmt::format(", {} that are but the profiler not", told.hidden);
    const auto known = std::ranges::find(rows_, row.name, &Row::name);
    if (known == rows_.end()) {
      row.how = std::move(how);
      rows_.push_back(std::move(row));
      return;
    }
    how = known->how + "; " + how;
    if (row.value > known->value) *known = std::move(row);
    known->how = std::move(how);
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  std::vector<Row> rows_;
};

std::vector<Row> rows_of(const Bench& bench, const Options& options, double profiler_s) {
  Worst worst;
  for (const int threads : options.threads) {
    const Told told(bench.rows_, threads), less(bench.rows_, threads, profiler_s);
    if (told.ratios.empty()) continue;
    worst.add(told.mean("operators_geomean"), 0.9, threads, told);
    worst.add(told.at("operators_p95", 0.95), 1.5, threads, told);
    worst.add(told.at("operators_worst", 1), 3, threads, told);  // of one row: no interval
    if (less.ratios.empty()) continue;
    worst.add(less.mean("operators_geomean_less_profiler"), std::nullopt, threads, less);
    worst.add(less.at("operators_p95_less_profiler", 0.95), std::nullopt, threads, less);
    worst.add(less.at("operators_worst_less_profiler", 1), std::nullopt, threads, less);
  }
  std::vector<Row> bars = worst.take();
  for (Row& row : bars) {
    if (options.firsts) row.how = "an operator's first case alone; " + row.how;
  }
  const auto refused = static_cast<double>(bench.refused_.size());
  bars.push_back(
      {"refused_or_different", refused, refused, refused, 0, "cases that the peer answers", true});
  return bars;
}

/// "-": it is not known.
std::string cell(double value, int width, int decimals) {
  if (std::isnan(value)) return fmt::format("{:>{}}", "-", width);
  return fmt::format("{:>{}.{}f}", value, width, decimals);
}

std::string table_of(const Bench& bench, const PeerTakes& takes) {
  std::vector<Measured> rows = bench.rows_;
  std::ranges::sort(rows, std::ranges::greater(),
                    [](const Measured& row) { return row.compared.ratio.value; });
  std::string text = fmt::format("{:<24} {:>7} {:>10} {:>10} {:>7} {:>8}  {}\n", "operator",
                                 "threads", "ours us", "theirs us", "ratio", "roofline", "inputs");
  for (const Measured& row : rows) {
    text += fmt::format("{:<24} {:>7} {:>10.1f} {:>10.1f} {:>7.2f} {}  {}\n", row.op, row.threads,
                        row.compared.ours.median_s * kUs, row.compared.theirs.median_s * kUs,
                        row.compared.ratio.value, cell(row.roofline, 8, 1), row.what);
  }
  return text +
         fmt::format(
             "theirs: by the peer's own clock, with {:.1f} us of its profiler's; its language "
             "takes {:.1f} us more to run one element\nroofline: ours over the least that "
             "memory or multiply-adds take; -: neither holds it up\n",
             takes.profiler_s * kUs, takes.language_s * kUs);
}

std::vector<Fields> fields_of(const std::vector<Measured>& rows) {
  std::vector<Fields> list;
  constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();
  for (const Measured& row : rows) {
    const bool is_spread = row.compared.ratio.pairs >= 3;  // quartiles of two say nothing
    list.push_back({{"operator", row.op},
                    {"inputs", row.what},
                    {"threads", row.threads},
                    {"ours_us", row.compared.ours.median_s * kUs},
                    {"theirs_us", row.compared.theirs.median_s * kUs},
                    {"ratio", row.compared.ratio.value},
                    {"low", is_spread ? row.compared.ratio.low : kNotKnown},
                    {"high", is_spread ? row.compared.ratio.high : kNotKnown},
                    {"times_roofline", row.roofline}});
  }
  return list;
}

/// The peer's clock has a profiler's share in it, which is much of a short row.
std::string profiler_note(const std::vector<Measured>& rows, double profiler_s) {
  constexpr double kShort = 50e-6, kLimit = 1.5;
  std::vector<double> others;
  std::size_t above = 0, above_less = 0;
  for (const Measured& row : rows) {
    const double ratio = row.compared.ratio.value, theirs_s = row.compared.theirs.median_s;
    if (theirs_s >= kShort) others.push_back(ratio);
    if (ratio > kLimit) ++above;
    if (ratio * theirs_s > kLimit * (theirs_s - profiler_s)) ++above_less;
  }
  return fmt::format(
      "the peer's clock has its profiler in it, {:.1f} us of a run of one node: with it {} of {} "
      "rows are above {}, without it {} (bars ..._less_profiler); {} rows take the peer less than "
      "50 us{}",
      profiler_s * kUs, above, rows.size(), kLimit, above_less, rows.size() - others.size(),
      others.empty()
          ? ""
          : fmt::format(", geometric mean of the others {:.3f}", geometric_mean(others)));
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
  COMMENSAL_ASSIGN(const PeerTakes takes, bench.peer_takes());
  auto all = picks(options.ops);
  if (options.firsts) all = firsts(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (options.progress) options.progress(std::string(all[i].op), i, all.size());
    COMMENSAL_ASSIGN(const Subject subject, subject_of(*all[i].row, all[i].op));
    bench.add(subject);
  }
  if (bench.rows_.empty() && bench.refused_.empty())
    return core::fail(core::ErrorCode::kInvalidArgument, "the peer runs none of these: {}",
                      bench.unmeasured_.empty() ? "no case" : bench.unmeasured_[0].why);
  Report report;
  report.rows = rows_of(bench, options, takes.profiler_s);
  COMMENSAL_ASSIGN(const auto nodes, measure_nodes(options, scratch.path()));
  for (Row& row : node_row(nodes)) report.rows.push_back(std::move(row));
  report.tables = table_of(bench, takes) + node_text(nodes);
  report.lists = {{"results", fields_of(bench.rows_)},
                  {"peer_language", {{{"us", takes.language_s * kUs}}}},
                  {"peer_profiler", {{{"us", takes.profiler_s * kUs}}}},
                  {"nodes", node_fields(nodes)}};
  for (const auto& [what, why] : bench.refused_)
    report.faults.push_back(fmt::format("{}: {}", what, why));
  if (!bench.rows_.empty()) report.notes.push_back(profiler_note(bench.rows_, takes.profiler_s));
  std::vector<Ratio> ratios;
  for (const Measured& row : bench.rows_) ratios.push_back(row.compared.ratio);
  if (std::string note = few_pairs_note(ratios); !note.empty())
    report.notes.push_back(std::move(note));
  for (const auto& [ops, why] : not_measured()) {
    if (options.ops.empty()) report.notes.push_back(fmt::format("{}: {}", ops, why));
  }
  for (const auto& [what, why] : bench.unmeasured_)
    report.notes.push_back(fmt::format("{}: {}", what, why));
  return report;
}

}  // namespace commensal::lab::bench::operators
