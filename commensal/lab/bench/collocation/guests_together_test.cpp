// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/lab/bench/collocation/guests_together.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

/// Takes 10 ms an image on two threads and 16 ms on one.
class FakeWorker final : public bench::Channel {
 public:
  core::Result<std::string> ask(const std::string& line) override {
    const Json request = Json::parse(line);
    if (request["do"] == "load") {
      image_s_ = request["threads"] == 2 ? 0.010 : 0.016;
      return std::string(R"({"session_seconds":0,"answer_seconds":0})");
    }
    if (request["do"] != "run") return std::string("{}");
    const std::vector<double> seconds(request["count"].get<std::size_t>(), image_s_);
    return Json({{"seconds", seconds}, {"cpu_seconds", seconds}}).dump();
  }
  core::Result<std::int64_t> peak_bytes() const override { return 100 << 20; }
  void keep_to_one_cpu(int) override {}

 private:
  double image_s_ = 0;
};

TEST(GuestsBench, ComparesThePairWithOneAfterTheOther) {
  GuestsOptions options;
  options.folder = std::string(COMMENSAL_SOURCE_DIR) + "/models/digits";
  options.models = {"digits"};
  options.start = [] { return bench::Runner(std::make_unique<FakeWorker>()); };
  core::CounterRng rng(1);
  const auto rows = run_guests_bench(options, rng);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_NEAR(rows->front().in_turn_per_s, 100, 1e-6);
  EXPECT_NEAR(rows->front().together_per_s, 125, 1e-6);
  EXPECT_NEAR(rows->front().gain.value, 1.25, 1e-9);
  EXPECT_EQ(rows->front().together_bytes, 200 << 20);
  EXPECT_THAT(to_text(report_of(*rows)), HasSubstr("1.25 (1.25 to 1.25)"));
  EXPECT_NEAR(Json::parse(to_json(report_of(*rows)))["results"][0]["gain"].get<double>(), 1.25,
              1e-9);
  EXPECT_THAT(guests_svg(*rows), HasSubstr(">80 %<"));
}

TEST(GuestsBench, NamesAModelThatIsNotThere) {
  GuestsOptions options;
  options.folder = "/nowhere";
  options.models = {"none"};
  options.start = [] { return bench::Runner(std::make_unique<FakeWorker>()); };
  core::CounterRng rng(1);
  const auto rows = run_guests_bench(options, rng);
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
