// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/commensal/remote_model.hpp>
#include <apps/common/progress.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>

namespace commensal::apps {

using core::ErrorCode;
using core::Result;

Result<RemoteModel> RemoteModel::push(const train::Trainer& trainer, client::Client& client,
                                      const RemoteTraining& how) {
  RemoteModel made;
  std::int64_t each = std::min(how.each, trainer.plan().steps - trainer.done());
  if (each == 0) {
    COMMENSAL_ASSIGN(each, train::segment_length(trainer));
  }
  COMMENSAL_ASSIGN(made.segment_, train::make_segment(trainer, each));
  made.content_ = crypto::sha256(made.segment_.model);
  const auto bytes = std::make_shared<const core::Bytes>(made.segment_.model);
  COMMENSAL_ASSIGN(made.graph_, graph::onnx::import_bytes(*bytes, bytes));
  made.roots_ = receipt::model_roots(*made.graph_);
  made.audit_probability_ = how.audit_probability;
  COMMENSAL_TRY(made.place(trainer, client, how));
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal remote training 1");
  hash.update(made.content_);
  hash.update(core::as_bytes(
      fmt::format("{} {} {}", how.is_public, how.audit_probability, made.model_.name)));
  made.key_ = core::to_hex(hash.finish()).substr(0, 32);
  return made;
}

Result<void> RemoteModel::place(const train::Trainer& trainer, client::Client& client,
                                const RemoteTraining& how) {
  const std::string stem = trainer.plan().model.stem().string() + "-training";
  client::PushRequest request;
  COMMENSAL_ASSIGN(request.model, name_to_push(client, how.model.empty() ? stem : how.model));
  request.bytes = segment_.model;
  request.is_private = !how.is_public;
  for (const std::string& text : how.allowed) {
    COMMENSAL_ASSIGN(request.allowed_providers.emplace_back(), crypto::address_from_text(text));
  }
  const auto known = client.model(request.model);
  const bool is_there = known && known->content == content_;
  if (is_there && how.is_public && !known->is_private) {
    model_ = *known;
    return {};
  }
  if (is_there && !how.is_public && known->is_private) {
    COMMENSAL_ASSIGN(model_, client.allow(request.model, request.allowed_providers));
    return {};
  }
  if (!is_there || how.is_public) return place(client, std::move(request));
  return core::fail(ErrorCode::kFailedPrecondition,
                    "{} has these data and is public: --allow keeps them from nobody; remove it "
                    "first, or use --public",
                    request.model);
}

Result<void> RemoteModel::place(client::Client& client, client::PushRequest request) {
  Progress progress("push");
  request.progress = [&progress](std::size_t done, std::size_t total) {
    progress.show(done, total);
  };
  COMMENSAL_ASSIGN(model_, client.push(request));
  return {};
}

client::RolloutOrder RemoteModel::order(const train::Trainer& trainer, int attempt) const {
  client::RolloutOrder made;
  made.model = model_.name;
  made.version = model_.version;
  made.key = fmt::format("{}-{}-{}", key_, trainer.done(), attempt);
  made.steps = static_cast<std::uint64_t>((trainer.plan().steps - trainer.done()) / segment_.each);
  for (const std::string& name : segment_.state)
    made.feeds.emplace_back(train::next_of(name), name);
  made.states = "finite";
  made.audit_probability = audit_probability_;
  made.inputs = train::segment_inputs(trainer);
  return made;
}

}  // namespace commensal::apps
