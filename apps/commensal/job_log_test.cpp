// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/commensal/job_log.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using Json = nlohmann::json;

TEST(JobLog, IsOneLineOfJson) {
  provider::JobEnd end{.wall_ms = 1'764'282'629'007,
                       .job = core::Digest{0xab},
                       .model = core::Digest{0xcd},
                       .step = 1,
                       .request_id = "order-7",
                       .trace_id = "4bf9",
                       .outcome = "delivered",
                       .took_ns = 3'456'789,
                       .computed_ns = 1'000'000,
                       .tasks = 2,
                       .rows = 5};
  const Json line = Json::parse(job_line(end));
  EXPECT_EQ(line["time"], "2025-11-27T22:30:29.007Z");
  EXPECT_EQ(line["request_id"], "order-7");
  EXPECT_EQ(line["trace_id"], "4bf9");
  EXPECT_EQ(line["job"].get<std::string>().substr(0, 4), "ab00");
  EXPECT_EQ(line["model"].get<std::string>().substr(0, 4), "cd00");
  EXPECT_EQ(line["outcome"], "delivered");
  EXPECT_EQ(line["took_ms"], 3.456);
  EXPECT_EQ(line["computed_ms"], 1);
  EXPECT_EQ(line["batch_jobs"], 2);
  EXPECT_EQ(line["batch_rows"], 5);
  EXPECT_FALSE(line.contains("why"));
  end = {.request_id = "a\nb", .outcome = "refused", .why = "no \xff\nroom"};
  const std::string refused = job_line(end);
  EXPECT_EQ(refused.find('\n'), std::string::npos);
  EXPECT_FALSE(Json::parse(refused).contains("computed_ms"));
  EXPECT_EQ(Json::parse(refused)["request_id"], "a\nb");
}

}  // namespace
}  // namespace commensal::apps
