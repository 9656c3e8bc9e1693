// SPDX-License-Identifier: Apache-2.0
// Providers of rollouts that would rather not compute every step.
#include <cmath>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/rollout_engines.hpp>
#include <commensal/lab/serial/local_rollout.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/verify/noise/noise.hpp>

namespace commensal::attack {
namespace {

using protocol::Amount;

constexpr std::uint64_t kSteps = 40;
constexpr double kWin = 0.1;  // and only winners are audited, besides step 1
constexpr int kNoiseExponent = 16;
constexpr double kFace = price::kPay / kWin;

double caught_within(double steps) { return 1 - std::pow(1 - kWin, steps); }

/// What a rollout's provider and client share before step 1.
struct Setting {
  bool noise = true;
  protocol::StateRule states = protocol::StateRule::kMovable;
};

serial::RolloutOptions options_of(Models& models, const Setting& setting, core::Rng& rng) {
  serial::RolloutOptions options;
  options.graph = models.letters_graph();
  options.feeds = Models::letters_feeds();
  options.inputs = Models::letters_inputs();
  options.steps = kSteps;
  if (setting.noise) options.noise_exponent = kNoiseExponent;
  options.states = setting.states;
  options.audit_probability = 0;
  options.face_value = Amount(static_cast<std::uint64_t>(kFace));
  options.win_probability = kWin;
  options.steps_per_round = kSteps;  // nothing is drawn before the last step is delivered
  options.secret = rng.next_digest();
  options.stops_at_mismatch = false;
  return options;
}

/// By hand, as no ledger is here: all of the stake, of who has no long record
/// (trade/pay/ledger/punish.cpp; `pardon-waiting` and others play that on the ledger itself).
double punishment(std::size_t mismatches) {
  return mismatches == 0 ? 0 : static_cast<double>(price::kStake);
}

/// A whole rollout by this engine, its tickets drawn, winners and step 1 audited.
Result<Trial> play(Models& models, const Setting& setting, std::uint64_t seed,
                   RolloutEngine& engine, bool is_honest) {
  core::CounterRng rng(seed);
  store::MemoryStore client, provider;
  core::ManualClock clock;
  serial::RolloutOptions options = options_of(models, setting, rng);
  options.engine = &engine;
  COMMENSAL_ASSIGN(const auto local,
                   serial::LocalRollout::open({client, provider, clock, rng}, options));
  COMMENSAL_ASSIGN(const auto report, local->run([](const serial::RolloutReport&) {}));
  Trial trial;
  trial.caught = !report.caught.empty();
  const double paid = ticket::to_double(report.tickets.value_paid);
  const double taken = punishment(report.caught.size());
  trial.profit = paid - taken - engine.cost();
  trial.bad = static_cast<double>(engine.bad());
  // Every winner was audited: what was paid beside the right ones.
  const std::uint64_t right =
      report.tickets.won - std::min<std::uint64_t>(report.tickets.won, report.caught.size());
  trial.bad_paid = static_cast<double>(report.tickets.paid - std::min(right, report.tickets.paid));
  trial.others = price::kWorth * static_cast<double>(kSteps - engine.bad()) - paid + taken / 2;
  trial.accused = is_honest ? report.caught.size() : 0;
  return trial;
}

Result<Trial> honest(Models& models, std::uint64_t seed) {
  HonestEngine engine(models);
  return play(models, {}, seed, engine, true);
}

// What was computed once, without noise, is handed out again.
Result<Trial> memoised(Models& models, Arm arm, std::uint64_t seed) {
  if (arm == Arm::kHonest) return honest(models, seed);
  COMMENSAL_ASSIGN(MemoEngine engine, MemoEngine::from_inputs(models, kSteps));
  return play(models, {.noise = arm == Arm::kDefended, .states = protocol::StateRule::kFinite},
              seed, engine, false);
}

// One false step into a state from which everything is known.
template <MemoEngine::Target kTarget>
Result<Trial> teleported(Models& models, Arm arm, std::uint64_t seed) {
  if (arm == Arm::kHonest) return honest(models, seed);
  COMMENSAL_ASSIGN(MemoEngine engine, MemoEngine::into(models, kTarget, kSteps));
  return play(models, {.noise = arm == Arm::kDefended, .states = protocol::StateRule::kFinite},
              seed, engine, false);
}

// A state that swallows noise, so that the rest of the rollout is free.
Result<Trial> teleported_to_nan(Models& models, Arm arm, std::uint64_t seed) {
  if (arm == Arm::kHonest) return honest(models, seed);
  COMMENSAL_ASSIGN(MemoEngine engine,
                   MemoEngine::into(models, MemoEngine::Target::kNotANumber, kSteps));
  if (arm == Arm::kOpen) {
    return play(models, {.noise = true, .states = protocol::StateRule::kAny}, seed, engine, false);
  }
  // An honest provider's own side would not commit to such a state: the client is shown it anyway.
  return play_past_provider(models, engine, kSteps, kNoiseExponent, seed);
}

// X_i = T - N_i, so that F(X_i + N_i) = F(T) was computed long ago.
Result<Trial> chosen_inputs(Models& models, Arm arm, std::uint64_t seed) {
  if (arm == Arm::kHonest) return honest(models, seed);
  if (arm == Arm::kOpen) return play_naive(models, kSteps, kWin, kFace, kNoiseExponent, seed);
  COMMENSAL_ASSIGN(MemoEngine engine, MemoEngine::always(models, MemoEngine::Target::kZeros));
  return play(models, {}, seed, engine, false);
}

constexpr std::string_view kCaught = "an audit of a winner, or of step 1, found other bits";
constexpr std::string_view kNoise =
    "noise on each step's state, from a seed that is shown when the step begins";
constexpr std::string_view kNoNoise = "rollouts without noise";

const Attack kTable[] = {
    {"memoised", "hands out what it computed once for the same request", kNoise, kNoNoise, kCaught,
     Place::kDesign, "1 - (1 - p)^(n-1), p 0.1, n 40", caught_within(kSteps - 1), memoised},
    {"chosen-inputs", "picks its inputs so that input + noise is one it knows the answer of",
     "only states are committed to: step i begins where step i-1 ended",
     "the naive protocol: the provider commits to X_i too", kCaught, Place::kDesign,
     "1 - (1 - p)^(n-1), p 0.1, n 40", caught_within(kSteps - 1), chosen_inputs},
    {"teleport-zeros", "one false step into zeros, then steps that it knows by heart", kNoise,
     kNoNoise, kCaught, Place::kDesign, "1 - (1 - p)^(n-1), p 0.1, n 40", caught_within(kSteps - 1),
     teleported<MemoEngine::Target::kZeros>},
    {"teleport-constant", "likewise, into a constant", kNoise, kNoNoise, kCaught, Place::kDesign,
     "1 - (1 - p)^(n-1), p 0.1, n 40", caught_within(kSteps - 1),
     teleported<MemoEngine::Target::kConstant>},
    {"teleport-nan", "one false step into NaN, which swallows the noise",
     "the job forbids states that noise cannot move; the client refuses them",
     "a job that allows any state", "the client refused the state", Place::kRooms, "1", 1,
     teleported_to_nan},
};

}  // namespace

std::span<const Attack> rollout_attacks() { return kTable; }

}  // namespace commensal::attack
