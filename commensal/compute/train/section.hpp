// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/yaml.h>

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commensal::train {

/// A map of YAML, each of whose keys must be one that is asked for. What is not there leaves
/// `into` as it is. Errors: kInvalidArgument, naming the key and what was expected.
/// Thread-safety: none. Sources of this folder only: nobody else sees YAML's headers.
class Section {
 public:
  Section(const YAML::Node& node, std::string where) : node_(node), where_(std::move(where)) {}

  bool has(const char* key) const { return node_[key].IsDefined(); }
  YAML::Node child(const char* key) const { return node_[key]; }
  std::string path(const std::string& key) const {
    return where_.empty() ? key : where_ + "." + key;
  }

  core::Result<void> only(const std::vector<std::string_view>& keys) const;
  core::Result<void> text(const char* key, bool must, std::string& into) const;
  core::Result<void> number(const char* key, double least, double most, double& into) const;
  core::Result<void> count(const char* key, std::int64_t least, std::int64_t most,
                           std::int64_t& into) const;
  /// A list of texts, not empty.
  core::Result<void> texts(const char* key, const char* expected,
                           std::vector<std::string>& into) const;

  template <class T>
  core::Result<void> choice(const char* key,
                            std::initializer_list<std::pair<std::string_view, T>> all,
                            T& into) const {
    std::string name;
    COMMENSAL_TRY(text(key, false, name));
    if (name.empty()) return {};
    std::string names;
    for (const auto& [one, value] : all) {
      if (one == name) {
        into = value;
        return {};
      }
      names += (names.empty() ? "" : ", ") + std::string(one);
    }
    return core::fail(core::ErrorCode::kInvalidArgument, "'{}' is '{}', expected one of {}",
                      path(key), name, names);
  }

  static core::Result<void> read(const YAML::Node& node, const std::string& path, double least,
                                 double most, double& into);

 private:
  YAML::Node node_;
  std::string where_;
};

}  // namespace commensal::train
