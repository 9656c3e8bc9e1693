// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/secp256k1.hpp>
#include <commensal/base/protocol/record.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/serve/gateway/accounts.hpp>
#include <commensal/serve/gateway/card_book.hpp>
#include <commensal/serve/gateway/hub_rows.hpp>
#include <commensal/serve/gateway/model_folder.hpp>
#include <commensal/serve/gateway/model_grants.hpp>
#include <commensal/serve/gateway/repository.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace commensal::gateway {

struct ModelCard;

struct ModelPort {
  std::string name;
  graph::Declared declared;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("dtype", self.declared.dtype);
    archive.field("ranked", self.declared.ranked);
    archive.field("dims", self.declared.dims);
    archive.field("symbols", self.declared.symbols);
  }
};

/// One version of a model: immutable, addressed by its content.
struct ModelVersion {
  static constexpr std::string_view kRecord = "model";

  std::string name;  // "owner/model"
  std::string owner;
  std::uint32_t version = 0;  // 1, 2, ...
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;  // of a private model; no other one runs it
  core::Digest content;                            // SHA-256 of the file
  core::Digest graph_root;
  core::Digest weight_root;
  std::int64_t bytes = 0;
  std::int64_t created_ms = 0;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("name", self.name);
    archive.field("owner", self.owner);
    archive.field("version", self.version);
    archive.field("is_private", self.is_private);
    archive.field("allowed_providers", self.allowed_providers);
    archive.field("content", self.content);
    archive.field("graph_root", self.graph_root);
    archive.field("weight_root", self.weight_root);
    archive.field("bytes", self.bytes);
    archive.field("created_ms", self.created_ms);
    archive.field("inputs", self.inputs);
    archive.field("outputs", self.outputs);
  }
};

using ModelPtr = std::shared_ptr<const ModelVersion>;

/// What jobs of it are measured and queued by.
inline std::string series_of(const ModelVersion& model) {
  return fmt::format("{}:{}", model.name, model.version);
}

struct PushOptions {
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;
  std::optional<std::string> privacy_class = {};  // absent: of the version before, or none
};

/// What a model file turned out to hold when it was imported.
struct ModelFile {
  core::Digest content{};
  core::Digest graph_root{};
  core::Digest weight_root{};
  std::int64_t bytes = 0;
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
  ModelFolder::Pin pin = {};  // the file stays while this lasts
};

/// What one owner may have in a hub, operators apart. What was deleted counts until its files go.
struct ModelBounds {
  std::uint32_t models_max = 256;                   // by name
  std::int64_t bytes_max = std::int64_t{20} << 30;  // of all versions, and what else is counted
};

/// Models on disk: files by content under `folder`/<sha256>.onnx, records in the store. A version
/// is there whole or not at all: the record is written after the file is durable. Names:
/// check_model_name(). What is removed is unknown at once: one row says up to which version. The
/// versions' own rows go in portions (purge()), then, by remove_files(), the files that no version
/// has, once nobody needs them; after a kill both go on. Thread-safety: one thread, the store's;
/// check_push, stage and path_of any thread.
class ModelHub {
 public:
  ModelHub(core::Store& store, core::Path folder, const core::Clock& clock,
           const ModelBounds& bounds = {})
      : store_(store),
        folder_(std::move(folder)),
        clock_(clock),
        bounds_(bounds),
        repository_(store),
        grants_(store),
        cards_(store) {}

  Repository& repository() { return repository_; }

