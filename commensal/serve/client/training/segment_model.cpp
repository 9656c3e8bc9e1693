// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/serve/client/training/segment_model.hpp>
#include <string>

namespace commensal::training {

using core::ErrorCode;
using core::Result;

Result<SegmentModel> SegmentModel::push(const train::Trainer& trainer, Gateway& gateway,
                                        const Terms& terms) {
  SegmentModel made;
  std::int64_t each = std::min(terms.each, trainer.plan().steps - trainer.done());
  if (each == 0) {
    COMMENSAL_ASSIGN(each, train::segment_length(trainer));
  }
  COMMENSAL_ASSIGN(made.segment_, train::make_segment(trainer, each));
  made.content_ = crypto::sha256(made.segment_.model);
  const auto bytes = std::make_shared<const core::Bytes>(made.segment_.model);
  COMMENSAL_ASSIGN(made.graph_, graph::onnx::import_bytes(*bytes, bytes));
  made.roots_ = receipt::model_roots(*made.graph_);
  made.audit_probability_ = terms.audit_probability;
  COMMENSAL_TRY(made.place(gateway, terms));
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal remote training 1");
  hash.update(made.content_);
  hash.update(trainer.training());  // what it begins from is an input of the segment
  hash.update(core::as_bytes(
      fmt::format("{} {} {}", terms.is_public, terms.audit_probability, made.model_.name)));
  made.key_ = core::to_hex(hash.finish()).substr(0, 32);
  return made;
}

Result<void> SegmentModel::place(Gateway& gateway, const Terms& terms) {
  const auto known = gateway.model(terms.model);
  if (!known && known.error().code != ErrorCode::kNotFound)
    return tl::unexpected(known.error());  // whatever is there might be replaced
  const bool is_there = known && known->content == content_;
  if (is_there && terms.is_public && !known->is_private) {
    model_ = *known;
    return {};
  }
  if (is_there && !terms.is_public && known->is_private) {
    COMMENSAL_ASSIGN(model_, gateway.allow(terms.model, terms.allowed));
    return {};
  }
  if (is_there && !terms.is_public) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "{} has these data and is public: --allow keeps them from nobody; remove it "
                      "first, or use --public",
                      terms.model);
  }
  const auto is_steps = [](const client::Port& one) { return one.name == train::kSegmentSteps; };
  if (known && std::ranges::none_of(known->inputs, is_steps)) {
    return core::fail(ErrorCode::kAlreadyExists,
                      "{} is no training but a model that is served: expected --model NAME of the "
                      "training's own",
                      terms.model);
  }
  client::PushRequest request;
  request.model = terms.model;
  request.bytes = segment_.model;
  request.is_private = !terms.is_public;
  request.allowed_providers = terms.allowed;
  COMMENSAL_ASSIGN(model_, gateway.push(request));
  return {};
}

// After a step that was made again there may be another state than before.
std::string SegmentModel::key_from(std::int64_t done, const core::Digest& state) const {
  constexpr std::size_t kDigits = 16;
  return fmt::format("{}-{}-{}-", key_, done, core::to_hex(state).substr(0, kDigits));
}

client::RolloutOrder SegmentModel::order(const train::Trainer& trainer, int attempt) const {
  client::RolloutOrder made;
  made.model = model_.name;
  made.version = model_.version;
  made.inputs = train::segment_inputs(trainer);
  receipt::take_roots(made.inputs);
  made.key = key_from(trainer.done(), receipt::taken_root(made.inputs)) + std::to_string(attempt);
  made.steps = static_cast<std::uint64_t>((trainer.plan().steps - trainer.done()) / segment_.each);
  for (const std::string& name : segment_.state)
    made.feeds.emplace_back(train::next_of(name), name);
  made.states = "finite";
  made.audit_probability = audit_probability_;
  return made;
}

}  // namespace commensal::training
