// SPDX-License-Identifier: Apache-2.0
// Trainings at real providers through a gateway: honest ones end in the bits of `commensal train`
// on one machine; every lie is caught and proved, and the training goes back and on.
#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <commensal/compute/train/testing/small_training.hpp>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using train::testing::SmallTraining;

class Trainings : public Disputes {
 protected:
  void SetUp() override { open_court(digits()); }

  std::vector<std::string> command(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"train", training_.plan().string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> at_the_gateway() const {
    return command({"--gateway", url(), "--token-file", token_file_, "--segment", "4",
                    "--audit-probability", "1", "--public"});
  }
  std::string local_weights() const {
    int status = -1;
    const std::string said = run(command({"--json"}), status);
    EXPECT_EQ(status, 0);
    return Json::parse(said.substr(said.rfind("{\"steps\""))).at("weights");
  }
  std::unique_ptr<Process> start_honest() {
    auto honest =
        start_provider("honest", {"--stake", kStake, "--pay-min", "0", "--hash-chain-depth", "14"});
    fund_stake();
    return honest;
  }
  /// The next line that begins so; what comes before it is read over.
  static std::string line_of(Process& process, const std::string& beginning) {
    for (;;) {
      std::string line = process.read_line();
      if (line.empty() || line.starts_with(beginning)) return line;
    }
  }

  /// What its log has when it says what it waits for.
  std::string waiting_of(Process& process, const std::string& name) {
    EXPECT_NE(process.read_line(), "");
    std::string log;
    for (int tries = 0; tries < 1200 && log.find("waiting: ") == std::string::npos; ++tries) {
      pause_ms(50);
      const auto read = core::read_file(folder_.at(name));
      if (read) log = core::as_text(*read);
    }
    return log;
  }

  const SmallTraining training_{
      "steps: 32\noptimiser: {kind: momentum, rate: 0.02, momentum: 0.9, decay: 0.001}\n"};
};

TEST_F(Trainings, EveryLieIsProvedAndTheTrainingGoesBackAndOn) {
  const std::string expected = local_weights();
  std::unique_ptr<Process> training;
  std::vector<std::unique_ptr<Process>> cheats;
  for (const char* const lie :
       {"wrong-step", "skipped-step", "other-rate", "other-data", "nan-loss", "other-count"}) {
    SCOPED_TRACE(lie);
    journal_->begin_anew();
    cheats.push_back(
        start_cheat(lie, kStake, {"--lie", lie, "--lie-from", "2", "--lie-rate", "0.02"}));
    fund_stake();
    if (!training)
      training = std::make_unique<Process>(at_the_gateway(), folder_.at("training.log"));
    // It was right about the first of its segments, which is kept.
    const std::string line = line_of(*training, "on from step");
    EXPECT_THAT(line, HasSubstr(fmt::format("on from step {:>3}  without {}: ", 4 * cheats.size(),
                                            address_)));
    play({}, 0, 0, {});
    expect_convicted();
  }
  const auto honest = start_honest();
  EXPECT_EQ(line_of(*training, "weights"), "weights  " + expected);
  EXPECT_EQ(training->wait(), 0);
  EXPECT_EQ(balance(address_, "stake"), kStake);
  verify_ledger();
}

TEST_F(Trainings, GoOnThoughTheirConsumerAndTheirGatewayAreKilled) {
  const std::string expected = local_weights();
  const auto honest = start_honest();
  {
    Process killed(at_the_gateway(), folder_.at("training.log"));
    EXPECT_NE(line_of(killed, "step "), "");
  }
  gateway_->kill();
  restart_gateway();
  int status = -1;
  const std::string trained = folder_.at("trained.onnx");
  std::vector<std::string> again = at_the_gateway();
  again.insert(again.end(), {"--export", trained});
  const std::string said = run(again, status);
  EXPECT_EQ(status, 0) << said;
  EXPECT_THAT(said, HasSubstr("weights  " + expected));
  EXPECT_TRUE(std::filesystem::exists(trained));
  verify_ledger();
}

TEST_F(Trainings, AreKeptEvaluatedAndToldAsLocalOnes) {
  const auto plan = [&](const std::string& kept) {
    training_.write_plan(
        "steps: 32\noptimiser: {kind: momentum, rate: 0.02}\n"
        "evaluate: {data: {x: x.npy, target: y.npy}, every: 8}\n"
        "checkpoint: {file: " +
        kept + ", every: 8}\n");
  };
  const auto lines_of = [&](const std::vector<std::string>& words) {
    int status = -1;
    const std::string said = run(words, status);
    EXPECT_EQ(status, 0) << said;
    std::vector<Json> found;
    for (const std::string& line : CLI::detail::split(said, '\n')) {
      Json made = Json::parse(line, nullptr, false);
      if (!made.is_object() || (!made.contains("step") && !made.contains("weights"))) continue;
      for (const char* const own : {"steps_per_s", "segments", "audited"}) made.erase(own);
      found.push_back(std::move(made));
    }
    return found;
  };
  plan("here.ckpt");
  const auto expected = lines_of(command({"--json"}));
  EXPECT_EQ(expected.size(), 32u + 5u + 1u);
  plan("there.ckpt");
  const auto honest = start_honest();
  std::vector<std::string> words = at_the_gateway();
  words.insert(words.end(), {"--json", "--tensorboard", folder_.at("events")});
  EXPECT_EQ(lines_of(words), expected);
  EXPECT_EQ(*core::read_file(training_.file("there.ckpt")),
            *core::read_file(training_.file("here.ckpt")));
  EXPECT_FALSE(std::filesystem::is_empty(folder_.at("events")));
}

TEST_F(Trainings, GoOnFromACheckpointInTheRolloutThatTheyHave) {
  const char* const how = "steps: 400\noptimiser: {kind: momentum, rate: 0.02}\n";
  training_.write_plan(how);
  const std::string expected = local_weights();
  training_.write_plan(std::string(how) + "checkpoint: {file: kept, every: 4}\n");
  const auto honest = start_honest();
  std::string rollout;
  {
    Process stopped(at_the_gateway(), folder_.at("stopped.log"));
    rollout = line_of(stopped, "rollout ");
    EXPECT_NE(line_of(stopped, "step "), "");
    stopped.kill();
  }
  EXPECT_TRUE(std::filesystem::exists(training_.file("kept")));
  int status = -1;
  const std::string said = run(at_the_gateway(), status);
  EXPECT_EQ(status, 0) << said;
  EXPECT_NE(rollout, "");
  EXPECT_THAT(said, HasSubstr(rollout));
  EXPECT_THAT(said, HasSubstr("weights  " + expected));
  EXPECT_THAT(said, HasSubstr("audited  100 of 100 segments"));
}

// And 402 steps leave two behind 100 segments of four.
TEST_F(Trainings, AreCancelledByASignalAndGoOnInAnotherRollout) {
  training_.write_plan("steps: 402\noptimiser: {kind: momentum, rate: 0.02}\n");
  const std::string expected = local_weights();
  const auto honest = start_honest();
  std::string rollout;
  {
    Process stopped(at_the_gateway(), folder_.at("stopped.log"));
    rollout = line_of(stopped, "rollout ").substr(8, 64);
    EXPECT_NE(line_of(stopped, "step "), "");
    stopped.signal(SIGTERM);
    EXPECT_EQ(stopped.wait(), 1);
    const auto log = core::read_file(folder_.at("stopped.log"));
    ASSERT_TRUE(log);
    EXPECT_THAT(
        std::string(core::as_text(*log)),
        HasSubstr("of 402: the gateway has its state, the same command goes on from there"));
  }
  client::Client client = connect();
  const auto id = core::digest_from_hex(rollout);
  ASSERT_TRUE(id) << rollout;
  const auto cancelled = client.rollout(*id);
  ASSERT_TRUE(cancelled) << cancelled.error().message;
  EXPECT_EQ(cancelled->state, "cancelled");
  EXPECT_GE(cancelled->steps_done, 1u);
  EXPECT_LT(cancelled->steps_done, 100u);
  int status = -1;
  const std::string said = run(at_the_gateway(), status);
  EXPECT_EQ(status, 0) << said;
  EXPECT_THAT(said, HasSubstr(rollout));  // what was made of it is there
  EXPECT_THAT(said, HasSubstr("weights  " + expected));
  EXPECT_THAT(said, HasSubstr("audited  101 of 101 segments"));
  EXPECT_LE(client.rollout(*id)->steps_done, cancelled->steps_done + 1);
  verify_ledger();
}

TEST_F(Trainings, KeepHowFarAuditsHaveConfirmedThem) {
  audits_ = {"--price", "1200", "--win-probability", "0.01", "--audit-probability", "0.05"};
  open_court(digits(), "seldom");
  training_.write_plan(
      "steps: 32\noptimiser: {kind: momentum, rate: 0.02}\ncheckpoint: {file: kept}\n");
  const auto honest = start_honest();
  const std::string trained = folder_.at("trained.onnx");
  const auto train = [&](const std::string& audits, int expected) {
    int status = -1;
    const std::string said =
        run(command({"--gateway", url(), "--token-file", token_file_, "--segment", "1", "--public",
                     "--audit-probability", audits, "--export", trained, "--json"}),
            status);
    EXPECT_EQ(status, expected) << said;
    return said;
  };
  train("0", 0);
  EXPECT_TRUE(std::filesystem::remove(trained));
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(train("1", 1), HasSubstr("no audit has confirmed its steps"));
    EXPECT_FALSE(std::filesystem::exists(trained));
  }
  EXPECT_TRUE(std::filesystem::remove(training_.file("kept")));
  const std::string said = train("1", 0);
  EXPECT_EQ(Json::parse(said.substr(said.rfind("{\"steps\""))).at("audited"), 32);
  EXPECT_TRUE(std::filesystem::exists(trained));
}