  /// Whether `owner` may push under this name. Errors: kInvalidArgument, kPermissionDenied
  /// (another's name).
  static core::Result<void> check_push(const Account& owner, const std::string& model,
                                       const PushOptions& options);
  /// What an owner keeps beside models, after the one who is asked has tried to have no more than
  /// `most` of it.
  using Others =
      std::function<core::Result<std::int64_t>(const std::string& owner, std::int64_t most)>;
  void count_too(Others others) { others_ = std::move(others); }
  /// What models leave of an owner's bytes. Error: kDataLoss.
  core::Result<std::int64_t> left_by_models(const std::string& owner);
  /// Sets room aside for a model's file before it is staged; release() it once it is pushed or not.
  /// Errors: kResourceExhausted (bounds), kDataLoss.
  core::Result<void> reserve(const Account& owner, const std::string& model, std::int64_t bytes);
  void release(const Account& owner, std::int64_t bytes);
  /// Imports the model, so that nothing broken is ever registered, and makes its file durable; one
  /// that is there and damaged is written anew. May take seconds. Errors: kInvalidArgument and
  /// kUnsupported (the importer's one line), kDataLoss.
  core::Result<ModelFile> stage(core::ByteView bytes) const;
  /// Registers a staged file. Pushing the newest version again, with the same options, returns
  /// that version. Errors: those of check_push, kDataLoss.
  core::Result<ModelVersion> push(const Account& owner, const std::string& model,
                                  const ModelFile& file, const PushOptions& options);
  /// The three above, one after the other.
  core::Result<ModelVersion> push(const Account& owner, const std::string& model,
                                  core::ByteView bytes, const PushOptions& options);
  /// `name` may be an alias; `version` 0 is the newest. A private model is found by its owner, by
  /// operators and by accounts that it was granted to; for everybody else it does not exist.
  /// Error: kNotFound.
  core::Result<ModelVersion> find(const Account* asker, const std::string& name,
                                  std::uint32_t version = 0);
  /// The newest versions that `asker` may see, of the models behind `after`, by name; at most
  /// limits::kModelsListedMax. Out of memory.
  core::Result<std::vector<ModelPtr>> list(const Account* asker, const std::string& after = "");
  /// Takes all versions off the list, with what was said of them. Their files stay as long as
  /// somebody needs them, and the next version that is pushed has the next number. Returns how many
  /// there were. Errors: kNotFound, kPermissionDenied (neither the owner nor an operator).
  core::Result<std::uint32_t> remove(const Account& asker, const std::string& name);

  /// At a start: files that never became a version, since a kill came between, are to go too.
  core::Result<void> find_strays();
  /// A file that was staged and became no version is to go; until then it is its owner's.
  core::Result<void> drop(const Account& owner, const ModelFile& file);
  /// Whether `is_it` holds of a version that is there and has this file; true, too, where there are
  /// more than limits::kSameFilesMax of those.
  core::Result<bool> any_version(const core::Digest& content,
                                 const std::function<bool(const ModelVersion&)>& is_it);
  /// Whether it is the file of a version that is there, or was until a short time ago.
  core::Result<bool> knows_file(const core::Digest& content);
  /// Called for the file of each version that is gone, or has other providers; not for all of them
  /// after a kill.
  void on_withdrawn(std::function<void(const core::Digest& content)> withdrawn) {
    withdrawn_ = std::move(withdrawn);
  }
  /// Called whenever there is something new to purge or to remove.
  void on_removals(std::function<void()> told) { told_ = std::move(told); }
  bool is_purging() const { return !purging_.empty(); }
  /// Some of the rows of what was removed go: at most limits::kRemovalRowsMax at a time. Errors:
  /// the store's; then that model's wait for the next start.
  core::Result<void> purge();
  bool has_removals() const { return !dropped_.empty() || !former_.empty(); }
  /// What else keeps a file, and how long a model that is gone may be named by what is kept.
  struct Needs {
    std::function<bool(const core::Digest& content)> is_needed;
    std::int64_t named_ms = 0;
  };
  /// Looks at some of the files that no version has, and removes those that have not been used for
  /// limits::kDroppedFileMs and that nobody needs; and forgets names of models that are long gone.
  core::Result<void> remove_files(const Needs& needs);
  /// Who removes large files, which takes long: else they are removed at once.
  void remove_by(std::function<void(std::function<void()>)> aside) { aside_ = std::move(aside); }
  /// The number of the oldest version that is there, if any is: later than those removed.
  core::Result<std::uint32_t> first_version(const std::string& name);
  /// From now on these providers, and no others, run the model, in every private version of it.
  /// Returns the newest. Errors: those of remove, kInvalidArgument (not private, too many).
  core::Result<ModelVersion> allow(const Account& asker, const std::string& name,
                                   const std::vector<crypto::Address>& providers);
  /// As find(), of who may have the model's file. Errors: kNotFound, kPermissionDenied.
  core::Result<ModelVersion> find_file(const Account* asker, const std::string& name,
                                       std::uint32_t version = 0);
  /// `account` may use the model from now on, in every private version of it; with `with_file` it
  /// may download it too. Returns the model's full name, as those below. Errors: those of remove,
  /// kInvalidArgument (not private), ModelGrants::give's.
  core::Result<std::string> grant(const Account& asker, const std::string& name,
                                  const std::string& account, bool with_file);
  /// Errors: those of remove.
  core::Result<std::string> revoke(const Account& asker, const std::string& name,
                                   const std::string& account);
  core::Result<ModelGrants::Grants> grants(const Account& asker, const std::string& name);

