// SPDX-License-Identifier: Apache-2.0
// Disputes between real processes about large networks, and what they cost either side. The
// networks are those of `commensal-lab bench verify` ($COMMENSAL_TORCHVISION, or its default).
#include <signal.h>

#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <filesystem>
#include <map>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

constexpr int kWarm = 2, kMeasured = 5, kDisputes = 3, kIdleMs = 1000;
constexpr double kInferencesMax = 3.3;  // of one side's worker, for a dispute

/// Seconds of a daemon's processors.
struct Spent {
  double all_s = 0;
  double workers_s = 0;  // of these, in the processes that compute
};
Spent spent_by(const Process& daemon) {
  Spent spent{processor_s_of(daemon.pid())};
  for (const pid_t worker : children_of(daemon.pid())) spent.workers_s += processor_s_of(worker);
  return spent;
}
Spent operator-(const Spent& a, const Spent& b) {
  return {a.all_s - b.all_s, a.workers_s - b.workers_s};
}
constexpr std::size_t kBytesMax = std::size_t{1} << 20;

tensor::NamedTensors large_picture(std::uint64_t i) {
  constexpr std::int64_t kSide = 224;
  std::vector<float> pixels;
  for (std::uint64_t k = 0; k < std::uint64_t{3} * kSide * kSide; ++k) {
    pixels.push_back(core::counter_symmetric_f32(5, i, k));
  }
  return {{"input", tensor::Tensor::of<float>({1, 3, kSide, kSide}, pixels)}};
}

tensor::NamedTensors words(std::uint64_t i) {
  constexpr std::size_t kLength = 128;
  std::vector<std::int64_t> ids;
  for (std::uint64_t k = 0; k < kLength; ++k) {
    ids.push_back(static_cast<std::int64_t>((i * 31 + k * 17) % 997));
  }
  const std::vector<std::int64_t> mask(kLength, 1), kinds(kLength, 0);
  const auto tensor = [](const std::vector<std::int64_t>& values) {
    return tensor::Tensor::of<std::int64_t>({1, kLength}, values);
  };
  return {{"ids", tensor(ids)}, {"mask", tensor(mask)}, {"kinds", tensor(kinds)}};
}

const Network& network(const std::string& name) {
  static const Network kResnet{"resnet50", torchvision_file("resnet50"), large_picture};
  static const Network kEncoder{"bert_l4_h256", torchvision_file("bert_l4_h256"), words};
  return name == kResnet.name ? kResnet : kEncoder;
}

