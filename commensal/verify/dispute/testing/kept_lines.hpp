// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

namespace commensal::dispute::testing {

/// Of two lists of names and hashes, the first line being the version: where that is the same, so
/// is the hash of each name that both have.
inline void expect_kept(const std::string& before, const std::string& made) {
  if (before.substr(0, before.find('\n')) != made.substr(0, made.find('\n'))) return;
  std::map<std::string, std::string> now;
  std::istringstream ours(made), theirs(before);
  std::string name, hash;
  while (ours >> name >> hash) now[name] = hash;
  while (theirs >> name >> hash) {
    if (now.contains(name)) EXPECT_EQ(now[name], hash) << name << ": raise the version";
  }
}

}  // namespace commensal::dispute::testing
