// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/protocol/record.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace commensal::gateway {

/// How one version of a model is served: texts, which serve/oip understands.
struct ServingConfig {
  static constexpr std::string_view kRecord = "serving configuration";

  /// Of texts that the configuration names, labels say.
  struct File {
    std::string name;
    core::Bytes text;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("name", self.name);
      archive.field("text", self.text);
    }
  };

  core::Bytes config;    // JSON; empty: nothing is said
  core::Bytes override;  // what a client has loaded it with since; empty: the above holds
  std::vector<File> files;
  /// Of what the version is asked; "": of none. No part of the record: Repository says it, of what
  /// was said of this version or, where nothing was, of the newest before it.
  std::string privacy_class = {};

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("config", self.config);
    archive.field("override", self.override);
    archive.field("files", self.files);
  }
};

/// What a model repository says beside the models: short names, how versions are served, and which
/// models are not served just now. Durable when a call returns. Thread-safety: one thread, the
/// store's.
class Repository {
 public:
  explicit Repository(core::Store& store) : store_(store) {}

  /// A name of one part for "owner/model", of 1 to 64 of [A-Za-z0-9._-]. Errors: kInvalidArgument,
  /// kResourceExhausted (limits::kAliasesMax).
  core::Result<void> set_alias(const std::string& alias, const std::string& model);
  /// Error: kNotFound.
  core::Result<void> remove_alias(const std::string& alias);
  /// By alias. Read once.
  core::Result<const std::map<std::string, std::string>*> aliases();
  /// "owner/model" for it or an alias of it; what is neither stays as it is.
  core::Result<std::string> resolve(const std::string& name);

  /// `privacy_class`: what its texts say of that, "" being that it is of none from now on. Where
  /// they say nothing the version stays of the class that it is of.
  core::Result<void> set_config(const std::string& model, std::uint32_t version,
                                const ServingConfig& config,
                                const std::optional<std::string>& privacy_class = {});
  /// Of which class the version and later ones are from now on, until another is said.
  core::Result<void> set_class(const std::string& model, std::uint32_t version,
                               const std::string& privacy_class);
  /// The same as a row, for the batch that makes the version.
  static core::Store::Write class_row(const std::string& model, std::uint32_t version,
                                      const std::string& privacy_class);
  /// What ends all that was said of a version; and that a model is not served.
  static core::Store::Batch without(const std::string& model, std::uint32_t version);
  static core::Store::Write loaded_row(const std::string& model);
  /// Once those are applied to all versions, or nobody finds them any more.
  void forget(const std::string& model);
  /// Empty where nobody set one. Shared, so that what was made of it is known by its place.
  core::Result<std::shared_ptr<const ServingConfig>> config(const std::string& model,
                                                            std::uint32_t version);

  core::Result<void> set_loaded(const std::string& model, bool is_loaded);
  core::Result<bool> is_loaded(const std::string& model);

 private:
  core::Result<void> open();
  void forget_configs_from(const std::string& model, std::uint32_t version);
  core::Result<std::string> class_of(const std::string& model, std::uint32_t version);

  core::Store& store_;
  bool is_open_ = false;
  std::map<std::string, std::string> aliases_;
  std::set<std::string> unloaded_;
  std::map<core::Bytes, std::shared_ptr<const ServingConfig>> configs_;  // that were asked for
};

/// That a name is OWNER/MODEL, MODEL 1 to 64 of [A-Za-z0-9._-] beginning with a letter or digit,
/// and none of the words that a path has behind it; an alias is such a MODEL. Error:
/// kInvalidArgument.
core::Result<void> check_model_name(std::string_view name);

}  // namespace commensal::gateway
