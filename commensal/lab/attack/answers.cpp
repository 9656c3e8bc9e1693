// SPDX-License-Identifier: Apache-2.0
// Providers that answer something else than the model does.
#include <cmath>
#include <commensal/lab/attack/families.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/stand.hpp>

namespace commensal::attack {
namespace {

constexpr std::size_t kAnswers = 16;
constexpr double kWin = 0.25;
constexpr double kFraction = 0.5;  // of the answers that are made up

double caught_within(double chance) {
  return 1 - std::pow(1 - chance, static_cast<double>(kAnswers));
}

/// All answers of one round; winners are audited or, in the control, paid unseen.
Result<Trial> play(Models& models, Arm arm, std::uint64_t seed,
                   const std::function<Result<Made>(Stand&, const tensor::NamedTensors&)>& cheat) {
  COMMENSAL_ASSIGN(const auto stand, Stand::open(models, seed, Stand::terms(kWin)));
  Score score(*stand, {stand->provider().address}, {stand->gateway().address});
  const Maker maker = [&](std::size_t, const tensor::NamedTensors& input) -> Result<Made> {
    return arm == Arm::kHonest ? stand->honest(input) : cheat(*stand, input);
  };
  COMMENSAL_ASSIGN(auto works,
                   stand->serve(stand->gateway(), stand->provider(), kAnswers, maker, score.cost));
  COMMENSAL_TRY(stand->draw(works));
  COMMENSAL_ASSIGN(const std::size_t wrong, stand->settle(works, arm != Arm::kOpen));
  Trial trial = score.finish(works);
  trial.caught = wrong > 0;
  trial.accused = arm == Arm::kHonest ? wrong : 0;
  return trial;
}

Result<Trial> garbage(Models& models, Arm arm, std::uint64_t seed) {
  return play(models, arm, seed, [](Stand& stand, const tensor::NamedTensors& input) {
    return stand.rng().next_unit() < kFraction ? stand.garbage(input) : stand.honest(input);
  });
}

template <Models::Digits kWhich>
Result<Trial> cheaper(Models& models, Arm arm, std::uint64_t seed) {
  constexpr double kCost = kWhich == Models::Digits::kBfloat16  ? price::kBfloat16
                           : kWhich == Models::Digits::kShorter ? price::kShorter
                                                                : price::kSmaller;
  return play(models, arm, seed, [](Stand& stand, const tensor::NamedTensors& input) {
    return stand.compute(kWhich, kCost, input);
  });
}

constexpr std::string_view kDefence = "every winner is run again; of another bit it is accused";
constexpr std::string_view kControl = "nobody audits: winners mature";
constexpr std::string_view kCaught = "its provider was convicted";

const Attack kTable[] = {
    {"garbage", "makes up half of its answers", kDefence, kControl, kCaught, Place::kDaemons,
     "1 - (1 - p f)^n, p 0.25, f 0.5, n 16", caught_within(kWin* kFraction), garbage},
    {"bfloat16", "computes in bfloat16", kDefence, kControl, kCaught, Place::kDaemons,
     "1 - (1 - p)^n, p 0.25, n 16", caught_within(kWin), cheaper<Models::Digits::kBfloat16>},
    {"short-mantissa", "drops 4 of 23 bits of each weight's mantissa", kDefence, kControl, kCaught,
     Place::kDaemons, "1 - (1 - p)^n, p 0.25, n 16", caught_within(kWin),
     cheaper<Models::Digits::kShorter>},
    {"smaller-model", "runs the model with half of its weights", kDefence, kControl, kCaught,
     Place::kDaemons, "1 - (1 - p)^n, p 0.25, n 16", caught_within(kWin),
     cheaper<Models::Digits::kSmaller>},
};

}  // namespace

std::span<const Attack> answer_attacks() { return kTable; }

}  // namespace commensal::attack
