// SPDX-License-Identifier: Apache-2.0
// docs/training.md tells of every key that a training's file may have, and of no other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/train/plan.hpp>
#include <sstream>

namespace commensal::train {
namespace {

/// The table's rows: what is said of each key, its default first.
std::map<std::string, std::string> documented() {
  const auto bytes = core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "docs/training.md");
  std::map<std::string, std::string> made;
  if (!bytes) return made;
  std::istringstream text{std::string(core::as_text(*bytes))};
  bool is_inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line == "| key | default | what it says |") is_inside = true;
    if (is_inside && !line.starts_with('|')) break;
    const std::size_t end = line.find("` | ");
    if (is_inside && line.starts_with("| `") && end != line.npos)
      made[line.substr(3, end - 3)] = line.substr(end + 4);
  }
  return made;
}

TEST(TrainingPlan, ItsKeysAreThoseOfTheDocument) {
  std::vector<std::string> named;
  for (const auto& [key, words] : documented()) named.push_back(key);
  EXPECT_THAT(named, ::testing::UnorderedElementsAreArray(plan_keys()));
}

TEST(TrainingPlan, ItsChoicesAreThoseOfTheDocument) {
  const auto rows = documented();
  for (const auto& [key, section] :
       std::map<std::string, std::string>{{"loss.kind", "loss: {output: y, kind: x}"},
                                          {"optimiser.kind", "optimiser: {kind: x}"},
                                          {"schedule.kind", "schedule: {kind: x}"},
                                          {"adapters.export", "adapters: {export: x}"}}) {
    const std::string loss = key == "loss.kind" ? "" : "loss: {output: y}\n";
    const auto plan = parse_plan("model: m.onnx\ndata: {x: x.npy}\n" + loss + section, "");
    ASSERT_FALSE(plan) << key;
    const std::string& all = plan.error().message;
    const std::string beginning = "expected one of ";
    ASSERT_NE(all.find(beginning), all.npos) << all;
    std::istringstream choices(all.substr(all.find(beginning) + beginning.size()));
    for (std::string one; std::getline(choices >> std::ws, one, ',');)
      EXPECT_THAT(rows.at(key), ::testing::HasSubstr(one)) << key;
  }
}

// The fault: the last of the two was taken silently.
TEST(TrainingPlan, AKeyTwiceIsRefusedWithItsLine) {
  const std::string rest = "loss: {output: y}\n";
  const auto message = [](const std::string& text) {
    const auto plan = parse_plan(text, "");
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_EQ(message("model: m.onnx\ndata:\n  x: x.npy\n  target: y.npy\n  x: z.npy\n" + rest),
            "line 5: 'data.x' is there twice");
  EXPECT_EQ(message("model: m.onnx\ndata: {x: x.npy}\n" + rest +
                    "evaluate: {data: {x: x.npy, target: y.npy, x: z.npy}}\n"),
            "line 4: 'evaluate.data.x' is there twice");
}

}  // namespace
}  // namespace commensal::train
