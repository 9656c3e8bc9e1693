// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/http/api.hpp>

/// How a model's file becomes a version: the one way of all that bring files.
namespace commensal::http {

/// Addresses with commas between them. Error: kInvalidArgument.
core::Result<std::vector<crypto::Address>> addresses_in(std::string_view list);

/// Of `private`, `allow` and the privacy class; another name is refused, since a slip of the pen
/// would publish the model. Error: kInvalidArgument.
core::Result<gateway::PushOptions> push_options(const Params& said);

/// Replies with the model as JSON, which is written off the loop. On the loop.
void reply_model(const Services& services, const CallPtr& call, const Reply& reply,
                 core::Result<gateway::ModelVersion> model, int status = 200);

/// Why a push is refused. Of 429, Retry-After is `retry_s`, and there is none where that is 0: an
/// account's bounds and a model's pass with no time.
Response refusal_of_push(const core::Error& error, std::int64_t retry_s = 0);

struct FileBytes {
  core::ByteView bytes;
  std::shared_ptr<const void> owner;
};

/// A file that is to become a version, for which room was reserved.
struct PushedFile {
  std::string model;  // "owner/model"
  gateway::PushOptions options;
  /// Its bytes, off the loop; may take seconds. What it says of them a client is told.
  std::function<core::Result<FileBytes>()> open;
  /// On the loop, before the reply: the room is no longer needed. `is_staged`: the file is kept.
  std::function<void(const core::Result<gateway::ModelVersion>&, bool is_staged)> done;
};
/// Replies with 201 and the version, or why not. On the loop.
void push_file(const Services& services, const CallPtr& call, const Reply& reply, PushedFile file);

}  // namespace commensal::http
