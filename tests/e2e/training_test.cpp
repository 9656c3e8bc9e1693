// SPDX-License-Identifier: Apache-2.0
// Trainings at real providers through a gateway: honest ones end in the bits of `commensal train`
// on one machine; every lie is caught and proved, and the training goes back and on.
#include <gmock/gmock.h>

#include <commensal/compute/train/testing/small_training.hpp>

#include <tests/e2e/disputes.hpp>

namespace commensal::e2e {
namespace {

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

  const SmallTraining training_{
      "steps: 24\noptimiser: {kind: momentum, rate: 0.02, momentum: 0.9, decay: 0.001}\n"};
};

TEST_F(Trainings, EveryLieIsProvedAndTheTrainingGoesBackAndOn) {
  const std::string expected = local_weights();
  std::unique_ptr<Process> training;
  std::vector<std::unique_ptr<Process>> cheats;
  for (const char* const lie : {"wrong-step", "skipped-step", "other-rate", "other-data"}) {
    SCOPED_TRACE(lie);
    journal_->begin_anew();
    cheats.push_back(
        start_cheat(lie, kStake, {"--lie", lie, "--lie-from", "2", "--lie-rate", "0.02"}));
    fund_stake();
    if (!training)
      training = std::make_unique<Process>(at_the_gateway(), folder_.at("training.log"));
    // It was right about the first of its segments, which is kept.
    const std::string line = line_of(*training, "back to step");
    EXPECT_THAT(line,
                HasSubstr(fmt::format("back to step {:>3}  {}: ", 4 * cheats.size(), address_)));
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

TEST_F(Trainings, GoOnAfterASignalToTheirConsumer) {
  training_.write_plan("steps: 400\noptimiser: {kind: momentum, rate: 0.02}\n");
  const std::string expected = local_weights();
  const auto honest = start_honest();
  {
    Process stopped(at_the_gateway(), folder_.at("stopped.log"));
    EXPECT_NE(line_of(stopped, "step "), "");
    stopped.signal(SIGTERM);
    EXPECT_EQ(stopped.wait(), 1);
    const auto log = core::read_file(folder_.at("stopped.log"));
    ASSERT_TRUE(log);
    EXPECT_THAT(
        std::string(core::as_text(*log)),
        HasSubstr("of 400: the gateway has its state, the same command goes on from there"));
  }
  int status = -1;
  const std::string said = run(at_the_gateway(), status);
  EXPECT_EQ(status, 0) << said;
  EXPECT_THAT(said, HasSubstr("weights  " + expected));
}

TEST_F(Trainings, SayWhoMayHaveTheData) {
  int status = 0;
  const std::string said =
      run(command({"--gateway", url(), "--token-file", token_file_, "--json", "--public", "--allow",
                   "0x52908400098527886E0F7030069857D2E4169EE7"}),
          status);
  EXPECT_EQ(status, 1);
  EXPECT_THAT(said, HasSubstr("expected --allow ADDRESS of each provider that may have them"));
}

}  // namespace
}  // namespace commensal::e2e
