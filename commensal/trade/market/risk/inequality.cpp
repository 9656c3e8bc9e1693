// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/trade/market/risk/inequality.hpp>
#include <commensal/trade/market/risk/ranges.hpp>
#include <limits>

namespace commensal::risk {
namespace {

/// Money and costs stay so small that no product of them leaves the range of a double.
constexpr double kStepsMax = 1e15;

/// The infimum of the p with p * loss > gain.
double needed(double gain, double loss) {
  if (gain <= 0) return 0;
  return loss > 0 ? gain / loss : std::numeric_limits<double>::infinity();
}

double at_stake(const Deterrent& deterrent) {
  return (1 - deterrent.collusion) * (deterrent.stake + deterrent.escrowed);
}

std::vector<Term> terms_of(const Deterrent& deterrent) {
  return {{"S", deterrent.stake, "stake that a caught cheat loses"},
          {"E", deterrent.escrowed, "escrowed winnings that it forfeits"},
          {"alpha", deterrent.collusion, "probability that the auditor colludes"}};
}

Figure with(Figure figure, std::initializer_list<Term> more) {
  figure.terms.insert(figure.terms.end(), more);
  return figure;
}

}  // namespace

Result<void> LazyCheat::validity() const {
  return first_out_of_range({{"step_cost", step_cost, 0, kUnitsMax},
                             {"cheat_cost", cheat_cost, 0, kUnitsMax},
                             {"pay", pay, 0, kUnitsMax}});
}

bool lazy_deterred(const LazyCheat& cheat, const Deterrent& deterrent, double probability) {
  const double saved = cheat.step_cost - cheat.cheat_cost;
  const double pay = (1 - deterrent.collusion) * cheat.pay;
  const double forgone = cheat.paid_unaudited ? probability * pay : pay;
  return saved < 0 || probability * at_stake(deterrent) + forgone > saved;
}

Figure lazy_probability(const LazyCheat& cheat, const Deterrent& deterrent) {
  const double saved = cheat.step_cost - cheat.cheat_cost;
  const double pay = (1 - deterrent.collusion) * cheat.pay;
  return with({"lazy cheating needs p >",
               cheat.paid_unaudited ? needed(saved, at_stake(deterrent) + pay)
                                    : needed(saved - pay, at_stake(deterrent)),
               cheat.paid_unaudited ? "(c - c') / ((1 - alpha) (S + E + r))"
                                    : "(c - c' - (1 - alpha) r) / ((1 - alpha) (S + E))",
               "after Belenkiy et al. 2008", terms_of(deterrent)},
              {{"c", cheat.step_cost, "cost of an honest step"},
               {"c'", cheat.cheat_cost, "cost of the cheated step"},
               {"r", cheat.pay, "pay of the step"}});
}

Result<void> Malice::validity() const {
  return first_out_of_range({{"steps", steps, 1, kStepsMax},
                             {"step_cost", step_cost, 0, kUnitsMax},
                             {"absorbed_cost", absorbed_cost, 0, kUnitsMax},
                             {"bribe", bribe, 0, kUnitsMax}});
}

bool malice_deterred(const Malice& malice, const Deterrent& deterrent, double probability) {
  const double gain = malice.steps * (malice.step_cost - malice.absorbed_cost) + malice.bribe;
  return gain < 0 || probability * at_stake(deterrent) > gain;
}

Figure malice_probability(const Malice& malice, const Deterrent& deterrent) {
  const double gain = malice.steps * (malice.step_cost - malice.absorbed_cost) + malice.bribe;
  return with(
      {"malice needs p >", needed(gain, at_stake(deterrent)),
       "(n (c - c'') + v) / ((1 - alpha) (S + E))", "docs/verification.md", terms_of(deterrent)},
      {{"n", malice.steps, "steps of the rollout"},
       {"c", malice.step_cost, "cost of an honest step"},
       {"c''", malice.absorbed_cost, "cost of a step in a cheap state"},
       {"v", malice.bribe, "what somebody outside pays for a wrong answer"}});
}

}  // namespace commensal::risk