class DisputeNetworks : public Disputes, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(network(GetParam()).file)) {
      GTEST_SKIP() << "there is no " << network(GetParam()).file;
    }
  }
  std::unique_ptr<Process> start_honest() {
    auto honest =
        start_provider("honest", {"--stake", kStake, "--pay-min", "0", "--hash-chain-depth", "14"});
    fund_stake();
    return honest;
  }
  /// What a daemon's processors do for one answer, or for one audited answer of the gateway's.
  struct Price {
    double warm_s = 0;
    double workers_s = 0;  // of these, in its worker
    double cold_s = 0;     // by a worker that has to load the model first
    double idle = 0;       // processor time of the daemon where nobody asks, per second
  };
  /// Of the provider's daemon, and of the gateway's; their workers are fresh ones then.
  std::pair<Price, Price> prices(client::Client& client, const Process& daemon, bool is_audited) {
    const auto ask_at = [&](std::uint64_t i) {
      const auto given = answer(client, network(GetParam()), 100 + i);
      if (is_audited) wait_for_match(client, given.receipt);
    };
    const auto now = [&] { return std::pair(spent_by(daemon), spent_by(*gateway_)); };
    const core::SystemClock clock;
    for (std::uint64_t i = 0; i < kWarm; ++i) ask_at(i);
    const auto before = now();
    const std::int64_t begin_ns = clock.monotonic_ns();
    for (std::uint64_t i = 0; i < kMeasured; ++i) ask_at(kWarm + i);
    const auto after = now();
    const double warm_s = 1e-9 * static_cast<double>(clock.monotonic_ns() - begin_ns);
    for (const pid_t parent : {daemon.pid(), gateway_->pid()}) {
      for (const pid_t worker : children_of(parent)) ::kill(worker, SIGKILL);
    }
    pause_ms(500);
    const auto cold = now();
    ask_at(kWarm + kMeasured);
    const auto end = now();
    pause_ms(kIdleMs);
    const auto idle = now();
    const auto price = [&](const Spent& warm, const Spent& first, const Spent& rest) {
      const double idle_rate = rest.all_s * 1000 / kIdleMs;
      return Price{(warm.all_s - warm_s * idle_rate) / kMeasured, warm.workers_s / kMeasured,
                   first.all_s, idle_rate};
    };
    return {
        price(after.first - before.first, end.first - cold.first, idle.first - end.first),
        price(after.second - before.second, end.second - cold.second, idle.second - end.second)};
  }
  /// A worker of its own loads the model for a dispute: what that takes is told apart. What the
  /// daemon does besides (it draws a round every 50 ms) is none of its cost.
  void say(const char* who, Spent spent, double wall_s, const Price& price,
           const Journal::Side& side) {
    spent.all_s -= wall_s * price.idle;
    const double all = spent.all_s / price.warm_s, workers = spent.workers_s / price.warm_s;
    const double load = (price.cold_s - price.warm_s) / price.warm_s;
    std::printf(
        "%s, %s: %.2f s, %.2f inferences of %.3f s, %.2f of them in workers; to load the model "
        "takes %.2f; %.1f s passed, of which %.1f %% go to an idle daemon; %zu moves, %zu bytes\n",
        GetParam().c_str(), who, spent.all_s, all, price.warm_s, workers, load, wall_s,
        price.idle * 100, side.moves, side.bytes);
    std::fflush(stdout);
    inferences_[who].push_back(all);
    workers_[who].push_back(workers);
    RecordProperty(std::string(who) + "_load_inferences", std::to_string(load));
    RecordProperty(std::string(who) + "_bytes", std::to_string(side.bytes));
    EXPECT_LE(side.bytes, kBytesMax) << who;
  }
  /// The first dispute of a worker, and the later ones.
  void expect_cheap(const std::string& who) {
    const auto median = [](std::vector<double> all) {
      std::ranges::sort(all);
      return all[all.size() / 2];
    };
    const double all = median(inferences_.at(who)), workers = median(workers_.at(who));
    const double first = inferences_.at(who)[0], first_workers = workers_.at(who)[0];
    std::printf(
        "%s, %s: the first %.2f inferences, %.2f in workers; the medians of %d %.2f, %.2f\n",
        GetParam().c_str(), who.c_str(), first, first_workers, kDisputes, all, workers);
    RecordProperty(who + "_inferences", std::to_string(all));
    RecordProperty(who + "_first_inferences", std::to_string(first));
    EXPECT_LE(workers, kInferencesMax);
    EXPECT_LE(first_workers, kInferencesMax);
  }
  /// By the gateway that is there. Returns how many moves it took.
  std::size_t convict(std::uint64_t i, const Price& audited, const Price& cheats) {
    const auto cheat = start_cheat(fmt::format("cheat-{}", i));
    fund_stake();
    auto client = connect();
    journal_->begin_anew();
    const Spent gateway = spent_by(*gateway_), own = spent_by(*cheat);
    const core::SystemClock clock;
    const std::int64_t begin_ns = clock.monotonic_ns();
    // Whose answer came late may be accused before it has come.
    for (int tries = 0; tries < 200 && journal_->accusations == 0; ++tries) {
      const Network& given = network(GetParam());
      if (client.infer("operator/" + given.name, 0, given.inputs(1 + i))) break;
      pause_ms(50);
      journal_->read();
    }
    play({}, 0, 0, {});
    const double wall_s = 1e-9 * static_cast<double>(clock.monotonic_ns() - begin_ns);
    // Without the answer itself, and its audit; the cheat has loaded the model besides.
    say("gateway", spent_by(*gateway_) - gateway - Spent{audited.warm_s, audited.workers_s}, wall_s,
        audited, journal_->accuser);
    say("cheat", spent_by(*cheat) - own - Spent{cheats.warm_s, cheats.workers_s}, wall_s, cheats,
        journal_->accused);
    expect_convicted();
    return journal_->moves();
  }
  /// Where nobody is paid or audited.
  Price cheats_price() {
    const Network& given = network(GetParam());
    data_ = "free";
    start_gateway({"--audit-probability", "0", "--no-audit-by-risk"});
    const auto cheat = start_cheat("free-cheat", "0");
    auto client = connect();
    const core::Bytes model = *core::read_file(given.file);
    client::PushRequest request;
    request.model = "operator/" + given.name;
    request.bytes = model;
    EXPECT_TRUE(client.push(request).has_value());
    return prices(client, *cheat, false).first;
  }

  std::map<std::string, std::vector<double>> inferences_, workers_;  // by who played, in order
};