// The fault: the sum began anew with the two steps that are left, and each time the command ran.
TEST_F(Trainings, SayWhatTheyCostAsAWhole) {
  training_.write_plan("steps: 10\noptimiser: {kind: momentum, rate: 0.02}\n");
  const auto honest = start_honest();
  const auto costs = [&] {
    int status = -1;
    const std::string said = run(at_the_gateway(), status), before = " left  ";
    EXPECT_EQ(status, 0) << said;
    std::vector<std::string> found;
    for (const std::string& line : CLI::detail::split(said, '\n')) {
      const std::size_t begin = line.find(before), end = line.find("  by ");
      if (!line.starts_with("step ") || begin == std::string::npos) continue;
      found.push_back(line.substr(begin + before.size(), end - begin - before.size()));
    }
    return found;
  };
  EXPECT_THAT(costs(), ElementsAre("cost 52000", "cost 104000", "cost 156000"));
  EXPECT_THAT(costs(), ElementsAre("paid before", "paid before", "paid before"));
}

// The fault: it was said of who is away that it has shown no hash chain, and of a training that had
// not begun that the gateway has its state.
TEST_F(Trainings, SayThatNobodyIsThereAndThatNothingWasMade) {
  {
    const auto honest = start_honest();
    int status = -1;
    run(at_the_gateway(), status);
    EXPECT_EQ(status, 0);
  }
  gateway_->kill();
  restart_gateway();
  training_.write_plan("steps: 36\noptimiser: {kind: momentum, rate: 0.02}\n");
  Process training(at_the_gateway(), folder_.at("waiting.log"));
  const std::string log = waiting_of(training, "waiting.log");
  EXPECT_THAT(log, AnyOf(HasSubstr("has not come back yet"), HasSubstr("is not connected")));
  training.signal(SIGINT);
  EXPECT_EQ(training.wait(), 1);
  const auto after = core::read_file(folder_.at("waiting.log"));
  ASSERT_TRUE(after);
  EXPECT_THAT(std::string(core::as_text(*after)),
              HasSubstr("stopped before step 1 of 36: no rollout has begun, nothing was made yet"));
}

