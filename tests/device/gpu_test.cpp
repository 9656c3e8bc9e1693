// SPDX-License-Identifier: Apache-2.0
// Devices as a stand-in for NVML replays them: values, errors, absence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/gpu.hpp>
#include <commensal/collocation/probe/nvml_api.hpp>
#include <commensal/collocation/probe/throttle.hpp>
#include <cstdlib>
#include <fstream>

namespace commensal::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kTwoCards =
    "init 0 0\ncount 0 0 2\nhandle 0 0\nhandle 1 0\n"
    "name 0 0 NVIDIA H100 80GB HBM3\nuuid 0 0 GPU-0000\nutilization 0 0 100 37\n"
    "memory 0 0 85520809984 85183168512 337641472\nsm_clock 0 0 1755\nmemory_clock 0 0 2619\n"
    "reasons 0 0 4\npower 0 0 698123\nenergy 0 0 123456789\nmig 0 0 0\n"
    "processes 0 0 4711 335544320 4712 18446744073709551615\n"
    "gpm 0 0 1\ngpm_2 0 0 61.5\ngpm_3 0 0 24.25\ngpm_10 0 0 80\n"
    "name 1 0 NVIDIA GeForce GTX 1080\nutilization 1 15\nmemory 1 0 100 0 200\nreasons 1 0 0\n"
    "gpm 1 0 0\n";

class GpuTest : public testing::Test {
 protected:
  core::Result<std::unique_ptr<Gpus>> open(const std::string& record, const char* library) {
    const core::Path path = folder_.path() / "record";
    std::ofstream(path) << record;
    (void)setenv("COMMENSAL_NVML_RECORD", path.c_str(), 1);
    return open_nvml(library);
  }
  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("nvml");
};

TEST_F(GpuTest, TellsWhatTheDriverTells) {
  const auto gpus = open(kTwoCards, NVML_NEW);
  ASSERT_TRUE(gpus) << gpus.error().message;
  ASSERT_EQ((*gpus)->count(), 2U);
  const auto first = (*gpus)->read(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(first->uuid, "GPU-0000");
  EXPECT_EQ(first->busy, 1.0);
  EXPECT_EQ(first->memory_busy, 0.37);
  EXPECT_EQ(first->memory_total_bytes, 85520809984U);
  EXPECT_EQ(first->memory_used_bytes, 337641472U);
  EXPECT_EQ(first->sm_clock_mhz, 1755U);
  EXPECT_EQ(first->memory_clock_mhz, 2619U);
  EXPECT_NEAR(*first->power_w, 698.123, 1e-9);
  EXPECT_NEAR(*first->energy_j, 123456.789, 1e-6);
  EXPECT_EQ(first->has_mig, false);
  EXPECT_TRUE(is_throttling(*first->clock_reasons));
  EXPECT_THAT(names_of_reasons(*first->clock_reasons), ElementsAre("power cap"));
  ASSERT_THAT(*first->processes, SizeIs(2));
  EXPECT_EQ(first->processes->at(0).pid, 4711U);
  EXPECT_EQ(first->processes->at(0).used_bytes, 335544320U);
  EXPECT_FALSE(first->processes->at(1).used_bytes) << "not known is not zero";
  EXPECT_FALSE(first->sm_active) << "GPM measures between two looks";
  const auto second = (*gpus)->read(0);
  EXPECT_EQ(second->sm_active, 0.615);
  EXPECT_EQ(second->sm_occupancy, 0.2425);
  EXPECT_EQ(second->dram_active, 0.8);
}

TEST_F(GpuTest, LeavesOutWhatACardDoesNotTell) {
  const auto gpus = open(kTwoCards, NVML_NEW);
  for (int i = 0; i < 2; ++i) {
    const auto card = (*gpus)->read(1);
    ASSERT_TRUE(card);
    EXPECT_FALSE(card->busy) << "the driver answered with an error";
    EXPECT_FALSE(card->memory_used_bytes) << "more used than there is";
    EXPECT_FALSE(card->power_w);
    EXPECT_FALSE(card->energy_j);
    EXPECT_FALSE(card->has_mig);
    EXPECT_FALSE(card->processes);
    EXPECT_FALSE(card->sm_active);
    EXPECT_EQ(card->clock_reasons, 0U);
  }
  const auto none = (*gpus)->read(2);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, core::ErrorCode::kNotFound);
}

