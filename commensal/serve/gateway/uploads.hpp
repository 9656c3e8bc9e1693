// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace commensal::gateway {

/// A model's file on its way here.
struct Upload {
  static constexpr std::string_view kRecord = "upload";

  std::string id;  // 32 hexadecimal digits, which nobody guesses
  std::string owner;
  std::string model;  // "owner/model"
  bool is_private = false;
  std::vector<crypto::Address> allowed_providers;
  std::optional<std::string> privacy_class;
  core::Digest content{};       // SHA-256, as announced
  std::int64_t bytes = 0;       // likewise
  std::int64_t received = 0;    // of these, on disk
  std::int64_t created_ms = 0;  // limits::kUploadMsMax later it ends

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("id", self.id);
    archive.field("owner", self.owner);
    archive.field("model", self.model);
    archive.field("is_private", self.is_private);
    archive.field("allowed_providers", self.allowed_providers);
    archive.field("privacy_class", self.privacy_class);
    archive.field("content", self.content);
    archive.field("bytes", self.bytes);
    archive.field("received", self.received);
    archive.field("created_ms", self.created_ms);
  }
  PushOptions options() const { return {is_private, allowed_providers, privacy_class}; }
  bool is_whole() const { return received == bytes; }
  std::int64_t expires_ms() const { return created_ms + limits::kUploadMsMax; }
};

/// Unfinished uploads: a row of the store each, and a file in `folder`, which is made with its
/// first piece. What was acknowledged is on disk; after a kill the rest of the file is cut off, and
/// a file without a row goes. All that was announced counts in its owner's bounds until the upload
/// ends: ModelHub::reserve. Somebody else's upload is unknown.
/// Thread-safety: one thread, the store's; write() and path_of() any thread.
class Uploads {
 public:
  /// All of them outlive this object.
  Uploads(core::Store& store, core::Path folder, const core::Clock& clock, core::Rng& rng,
          ModelHub& hub)
      : store_(store), folder_(std::move(folder)), clock_(clock), rng_(rng), hub_(hub) {}

  /// Who removes large files, which takes long: else they are removed at once.
  void remove_by(std::function<void(std::function<void()>)> aside) { aside_ = std::move(aside); }
  /// Called whenever one has begun, which ends by its time if nobody ends it.
  void on_begin(std::function<void()> told) { told_ = std::move(told); }
  /// Reads what there is; call once before the rest. Error: kDataLoss.
  core::Result<void> open();

  /// Announces a file. Errors: ModelHub::check_push's and reserve's, kInvalidArgument (no bytes, or
  /// too many), kResourceExhausted (as many are unfinished as one account may have).
  core::Result<Upload> create(const Account& owner, const std::string& model,
                              const PushOptions& options, const core::Digest& content,
                              std::int64_t bytes);
  /// Error: kNotFound.
  core::Result<Upload> find(const std::string& owner, const std::string& id) const;
  /// The oldest first.
  std::vector<Upload> list(const std::string& owner) const;

  /// One piece, from `offset` on: begin() and end() here, write() between them off the loop. Until
  /// end() nobody else may change the upload. Errors: kNotFound, kFailedPrecondition (another
  /// offset than what was received, or somebody is at it), kInvalidArgument (beyond its end).
  core::Result<Upload> begin_piece(const std::string& owner, const std::string& id,
                                   std::int64_t offset, std::int64_t bytes);
  /// Durable when it returns. Error: kDataLoss.
  static core::Result<void> write(const core::Path& file, std::int64_t offset,
                                  core::ByteView bytes);
  /// What there is now. Durable when it returns. Errors: `written`'s, the store's; what the file
  /// has lost is then to be sent anew.
  core::Result<Upload> end_piece(const Upload& upload, std::int64_t bytes,
                                 const core::Result<void>& written);

  /// For who makes a version of it: all of it is there, and nobody else changes it until
  /// end_push(). Errors: kNotFound, kFailedPrecondition (not whole, somebody is at it),
  /// kResourceExhausted (it failed a moment ago: staging takes seconds of a thread that all share),
  /// reserve's (a model more than its owner may have).
  core::Result<Upload> begin_push(const Account& owner, const std::string& id);
  /// In how many seconds begin_push() no longer refuses it for a push that has failed; 0: at once.
  std::int64_t retry_s(const std::string& owner, const std::string& id) const;
  /// Whether the file is what was announced: any thread, long. Errors: kInvalidArgument (another
  /// SHA-256), kDataLoss.
  static core::Result<void> check(const core::Path& file, const Upload& upload);
  /// It goes where it has become a version, or never will; else it can be pushed again,
  /// limits::kUploadRetryMs later. What its file has lost is to be sent anew.
  core::Result<void> end_push(const Upload& upload, bool is_over);

  /// Errors: kNotFound, kFailedPrecondition (somebody is at it).
  core::Result<void> drop(const std::string& owner, const std::string& id);
  /// All of an account that ends; what somebody is at ends by its time.
  core::Result<void> drop_all(const std::string& owner);
  /// Those whose time is over go.
  core::Result<void> expire();
  bool empty() const { return uploads_.empty(); }
  core::Path path_of(const std::string& id) const { return folder_ / id; }

 private:
  struct Kept {
    Upload upload;
    bool is_busy = false;
    std::int64_t retry_ns = 0;  // of the monotonic clock: no push before
  };
  core::Result<Kept*> free_of(const std::string& owner, const std::string& id);
  core::Result<void> keep(const Upload& upload);
  core::Result<void> note_loss(Kept& kept);
  core::Result<void> remove(const std::string& id);
  core::Result<void> sweep() const;
  void release(const Upload& upload);

  core::Store& store_;
  core::Path folder_;
  const core::Clock& clock_;
  core::Rng& rng_;
  ModelHub& hub_;
  std::function<void(std::function<void()>)> aside_;
  std::function<void()> told_;
  std::map<std::string, Kept> uploads_;  // by id
};

}  // namespace commensal::gateway