TEST_F(Trainings, ThatDivergeSaySoAsLocalOnesDo) {
  training_.write_plan("steps: 32\noptimiser: {kind: sgd, rate: 1e6}\n");
  int status = 0;
  const auto last_error = [&](std::vector<std::string> words) {
    words.emplace_back("--json");
    const std::string said = run(words, status);
    EXPECT_EQ(status, 1) << said;
    const std::size_t at = said.rfind("\"message\"");
    return at == std::string::npos ? said : said.substr(at);
  };
  const std::string expected = last_error(command());
  EXPECT_THAT(expected, HasSubstr("try a smaller rate"));
  const auto honest = start_honest();
  EXPECT_EQ(last_error(at_the_gateway()), expected);
  EXPECT_EQ(last_error(at_the_gateway()), expected);
}

TEST_F(Trainings, GoToThoseWhoAreNamedNow) {
  const auto honest = start_honest();
  const auto allowing = [&](const std::string& provider, const std::string& name) {
    return command({"--gateway", url(), "--token-file", token_file_, "--segment", "4", "--model",
                    name, "--allow", provider});
  };
  {
    Process nobody(allowing("0x52908400098527886E0F7030069857D2E4169EE7", "one"),
                   folder_.at("nobody.log"));
    const std::string log = waiting_of(nobody, "nobody.log");
    EXPECT_THAT(log, HasSubstr("allow"));
  }
  int status = -1;
  std::string said = run(allowing(address_, "one"), status);
  EXPECT_EQ(status, 0) << said;
  // The same under another name, then with other audits, is another training.
  said = run(allowing(address_, "two"), status);
  EXPECT_EQ(status, 0) << said;
  auto words = allowing(address_, "two");
  words.insert(words.end(), {"--audit-probability", "1"});
  said = run(words, status);
  EXPECT_EQ(status, 0) << said;
  EXPECT_THAT(said, HasSubstr("audited  8 of 8 segments"));
  said = run(at_the_gateway(), status);
  EXPECT_EQ(status, 0) << said;
  words = command({"--gateway", url(), "--token-file", token_file_, "--segment", "4", "--allow",
                   address_, "--json"});
  said = run(words, status);
  EXPECT_EQ(status, 1) << said;
  EXPECT_THAT(said, HasSubstr("is public: --allow keeps them from nobody"));
}

