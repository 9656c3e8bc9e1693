// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commensal::gateway {

/// Of a model's card what models are looked for by.
struct CardHead {
  static constexpr std::string_view kRecord = "card head";

  std::string license;
  std::string parent;
  std::string task;
  std::string modality;
  std::string language;
  std::vector<std::string> tags;
  std::string summary;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("license", self.license);
    archive.field("parent", self.parent);
    archive.field("task", self.task);
    archive.field("modality", self.modality);
    archive.field("language", self.language);
    archive.field("tags", self.tags);
    archive.field("summary", self.summary);
  }
};

using CardHeadPtr = std::shared_ptr<const CardHead>;

/// The cards of models: files, one of each model, and their heads, which are in memory too. Who may
/// see them is ModelHub's affair. Durable when a call returns. Thread-safety: one thread, the
/// store's.
class CardBook {
 public:
  /// It outlives this object.
  explicit CardBook(core::Store& store) : store_(store) {}

  /// Reads the heads, once; the rest may be called then. Error: kDataLoss.
  core::Result<void> open();
  /// Null: the model has no card.
  CardHeadPtr head(const std::string& model) const;
  /// The file; none: the model has no card.
  core::Result<std::optional<std::string>> source(const std::string& model);
  core::Result<void> put(const std::string& model, std::string_view source, CardHead head);
  /// It ends with these writes, once forget() is told that they are applied.
  core::Store::Batch without(const std::string& model) const;
  void forget(const std::string& model) { heads_.erase(model); }

 private:
  core::Store& store_;
  bool is_open_ = false;
  std::map<std::string, CardHeadPtr> heads_;  // by model
};

}  // namespace commensal::gateway
