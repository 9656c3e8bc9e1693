// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace commensal::gateway {

/// How many answers each model has given, whoever asked. What was deleted leaves its name, and
/// nothing else, to the next model: `first` is always the oldest version that is there
/// (ModelHub::first_version). A value.
class Served {
 public:
  /// An answer of this version; one of a version that was deleted meanwhile counts for nobody.
  void add(const std::string& model, std::uint32_t version, std::uint32_t first) {
    if (version < first) return;
    Count& count = counts_[model];
    if (count.first != first) count = {first, 0};
    ++count.answers;
  }
  std::uint64_t of(const std::string& model, std::uint32_t first) const {
    const auto found = counts_.find(model);
    return found == counts_.end() || found->second.first != first ? 0 : found->second.answers;
  }

 private:
  struct Count {
    std::uint32_t first = 0;
    std::uint64_t answers = 0;
  };
  std::map<std::string, Count> counts_;
};

}  // namespace commensal::gateway
