// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <apps/common/progress.hpp>
#include <cstdio>

namespace commensal::apps {

Progress::Progress(std::string label)
    : label_(std::move(label)), visible_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (visible_ && !last_.empty()) fmt::print(stderr, "\r\x1b[K");
  last_.clear();
}

void Progress::show(std::size_t done, std::size_t total) {
  if (!visible_) return;
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = kWidth * std::min(done, total) / std::max<std::size_t>(total, 1);
  std::string line = fmt::format("{} [{}{}] {}/{}", label_, std::string(filled, '='),
                                 std::string(kWidth - filled, ' '), done, total);
  if (line == last_) return;
  last_ = std::move(line);
  fmt::print(stderr, "\r{}\x1b[K", last_);
  std::fflush(stderr);
}

}  // namespace commensal::apps
