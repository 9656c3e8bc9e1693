// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <map>
#include <string>

namespace commensal::gateway {

/// Which accounts may use whose private models: name by name, whatever the version. Durable when a
/// call returns. Thread-safety: one thread, the store's.
class ModelGrants {
 public:
  /// What an account was given of a model.
  struct Grant {
    bool with_file = false;  // it may download it too
  };
  using Grants = std::map<std::string, Grant>;  // by account

  /// It outlives this object.
  explicit ModelGrants(core::Store& store) : store_(store) {}

  /// Reads what was given, once; the rest may be called then.
  core::Result<void> open();
  /// Null: nothing.
  const Grant* find(const std::string& model, const std::string& account) const;
  Grants of(const std::string& model) const;
  /// Error: kResourceExhausted (limits::kModelGrantsMax).
  core::Result<void> give(const std::string& model, const std::string& account, Grant grant);
  /// Error: kNotFound.
  core::Result<void> take(const std::string& model, const std::string& account);
  /// All that was given of a model ends with these writes, once forget() is told that they are
  /// applied.
  core::Store::Batch without(const std::string& model) const;
  void forget(const std::string& model) { grants_.erase(model); }

 private:
  core::Store& store_;
  bool is_open_ = false;
  std::map<std::string, Grants> grants_;  // by model
};

}  // namespace commensal::gateway
