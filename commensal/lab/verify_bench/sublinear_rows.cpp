// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/verify_bench/frauds.hpp>
#include <commensal/lab/verify_bench/subject.hpp>
#include <commensal/verify/spot/audit_fixture.hpp>
#include <commensal/verify/spot/policy.hpp>

namespace commensal::lab {
namespace {

using core::Digest;
using core::Result;
using spot::testing::AuditCase;
using tensor::Tensor;

constexpr double kAuditShareMax = 0.05;
constexpr double kCatchDenseMin = 0.99;
constexpr double kAuditProbability = 0.01;

/// Audits of one request of a network.
class Audits {
 public:
  Audits(const Subject& subject, graph::Session& session, std::uint64_t seed)
      : subject_(subject),
        session_(session),
        rng_(seed, 6),
        case_(subject.graph, subject.inputs, {}) {}

  struct Costs {
    std::vector<double> audit, roots, openings;  // shares of a plain run
    std::vector<double> kib;                     // of all messages
  };
  /// Honest, beside plain execution, in turn. Errors: what either side refuses, and an accusation.
  Result<Costs> measure(int rounds);

  /// Whether an audit of who runs this catches it. The commitment is to what it put out.
  Result<void> begin(const dispute::Rerun& rerun);
  Result<bool> is_caught();

  AuditCase& papers() { return case_; }
  core::Rng& rng() { return rng_; }
  dispute::Rerun honest() { return dispute::rerun_on(session_, case_.inputs); }

 private:
  const Subject& subject_;
  graph::Session& session_;
  core::CounterRng rng_;
  AuditCase case_;
  spot::Scratch scratch_;
  std::optional<spot::Prover> prover_;
};

Result<void> Audits::begin(const dispute::Rerun& rerun) {
  graph::Tracer nobody;
  COMMENSAL_ASSIGN(const auto outputs, rerun(nobody, nullptr));
  case_.commit(outputs);
  prover_.emplace(case_.prover(rerun));
  return {};
}

Result<bool> Audits::is_caught() {
  COMMENSAL_ASSIGN(const auto played,
                   spot::testing::play(case_, *prover_, rng_.next_digest(), scratch_));
  return played.finding.has_value();
}

Result<Audits::Costs> Audits::measure(int rounds) {
  Costs costs;
  core::ManualClock clock;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    COMMENSAL_TRY(begin(honest()));
    const Digest beacon = rng_.next_digest();
    const auto request = spot::Audit::open(case_.papers, clock, scratch_)->request();
    Result<core::Bytes> roots, openings;
    const double roots_s = cpu_seconds(
        [&] { roots = prover_->roots(request, AuditCase::kRound - 1); });
    COMMENSAL_TRY(roots);
    const double openings_s = cpu_seconds(
        [&] { openings = prover_->openings(AuditCase::kRound, beacon); });
    COMMENSAL_TRY(openings);
    Result<bool> accused = false;
    const auto audit = [&]() -> Result<bool> {
      COMMENSAL_ASSIGN(auto made, spot::Audit::open(case_.papers, clock, scratch_));
      (void)made.request();
      COMMENSAL_TRY(made.roots(*roots, AuditCase::kRound - 1));
      COMMENSAL_TRY(made.beacon(AuditCase::kRound, beacon));
      COMMENSAL_TRY(made.openings(*openings));
      return made.finding().has_value();
    };
    double plain_s = 0, audit_s = 0;
    const auto run_plain = [&] {
      plain_s = cpu_seconds([&] { (void)session_.run(subject_.inputs); });
    };
    if (round % 2 == 0) run_plain();
    audit_s = cpu_seconds([&] { accused = audit(); });
    if (round % 2 != 0) run_plain();
    COMMENSAL_TRY(accused);
    if (*accused) return core::fail(core::ErrorCode::kInternal, "an honest provider is accused");
    if (round < 0) continue;
    costs.audit.push_back(audit_s / plain_s);
    costs.roots.push_back(roots_s / plain_s);
    costs.openings.push_back(openings_s / plain_s);
    costs.kib.push_back(static_cast<double>(request.size() + roots->size() + openings->size()) /
                        1024);
  }
  return costs;
}

struct Rate {
  std::string name;
  double caught = 0, formula = 0;
};

/// The fraud that is caught least.
Result<Rate> dense(Audits& audits, const Subject& subject, int count) {
  Rate least{"", 2, 0};
  for (const NamedFraud& named : dense_frauds()) {
    COMMENSAL_ASSIGN(auto fraud, Fraud::make(subject.graph, named.of_weight, named.of_output));
    COMMENSAL_TRY(audits.begin(fraud.rerun(subject.inputs)));
    int caught = 0;
    for (int i = 0; i < count; ++i) {
      COMMENSAL_ASSIGN(const bool is_caught, audits.is_caught());
      caught += is_caught ? 1 : 0;
    }
    const double rate = static_cast<double>(caught) / count;
    if (rate < least.caught) least = {named.name, rate, 0};
  }
  return least;
}

/// One product, drawn anew for each audit, of which one in `one_in` elements is wrong (0: a single
/// one).
Result<Rate> sparse(Audits& audits, const Subject& subject, int count, std::int64_t one_in) {
  const auto& survey = *audits.papers().survey;
  std::vector<std::size_t> products;
  for (std::size_t n = 0; n < survey.nodes.size(); ++n) {
    if (survey.nodes[n].is_product) products.push_back(n);
  }
  Rate rate;
  for (int i = 0; i < count; ++i) {
    const std::size_t chosen = products[audits.rng().next_u64() % products.size()];
    double fraction = 1;
    const auto change = [&](std::size_t node, std::size_t, const Tensor& output) {
      if (node != chosen) return;
      const std::int64_t step = one_in == 0 ? output.elements() : one_in;
      for (std::int64_t e = 0; e < output.elements(); e += step) {
        spot::testing::writable(output)[static_cast<std::size_t>(4 * e)] ^= 1;
      }
      fraction = 1.0 / static_cast<double>(step);
    };
    COMMENSAL_TRY(audits.begin(spot::testing::meddled(*subject.graph, change, audits.honest())));
    COMMENSAL_ASSIGN(const bool is_caught, audits.is_caught());
    std::vector<double> wrong(survey.nodes.size());
    wrong[chosen] = fraction;
    rate.caught += (is_caught ? 1.0 : 0.0) / count;
    rate.formula +=
        catch_chance(*subject.graph, survey, audits.papers().papers.terms, wrong) / count;
  }
  return rate;
}

}  // namespace

