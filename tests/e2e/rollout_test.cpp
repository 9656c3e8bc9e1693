// SPDX-License-Identifier: Apache-2.0
// A rollout that is killed at random moments, as its users run it.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <nlohmann/json.hpp>

#include <tests/e2e/process.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;

std::vector<std::string> rollout(const std::string& folder, const std::string& output) {
  const std::string model = std::string(COMMENSAL_SOURCE_DIR) + "/models/letters/letters.onnx";
  return {"rollout",
          model,
          "--state",
          "next=letter",
          "--state",
          "state_out=state",
          "--steps",
          "60",
          "--data-dir",
          folder,
          "--audit-probability",
          "0.1",
          "--seed",
          "11",
          output};
}

std::string run_rollout(const std::vector<std::string>& arguments, int& status) {
  return run(arguments, status, COMMENSAL_LAB_PROGRAM);
}

TEST(Rollout, GoesOnAfterKillsToTheSameState) {
  Folder folder;
  int status = 0;
  const Json whole = Json::parse(run_rollout(rollout(folder.at("whole"), "--json"), status));
  ASSERT_EQ(status, 0);
  EXPECT_EQ(whole.at("steps_done"), 60);
  EXPECT_EQ(whole.at("mismatches").size(), 0u);
  core::CounterRng rng(4);
  int kills = 0;
  for (std::string last; kills < 6; ++kills) {
    Process process(rollout(folder.at("broken"), "--stream"), folder.at("log"),
                    COMMENSAL_LAB_PROGRAM);
    const std::uint64_t lines = 1 + rng.next_u64() % 8;
    for (std::uint64_t i = 0; i < lines; ++i) last = process.read_line();
    if (last.empty()) break;
    process.kill();
  }
  EXPECT_GE(kills, 6);
  const Json broken = Json::parse(run_rollout(rollout(folder.at("broken"), "--json"), status));
  EXPECT_EQ(status, 0);
  EXPECT_GE(broken.at("resumed_after").get<int>(), 6);
  EXPECT_EQ(broken.at("final_state"), whole.at("final_state"));
  EXPECT_EQ(broken.at("job"), whole.at("job"));
  EXPECT_EQ(broken.at("tickets").at("issued"), 60);
}

// Every step of 5,000 is audited, three of them are wrong.
TEST(Rollout, SingleCheatsAreLocatedAndAdjudicated) {
  Folder folder;
  auto command = rollout(folder.at("state"), "--json");
  command[7] = "5000";
  command[11] = "1";
  for (const char* word : {"--keep-going", "--win-probability", "0", "--cheat", "17=gates",
                           "--cheat", "4242=table", "--cheat", "5000=head.weight"}) {
    command.push_back(word);
  }
  int status = 0;
  const Json report = Json::parse(run_rollout(command, status));
  EXPECT_EQ(status, 2);
  EXPECT_EQ(report.at("steps_done"), 5'000);
  EXPECT_EQ(report.at("audits"), 5'000);
  std::map<int, std::string> found, ruled;
  std::string task;
  for (const Json& wrong : report.at("mismatches")) {
    found[wrong.at("step")] = wrong.at("operator");
    const std::string last = std::exchange(task, wrong.at("opening_file"));
    const std::vector<std::string> check = {"arbiter", "check", wrong.at("verdict_file"), "--json",
                                            "--opening"};
    auto with_task = check;
    with_task.push_back(task);
    const Json ruling = Json::parse(run(with_task, status));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ruling.at("inputs"), "those of the step");
    ASSERT_EQ(ruling.at("wrong").size(), 1u);
    ruled[wrong.at("step")] = ruling.at("wrong")[0].at("side").get<std::string>() + " " +
                              ruling.at("operator").get<std::string>();
    if (last.empty()) continue;
    auto with_another = check;
    with_another.push_back(last);
    run(with_another, status);
    EXPECT_NE(status, 0);
  }
  EXPECT_EQ(found, (std::map<int, std::string>{
                       {17, "/MatMul"}, {4242, "/Gather"}, {5'000, "/head/Gemm"}}));
  EXPECT_EQ(ruled,
            (std::map<int, std::string>{
                {17, "provider MatMul"}, {4242, "provider Gather"}, {5'000, "provider Gemm"}}));
}

TEST(Rollout, ScalesAreCalibratedForTheModelsOfThisRepository) {
  const std::string models = std::string(COMMENSAL_SOURCE_DIR) + "/models/";
  int status = 0;
  const Json digits = Json::parse(run(
      {"calibrate", models + "digits/digits.onnx", "--data", models + "digits/held_out_images.npy",
       "--labels", models + "digits/held_out_labels.npy", "--json"},
      status));
  ASSERT_EQ(status, 0);
  EXPECT_EQ(digits.at("accuracy"), 0.99);
  EXPECT_EQ(digits.at("exponent"), 12);
  const std::string letters = models + "letters/held_out_";
  const Json steps = Json::parse(run(
      {"calibrate", models + "letters/letters.onnx", "--data", "letter=" + letters + "letter.npy",
       "--data", "state=" + letters + "state.npy", "--labels", letters + "next.npy", "--state",
       "next=letter", "--state", "state_out=state", "--json"},
      status));
  ASSERT_EQ(status, 0);
  EXPECT_EQ(steps.at("exponent"), 16);
}

}  // namespace
}  // namespace commensal::e2e