  /// `source`, which `card` was read from, is the model's card from now on, whatever the version.
  /// Returns the model. Errors: those of remove, fit_card's.
  core::Result<ModelVersion> set_card(const Account& asker, const std::string& name,
                                      const std::string& source, ModelCard card);
  struct ShownCard {
    ModelVersion model;  // the newest version
    std::string source;  // as it was sent
  };
  /// Found by who finds the model. Error: kNotFound (the model, or it has no card).
  core::Result<ShownCard> card(const Account* asker, const std::string& name);
  /// Returns the model's full name. Errors: those of remove, kNotFound (it has no card).
  core::Result<std::string> remove_card(const Account& asker, const std::string& name);
  /// Shows the newest versions that `asker` may see, of the models behind `after`, by name, with
  /// their cards' heads (null: none), until `see` returns false.
  using See = std::function<bool(const ModelPtr& model, const CardHeadPtr& card)>;
  core::Result<void> visit(const Account* asker, const std::string& after, const See& see);

  core::Path path_of(const core::Digest& content) const { return folder_.path_of(content); }

 private:
  /// What an owner has.
  struct Usage {
    std::set<std::string> models;
    std::int64_t bytes = 0;  // of the versions, and of files that are to go
    std::int64_t reserved = 0;
  };
  core::Result<Usage*> usage(const std::string& owner);
  Others others_;
  /// If anybody has asked for it.
  void add_usage(const std::string& owner, std::int64_t bytes);
  /// All newest versions, by name; read once, with what is counted of all others.
  core::Result<std::map<std::string, ModelPtr>*> newest();
  core::Result<void> read_removals();
  /// The last version of this name that was removed; 0: none was.
  std::uint32_t removed_version(const std::string& name) const;
  /// That one more version of a model may be kept.
  core::Result<void> check_room(const std::string& name) const;
  void tell();
  void tell_withdrawn(const core::Digest& content) const {
    if (withdrawn_) withdrawn_(content);
  }
  /// A row that is purged, and what becomes of its file.
  core::Result<void> add_purge(const ModelVersion& version, core::Store::Batch& batch,
                               std::map<core::Digest, hub_rows::DroppedFile>& dropped);
  core::Result<void> remove_some(const Needs& needs);
  core::Result<void> forget_some(const Needs& needs);
  /// Null: there is none.
  core::Result<ModelPtr> newest(const std::string& name);
  /// After grants_.open().
  bool may_see(const Account* asker, const ModelVersion& version) const;
  /// The newest version of a model that `asker` may change.
  core::Result<ModelVersion> own_model(const Account& asker, const std::string& name);
  /// All versions of it, newest first.
  core::Result<std::vector<ModelVersion>> own_versions(const Account& asker,
                                                       const std::string& name);

  core::Store& store_;
  ModelFolder folder_;
  const core::Clock& clock_;
  const ModelBounds bounds_;
  Repository repository_;
  ModelGrants grants_;
  CardBook cards_;
  std::optional<std::map<std::string, ModelPtr>> newest_;  // once somebody asked
  std::map<std::string, Usage> usage_;                     // by owner, as far as anybody asked
  // With newest_:
  std::map<core::Digest, std::set<std::pair<std::string, std::uint32_t>>>
      used_;                                        // by content: versions whose rows are there
  std::map<std::string, hub_rows::Former> former_;  // by name
  std::map<std::string, std::uint32_t> purging_;    // names, and up to which version
  std::map<core::Digest, hub_rows::DroppedFile> dropped_;  // by content
  core::Digest next_dropped_{};                            // where remove_files() goes on
  std::string next_former_;
  std::function<void()> told_;
  std::function<void(const core::Digest&)> withdrawn_;
  std::function<void(std::function<void()>)> aside_;
};

}  // namespace commensal::gateway
