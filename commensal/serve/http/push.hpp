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

/// A file that is to become a version, for which room was reserved.
struct PushedFile {
  std::string model;  // "owner/model"
  gateway::PushOptions options;
  /// ModelHub::stage of its bytes, off the loop; may take seconds.
  std::function<core::Result<gateway::ModelFile>()> stage;
  /// On the loop, before the reply: the room is no longer needed. `is_staged`: stage() went well.
  std::function<void(const core::Result<gateway::ModelVersion>&, bool is_staged)> done;
};
/// Replies with 201 and the version, or why not. On the loop.
void push_file(const Services& services, const CallPtr& call, const Reply& reply, PushedFile file);

}  // namespace commensal::http
