// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/disk_full.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/push.hpp>
#include <commensal/serve/oip/acts.hpp>
#include <commensal/serve/oip/management.hpp>
#include <commensal/serve/oip/privacy.hpp>

namespace commensal::http {

using core::ErrorCode;
using gateway::Gateway;

namespace {

constexpr int kCreated = 201;

/// Our disk's errors name our folders, which a client is not to see: the log has them.
core::Error not_kept() {
  return {ErrorCode::kDataLoss, "the gateway cannot keep the model's file: its log says why"};
}

struct Staged {
  core::Result<gateway::ModelFile> file;
  bool is_disks = false;  // the error, not the file's
};

Staged stage(const gateway::ModelHub& hub, const PushedFile& pushed) {
  const auto opened = pushed.open();
  if (!opened) return {tl::unexpected(opened.error())};
  Staged made{hub.stage(opened->bytes)};
  made.is_disks = !made.file && made.file.error().code == ErrorCode::kDataLoss;
  return made;
}

void register_file(const Services& services, const CallPtr& call, const Reply& reply,
                   const PushedFile& pushed, const Staged& staged) {
  Gateway& gateway = services.gateway;
  const core::Result<gateway::ModelFile>& file = staged.file;
  if (!file) {
    const bool is_full = core::is_disk_full(file.error());
    if (is_full || staged.is_disks) gateway.report(file.error());
    pushed.done(tl::unexpected(file.error()), false);
    return reply(refusal_of_push(staged.is_disks && !is_full ? not_kept() : file.error()));
  }
  auto version = oip::as_act<gateway::ModelVersion>(
      gateway, *call, {.what = "model.push", .on = pushed.model},
      [&] { return gateway.hub().push(call->account, pushed.model, *file, pushed.options); });
  if (!version) {  // its file is there
    const auto dropped = gateway.hub().drop(call->account, *file);
    if (!dropped) gateway.report(dropped.error());
  }
  pushed.done(version, true);
  reply_model(services, call, reply, std::move(version), kCreated);
}

}  // namespace

core::Result<std::vector<crypto::Address>> addresses_in(std::string_view list) {
  std::vector<crypto::Address> addresses;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    COMMENSAL_ASSIGN(const crypto::Address address,
                     crypto::address_from_text(list.substr(0, comma)));
    addresses.push_back(address);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return addresses;
}

core::Result<gateway::PushOptions> push_options(const Params& said) {
  gateway::PushOptions options;
  for (const auto& [name, value] : said) {
    if (name == "private") {
      if (!value.empty() && value != "0" && value != "1")
        return core::fail(ErrorCode::kInvalidArgument, "private is 0 or 1");
      options.is_private = value == "1";
    } else if (name == "allow") {
      COMMENSAL_ASSIGN(options.allowed_providers, addresses_in(value));
    } else if (name == oip::kPrivacyClass) {
      COMMENSAL_ASSIGN(options.privacy_class, oip::read_privacy_class(value));
    } else {
      return core::fail(ErrorCode::kInvalidArgument,
                        "unknown parameter '{}', expected private, allow or {}", name.substr(0, 32),
                        oip::kPrivacyClass);
    }
  }
  return options;
}

Response refusal_of_push(const core::Error& error, std::int64_t retry_s) {
  Response response = error_response(error);
  std::erase_if(response.headers, [&](auto& header) {
    if (response.status != 429 || header.first != "Retry-After") return false;
    header.second = std::to_string(retry_s);
    return retry_s == 0;
  });
  return response;
}

void reply_model(const Services& services, const CallPtr& call, const Reply& reply,
                 core::Result<gateway::ModelVersion> model, int status) {
  if (!model) return reply(error_response(model.error()));
  const auto found = std::make_shared<const gateway::ModelVersion>(*std::move(model));
  oip::post_writing(services, call, *found, [call, found, reply, status] {
    Response response = json_response(model_json(*found));
    response.status = status;
    reply(std::move(response));
  });
}

void push_file(const Services& services, const CallPtr& call, const Reply& reply, PushedFile file) {
  services.staging->post(call->line, [&services, call, reply, file = std::move(file)] {
    services.loop.post(
        [&services, call, reply, file, staged = stage(services.gateway.hub(), file)] {
          register_file(services, call, reply, file, staged);
        });
  });
}

}  // namespace commensal::http