TEST_F(GpuTest, TellsWhetherPowerOrHeatHoldsItBack) {
  for (const char* library : {NVML_NEW, NVML_OLD}) {
    const auto gpus = open(kTwoCards, library);
    EXPECT_TRUE((*gpus)->is_throttled(0));
    EXPECT_FALSE((*gpus)->is_throttled(1));
    EXPECT_FALSE((*gpus)->is_throttled(2)) << "there is no such card";
  }
  EXPECT_TRUE(ThrottleMonitor(*open(kTwoCards, NVML_NEW), {}).is_on());
  constexpr const char* kIdle = "init 0 0\ncount 0 0 1\nhandle 0 0\nreasons 0 0 1\n";
  EXPECT_FALSE(ThrottleMonitor(*open(kIdle, NVML_NEW), {}).is_on());
  constexpr const char* kSilent = "init 0 0\ncount 0 0 1\nhandle 0 0\nreasons 0 3\n";
  EXPECT_FALSE(ThrottleMonitor(*open(kSilent, NVML_NEW), {}).is_on());
}

TEST_F(GpuTest, WorksWithAnOldDriver) {
  const auto gpus = open(kTwoCards, NVML_OLD);
  ASSERT_TRUE(gpus) << gpus.error().message;
  (void)(*gpus)->read(0);
  const auto card = (*gpus)->read(0);
  EXPECT_EQ(card->busy, 1.0);
  EXPECT_TRUE(card->clock_reasons);
  EXPECT_FALSE(card->energy_j);
  EXPECT_FALSE(card->has_mig);
  EXPECT_FALSE(card->sm_active);
}

TEST_F(GpuTest, AsksAgainForManyProcesses) {
  std::string record = kTwoCards;
  record += "processes 0 0";
  for (int pid = 1; pid <= 200; ++pid) record += " " + std::to_string(pid) + " 1";
  const auto gpus = open(record + "\n", NVML_NEW);
  EXPECT_THAT(*(*gpus)->read(0)->processes, SizeIs(200));
}

TEST_F(GpuTest, RefusesFiguresThatCannotBe) {
  std::string record = kTwoCards;
  record += "utilization 0 0 4000000000 101\ngpm_2 0 0 nan\ngpm_3 0 0 -1\ngpm_10 0 10\n";
  const auto gpus = open(record, NVML_NEW);
  (void)(*gpus)->read(0);
  const auto card = (*gpus)->read(0);
  EXPECT_FALSE(card->busy);
  EXPECT_FALSE(card->memory_busy);
  EXPECT_FALSE(card->sm_active);
  EXPECT_FALSE(card->sm_occupancy);
  EXPECT_FALSE(card->dram_active);
}

TEST_F(GpuTest, SaysWhyThereIsNone) {
  const auto refusal = [&](const std::string& record, const char* library) {
    const auto gpus = open(record, library);
    return gpus ? "opened" : gpus.error().message;
  };
  EXPECT_THAT(refusal("", "libno-such-thing.so.1"), HasSubstr("no NVIDIA driver"));
  EXPECT_THAT(refusal("", "libc.so.6"), HasSubstr("is no NVML"));
  EXPECT_THAT(refusal("init 0 9\n", NVML_NEW), HasSubstr("NVML's error 9"));
  EXPECT_THAT(refusal("init 0 0\ncount 0 999\n", NVML_NEW), HasSubstr("does not count"));
  const auto lost = open("init 0 0\ncount 0 0 1\nhandle 0 15\n", NVML_NEW);
  ASSERT_TRUE(lost);
  EXPECT_EQ((*lost)->read(0).error().code, core::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace commensal::probe