TEST_P(DisputeNetworks, ACheatIsConvictedWhateverIsKilled) {
  const Network& given = network(GetParam());
  const Price cheats = cheats_price();
  open_court(given);
  Price audited;
  {
    const auto honest = start_honest();
    auto client = connect();
    audited = prices(client, *honest, true).second;
  }
  std::size_t moves = 0;
  for (std::uint64_t i = 0; i < kDisputes; ++i) moves = convict(i, audited, cheats);
  expect_cheap("gateway");
  verify_ledger();

  // Again, from a new gateway, with kills of either side.
  open_court(given, "again");
  auto cheat = start_cheat("second-cheat");
  fund_stake();
  auto second = connect();
  answer(second, given, 1);
  const auto kills = play(std::array{Victim::kGateway, Victim::kAccused}, 1,
                          std::max<std::size_t>(moves / 8, 1), [&] {
                            cheat->kill();
                            cheat = start_cheat("second-cheat");
                          });
  std::printf("%s: killed after", GetParam().c_str());
  for (const std::size_t at : kills) std::printf(" %zu", at);
  std::printf(" of %zu moves\n", journal_->moves());
  EXPECT_GE(kills.size(), 4);
  expect_convicted();
  verify_ledger();
}

TEST_P(DisputeNetworks, WhoIsFramedKeepsItsStake) {
  const Network& given = network(GetParam());
  open_court(given);
  const auto honest = start_honest();
  auto client = connect();
  const Price price = prices(client, *honest, true).first;
  for (std::uint8_t i = 0; i < kDisputes; ++i) {
    const client::Answer right = answer(client, given, 1 + i);
    wait_for_match(client, right.receipt);
    const auto liar =
        *crypto::SecretKey::from_bytes(core::Digest{static_cast<std::uint8_t>(77 + i)});
    ask({"account", "deposit", crypto::to_text(liar.address()), "100", "--yes"});
    journal_->begin_anew();
    const Spent before = spent_by(*honest);
    const core::SystemClock clock;
    const std::int64_t begin_ns = clock.monotonic_ns();
    frame(client, liar, given, right.receipt);
    const double wall_s = 1e-9 * static_cast<double>(clock.monotonic_ns() - begin_ns);
    say("provider", spent_by(*honest) - before, wall_s, price, journal_->accused);
    EXPECT_EQ(balance(address_, "stake"), kStake);
    EXPECT_EQ(balance(crypto::to_text(liar.address()), "available"), "0");
  }
  expect_cheap("provider");
  wait_for_match(client, answer(client, given, 1 + kDisputes).receipt);
  verify_ledger();
}

INSTANTIATE_TEST_SUITE_P(Of, DisputeNetworks, ::testing::Values("resnet50", "bert_l4_h256"),
                         [](const auto& given) { return given.param; });

}  // namespace
}  // namespace commensal::e2e
