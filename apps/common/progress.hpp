// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace commensal::apps {

/// A bar on stderr for long work, where stderr is a terminal; silent elsewhere. It wipes itself
/// at the end.
class Progress {
 public:
  explicit Progress(std::string label);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void set_label(std::string label) { label_ = std::move(label); }
  void show(std::size_t done, std::size_t total);
  void clear();

 private:
  std::string label_;
  bool visible_;
  std::string last_;
};

}  // namespace commensal::apps