Result<std::vector<Row>> sublinear_rows(const Subject& subject, int rounds, int audits,
                                        std::uint64_t seed, double replay) {
  COMMENSAL_ASSIGN(auto session, graph::Session::create(subject.graph, {.threads = 1}));
  Audits stand(subject, session, seed);
  COMMENSAL_ASSIGN(const auto costs, stand.measure(rounds));
  COMMENSAL_ASSIGN(const Rate all, dense(stand, subject, audits));
  COMMENSAL_ASSIGN(const Rate large, sparse(stand, subject, audits, 1));
  COMMENSAL_ASSIGN(const Rate small, sparse(stand, subject, audits, 0));
  const spot::Terms& terms = stand.papers().papers.terms;
  const spot::Estimate saves = estimate(*subject.graph, *stand.papers().survey, terms);
  const std::string what = fmt::format("{}, batch 1, {} rounds in turn", subject.name, rounds);
  const std::string how = fmt::format("{}, {} audits", subject.name, audits);
  const spot::Mix mix;
  std::vector<double> mixed;
  for (const double share : costs.audit) {
    mixed.push_back(spot::expected_share(kAuditProbability, mix, replay, share));
  }
  return std::vector<Row>{
      row_at_most("sublinear_audit_share", kAuditShareMax, costs.audit,
                  fmt::format("the auditor's side, proofs included: {} elements of products, {} "
                              "of the last one, {} leaves of other operators; {}",
                              terms.elements, terms.last, terms.leaves, what)),
      row_at_least("sublinear_catch_dense", kCatchDenseMin, {all.caught},
                   fmt::format("the least of {} frauds: {}; {} each", dense_frauds().size(),
                               all.name, how)),
      row_at_least("sublinear_catch_sparse_large", std::nullopt, {large.caught},
                   fmt::format("one product wrong in all elements, as of a provider that has its "
                               "trace honest up to there; the formula says {:.4f}; {}",
                               large.formula, how)),
      row_at_least("sublinear_catch_sparse_small", std::nullopt, {small.caught},
                   fmt::format("one bit of one element of one product; the formula says {:.6f}; {}",
                               small.formula, how)),
      row_at_most("sublinear_kib", std::nullopt, costs.kib,
                  fmt::format("all messages; a replay needs {:.0f} KiB of inputs; estimated {:.0f} "
                              "KiB; {}",
                              saves.replay_bytes / 1024, saves.sublinear_bytes / 1024, what)),
      row_at_most("sublinear_roots_share", std::nullopt, costs.roots,
                  "the provider's run for the operator roots; " + what),
      row_at_most("sublinear_openings_share", std::nullopt, costs.openings,
                  "the provider's run for what is opened; " + what),
      row_at_most("verification_share_mixed", std::nullopt, mixed,
                  fmt::format("of one request in a hundred, {:.0f} % of them replayed in full; {}",
                              100 * replay_share_of(mix), what))};
}

}  // namespace commensal::lab