// A lie about a rate that is not known would be none, or end in the daemon's log alone.
TEST_F(Trainings, AreLiedAboutByWhoKnowsTheirRate) {
  for (const char* const rate : {"0", "-1", "nan"}) {
    int status = 0;
    const std::string said = run({"cheat", "--lie", "other-rate", "--lie-rate", rate, "--json"},
                                 status, COMMENSAL_LAB_PROGRAM);
    EXPECT_EQ(status, 1);
    EXPECT_THAT(said, HasSubstr("--lie-rate, above 0")) << rate;
  }
}

TEST_F(Trainings, SayWhoMayHaveTheData) {
  const auto refusal = [&](std::vector<std::string> more) {
    more.emplace_back("--json");
    int status = 0;
    const std::string said = run(command(more), status);
    EXPECT_EQ(status, 1);
    return said;
  };
  EXPECT_THAT(refusal({"--public", "--allow", "0x52908400098527886E0F7030069857D2E4169EE7"}),
              HasSubstr("--public admits everybody, --allow those it names: expected one of them"));
  for (const std::vector<std::string>& half : {std::vector<std::string>{"--gateway", url()},
                                               {"--segment", "4"},
                                               {"--model", "one"},
                                               {"--audit-probability", "1"}}) {
    EXPECT_THAT(refusal(half),
                HasSubstr("expected --allow ADDRESS of each provider that may have them"));
  }
}

}  // namespace
}  // namespace commensal::e2e
