// SPDX-License-Identifier: Apache-2.0
// `bench runtime` beside another build of the program; what the figures are is nobody's business.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tests/e2e/process.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

struct Ran {
  int status = 0;
  std::string output, errors;
};

Ran bench_beside(const std::string& peer, const Folder& folder) {
  const std::string log = folder.at("log");
  std::filesystem::remove(log);
  Process process(
      {"bench", "runtime", "--peer", peer, "--models-dir",
       std::string(COMMENSAL_SOURCE_DIR) + "/models/digits", "--models", "digits", "--threads", "1",
       "--batch", "1,2", "--repeats", "2", "--load-repeats", "1", "--json"},
      log);
  Ran ran;
  ran.output = process.read_all(ran.status);
  std::ifstream file(log);
  ran.errors = (std::ostringstream() << file.rdbuf()).str();
  return ran;
}

std::string script(const Folder& folder, const std::string& text) {
  const std::string path = folder.at("peer");
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST(BenchPeer, AnOlderBuildIsMeasuredSideBySide) {
  const Folder folder;
  const Ran ran = bench_beside(COMMENSAL_PROGRAM, folder);
  ASSERT_TRUE(ran.status == 0 || ran.status == 2) << ran.errors;
  const Json report = Json::parse(ran.output);
  ASSERT_EQ(report.at("bars").size(), 1U);
  EXPECT_EQ(report.at("bars")[0].at("name"), "latency_geomean");
  EXPECT_EQ(report.at("bars")[0].at("limit"), 1.02);
  EXPECT_LE(report.at("bars")[0].at("low"), report.at("bars")[0].at("high"));
  EXPECT_EQ(report.at("results").size(), 2U);
  EXPECT_EQ(report.at("loads").size(), 1U);
}

TEST(BenchPeer, OtherBitsAreAnError) {
  const Folder folder;
  const Ran ran = bench_beside(script(folder,
                                      "[ $1 = run ] && echo 'beef  logits' && exit\n"
                                      "exec " COMMENSAL_PROGRAM " \"$@\"\n"),
                               folder);
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.errors, "");  // with --json an error is JSON, too
  EXPECT_THAT(ran.output, HasSubstr("digits: the builds' outputs differ: ours "));
  EXPECT_THAT(ran.output, HasSubstr("theirs beef  logits"));
}

TEST(BenchPeer, WhatIsNoBuildOfOursIsRefusedInOneLine) {
  const Folder folder;
  const auto refused = [&](const std::string& peer, const std::string& why) {
    const Ran ran = bench_beside(peer, folder);
    EXPECT_EQ(ran.status, 1) << peer;
    EXPECT_THAT(ran.output, HasSubstr(why));
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << ran.output;
  };
  refused(folder.at("none"), "no program '");
  refused(std::string(COMMENSAL_SOURCE_DIR) + "/README.md", "no program '");
  refused("/bin/ls", "'/bin/ls' is no build of commensal");
  refused(script(folder, "exec cat\n"), "is no build of commensal");
}

}  // namespace
}  // namespace commensal::e2e
