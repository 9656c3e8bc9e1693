// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/serve/oip/model_config.hpp>

namespace commensal::oip {
namespace {

using ::testing::HasSubstr;

gateway::ModelVersion rows() {
  gateway::ModelVersion model;
  model.name = "a/rows";
  model.version = 1;
  graph::Declared declared{tensor::DType::kInt32, true, {-1, 16}, {"", ""}};
  model.inputs = {{"INPUT", declared}};
  model.outputs = {{"OUTPUT", declared}};
  return model;
}

core::Result<BatchingConfig> batching(std::string_view text) {
  COMMENSAL_ASSIGN(const std::string config, read_config(text));
  const core::ByteView view = core::as_bytes(config);
  const gateway::ServingConfig said{{view.begin(), view.end()}, {}, {}};
  COMMENSAL_ASSIGN(const ModelConfig made, config_of(rows(), said));
  return made.batching;
}

std::string error(std::string_view text) {
  const auto made = batching(text);
  return made ? "accepted" : made.error().message;
}

constexpr std::string_view kAll = R"(
max_batch_size: 16
instance_group { count: 2 kind: KIND_CPU }
dynamic_batching {
  preferred_batch_size: [8, 4]
  max_queue_delay_microseconds: 1500
  priority_levels: 3
  default_priority_level: 2
  default_queue_policy {
    timeout_action: DELAY default_timeout_microseconds: 5001 allow_timeout_override: true
    max_queue_size: 7
  }
  priority_queue_policy { key: 1 value { default_timeout_microseconds: 100 } }
})";

TEST(BatchingConfig, SaysHowRequestsWaitAndGoTogether) {
  const auto config = batching(kAll);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  const Scheduled usual = schedule(*config, 0, 0);
  EXPECT_EQ(usual.scheduling.batching, (gateway::Batching{1'500, 16, {4, 8}}));
  EXPECT_EQ(usual.scheduling.level, 2u);
  EXPECT_EQ(usual.scheduling.queue_max, 7u);
  EXPECT_EQ(usual.scheduling.queue_timeout_ms, 6) << "the loop's clock";
  EXPECT_TRUE(usual.scheduling.is_delayed_then);
  EXPECT_EQ(schedule(*config, 3, 0).scheduling.level, 3u);
  EXPECT_EQ(schedule(*config, 4, 0).scheduling.level, 2u) << "there is no such level";
}

TEST(BatchingConfig, ARequestMayHaveLessTimeWhereThatIsSaid) {
  const auto config = batching(kAll);
  const Scheduled less = schedule(*config, 0, 2'000);
  EXPECT_EQ(less.scheduling.queue_timeout_ms, 2);
  EXPECT_FALSE(less.is_deadline) << "it is delayed then";
  EXPECT_EQ(schedule(*config, 0, 9'000).scheduling.queue_timeout_ms, 6);
  const Scheduled first = schedule(*config, 1, 50);
  EXPECT_EQ(first.scheduling.queue_timeout_ms, 1);
  EXPECT_FALSE(first.scheduling.is_delayed_then);
  EXPECT_TRUE(first.is_deadline);
}

TEST(BatchingConfig, NothingSaidAsksForNothing) {
  const Scheduled usual = schedule(*batching("backend: \"x\""), 1, 5);
  EXPECT_EQ(usual.scheduling.batching, std::nullopt);
  EXPECT_EQ(usual.scheduling.level, 0u);
  EXPECT_EQ(usual.scheduling.queue_max, 0u);
  EXPECT_EQ(usual.scheduling.queue_timeout_ms, 0);
  EXPECT_TRUE(usual.is_deadline);
  const auto bounded = batching("max_batch_size: 8");
  EXPECT_EQ(bounded->batching, (gateway::Batching{0, 8, {}})) << "no run has more rows";
}

TEST(BatchingConfig, NamesTheFieldThatItDoesNotTake) {
  const auto dynamic = [](std::string_view text) {
    return error(fmt::format("max_batch_size: 8 dynamic_batching {{ {} }}", text));
  };
  EXPECT_THAT(dynamic("preferred_batch_size: 9"), HasSubstr("preferred_batch_size has 9"));
  EXPECT_THAT(dynamic("preferred_batch_size: 0"), HasSubstr("preferred_batch_size has 0"));
  EXPECT_THAT(dynamic("max_queue_delay_microseconds: 40001"),
              HasSubstr("max_queue_delay_microseconds"));
  EXPECT_THAT(dynamic("preserve_ordering: true"), HasSubstr("preserve_ordering"));
  EXPECT_THAT(dynamic("priority_levels: 2"), HasSubstr("default_priority_level is 0"));
  EXPECT_THAT(dynamic("default_priority_level: 1"), HasSubstr("default_priority_level is 1"));
  EXPECT_THAT(dynamic("priority_levels: 1025 default_priority_level: 1"),
              HasSubstr("priority_levels"));
  EXPECT_THAT(dynamic("priority_queue_policy { key: 1 value { max_queue_size: 1 } }"),
              HasSubstr("priority_queue_policy[1]"));
  EXPECT_THAT(
      dynamic("default_queue_policy { default_timeout_microseconds: 18446744073709551615 }"),
      HasSubstr("default_queue_policy.default_timeout_microseconds"));
  EXPECT_THAT(error("dynamic_batching { max_queue_delay_microseconds: 5 }"),
              HasSubstr("max_batch_size is 0"));
  EXPECT_THAT(error("instance_group { kind: KIND_GPU }"), HasSubstr("instance_group.kind"));
  EXPECT_THAT(error("instance_group { count: -1 }"), HasSubstr("instance_group.count"));
  EXPECT_THAT(error("input { name: \"INPUT\" allow_ragged_batch: true }"),
              HasSubstr("allow_ragged_batch of 'INPUT'"));
  EXPECT_THAT(error("optimization { eager_batching: true }"), HasSubstr("eager_batching"));
}

}  // namespace
}  // namespace commensal::oip
