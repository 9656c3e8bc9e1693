// SPDX-License-Identifier: Apache-2.0
// Calls of every operator, sized up until they take long: none computes for more than some
// milliseconds without asking whether it shall go on, and where it shall not it ends there.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/kernels/testing/long_calls.hpp>
#include <cstdlib>

namespace commensal::kernels {
namespace {

using namespace testing;

constexpr double kMsMax = 5;

/// The processor time between two questions of a call, at most; from the `last` one on it says no.
class Watch final : public core::Pacer {
 public:
  explicit Watch(std::int64_t last = -1) : last_(last) {}
  bool pace(std::int64_t) override { return true; }
  bool yield() override {
    tick();
    return ++count_ != last_;
  }
  void tick() {
    const std::int64_t now_ns = core::thread_cpu_ns();
    worst_ns_ = std::max(worst_ns_, now_ns - before_ns_);
    before_ns_ = now_ns;
  }
  void begin() { begin_ns_ = before_ns_ = core::thread_cpu_ns(); }
  std::int64_t count() const { return count_; }
  double worst_ms() const { return static_cast<double>(worst_ns_) * 1e-6; }
  double since_last_ms() const {
    return static_cast<double>(core::thread_cpu_ns() - before_ns_) * 1e-6;
  }
  double all_ms() const { return static_cast<double>(before_ns_ - begin_ns_) * 1e-6; }

 private:
  std::int64_t last_;
  std::int64_t count_ = 0, begin_ns_ = 0, before_ns_ = 0, worst_ns_ = 0;
};

/// Runs the call as a session does: whether it came to its end.
bool run(const LongCall& call, Watch& watch) {
  ThreadPool threads(1);
  const ThreadPool::Burst burst(threads, &watch);
  watch.begin();
  const auto ended = unless_stopped([&] { return call.run(threads); });
  if (ended) watch.tick();
  return ended.has_value();
}

void hold(const LongCall& call, double ms_max = kMsMax) {
  Watch watch;
  double worst_ms = 1e9;
  for (int i = 0; i < 3 && worst_ms > ms_max; ++i) {  // another program may have had the caches
    watch = Watch();
    ASSERT_TRUE(run(call, watch)) << call.text();
    worst_ms = std::min(worst_ms, watch.worst_ms());
  }
  EXPECT_LE(worst_ms, ms_max) << call.text() << " of " << watch.all_ms() << " ms";
  Watch stop(1 + watch.count() / 2);
  EXPECT_FALSE(run(call, stop)) << call.text();
  EXPECT_LE(stop.since_last_ms(), ms_max) << call.text();
}

/// On request: minutes. `all`: two calls of each sample; else an operator, in all ways.
void hold_all(LongCall::By by) {
  const char* const asked = std::getenv("COMMENSAL_LONG_CALLS");
  if (asked == nullptr) GTEST_SKIP() << "asked for by COMMENSAL_LONG_CALLS=all or an operator";
  const bool all = std::string_view(asked) == "all";
  constexpr double kTakes = 3 * kMsMax;  // a call that asks only once, midway, is found
  int samples = 0;
  for (const Sample& sample : all_samples()) {
    if (!all && sample.name != asked) continue;
    ++samples;
    if (by == LongCall::By::kCpu && SampleCall(sample).op().fast() == nullptr) continue;
    for (const LongCall& call : long_calls(sample, by, kTakes, all ? 2 : 1000)) hold(call);
  }
  EXPECT_GT(samples, 0) << "no operator is called " << asked;
}

TEST(LongCalls, OfTheJudgeAskOftenAndEndWhereTheyAreTold) { hold_all(LongCall::By::kRef); }
TEST(LongCalls, OfTheFastKernelsAskOftenAndEndWhereTheyAreTold) {
  if (!available_isas().empty()) hold_all(LongCall::By::kCpu);
}

/// A layer whose items have one step or two.
Sample recurrent(const char* name, std::int64_t gates, std::int64_t batch, std::int64_t width,
                 std::int64_t units, tensor::DType dtype = tensor::DType::kFloat32) {
  const auto zeros = [&](const tensor::Shape& shape) {
    const tensor::TensorType type{dtype, shape};
    return Tensor::copy_of(type, core::Bytes(static_cast<std::size_t>(type.bytes())));
  };
  std::vector<std::int32_t> lengths;
  for (std::int64_t i = 0; i < batch; ++i) lengths.push_back(1 + static_cast<int>(i * 7919 % 2));
  return {name,
          14,
          {zeros({2, batch, width}), zeros({1, gates * units, width}),
           zeros({1, gates * units, units}), Tensor(), Tensor::of<std::int32_t>({batch}, lengths)}};
}

// Sizes that the samples do not grow to.
TEST(LongCalls, OfRecurrentLayersAskOften) {
  if (available_isas().empty()) GTEST_SKIP() << "this machine has no instruction set of cpu/";
  const Sample all[] = {recurrent("RNN", 1, 1 << 20, 1, 4), recurrent("GRU", 3, 1 << 19, 1, 4),
                        recurrent("LSTM", 4, 1 << 15, 1, 64), recurrent("RNN", 1, 2, 1 << 21, 1),
                        recurrent("RNN", 1, 1, 1 << 21, 1, tensor::DType::kFloat16)};
  for (const Sample& sample : all) {
    hold(LongCall(sample, LongCall::By::kCpu, "as it is"), kMsMax);
  }
}

// The fault: nothing was asked between slices, however many there were.
TEST(LongCalls, OfPoolsOfManySmallSlicesAskOften) {
  if (available_isas().empty()) GTEST_SKIP() << "this machine has no instruction set of cpu/";
  using Ints = std::vector<std::int64_t>;
  for (const auto& [name, outputs] : {std::pair("MaxPool", 2), std::pair("LpPool", 1)}) {
    const std::vector<float> zeros(1 << 20);
    Sample sample{name, 18, {Tensor::of<float>({1, 1, 1 << 20, 1, 1}, zeros)}};
    sample.outputs = outputs;
    sample.attributes.set("kernel_shape", Ints{1, 1, 1});
    hold(LongCall(sample, LongCall::By::kCpu, "as it is"));
  }
}

}  // namespace
}  // namespace commensal::kernels
