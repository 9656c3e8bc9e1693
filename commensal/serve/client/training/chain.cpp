// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/chain.hpp>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::Digest;
using core::ErrorCode;
using core::Result;

namespace {

/// The root of the state that a segment with these outputs ends in.
std::optional<Digest> root_after(tensor::NamedTensors outputs) {
  const std::string next = train::next_of("");
  if (outputs.size() < 2) return std::nullopt;
  outputs.erase(outputs.begin());  // the losses
  for (tensor::NamedTensor& output : outputs) {
    if (!output.name.starts_with(next)) return std::nullopt;
    output.name.erase(0, next.size());
  }
  return receipt::state_root(outputs);
}

std::uint64_t confirmed_of(const Link& link) {
  return link.is_here ? link.taken : std::min(link.info.confirmed_steps, link.taken);
}

/// Audits that matched may be of segments that were not taken, unless all were.
std::uint64_t audited_of(const Link& link) {
  if (link.is_here || link.taken < link.info.steps_done) return confirmed_of(link);
  return std::min(link.info.audits_matched, link.taken);
}

}  // namespace

Result<void> Chain::rebuild(const SegmentModel& model, const std::vector<Rollout>& listed) {
  std::int64_t done = trainer_.done();
  if (listed.empty() || done <= trainer_.checkpoint().confirmed) return {};
  Digest state = receipt::state_root(train::segment_inputs(trainer_));
  while (done > trainer_.checkpoint().confirmed) {
    COMMENSAL_ASSIGN(std::optional<Link> link, explain(model, listed, done, state));
    if (!link) return {};
    done = link->began;
    state = link->from;
    links_.push_front(*std::move(link));
  }
  return {};
}

/// By one that is trusted so far, if there is one: then nobody else's lie is in that state.
Result<std::optional<Link>> Chain::explain(const SegmentModel& model,
                                           const std::vector<Rollout>& listed, std::int64_t done,
                                           const Digest& state) {
  const std::int64_t each = model.segment().each;
  const auto is_trusted = [&](const Rollout& one) {
    return one.began + static_cast<std::int64_t>(one.info.trusted_steps) * each >= done;
  };
  for (const bool trusted : {true, false}) {
    for (Rollout one : listed) {
      if (is_trusted(one) != trusted) continue;
      COMMENSAL_ASSIGN(const bool leads,
                       leads_to(context_, model, one, done,
                                [&](const auto& made) { return root_after(made) == state; }));
      if (!leads) continue;
      const auto taken = static_cast<std::uint64_t>((done - one.began) / each);
      return Link{one.began, each, taken, one.from, one.info, one.steps};
    }
  }
  return std::optional<Link>();
}

void Chain::go_on_in(const Rollout& rollout, std::int64_t each) {
  cut(rollout.began);  // it vouches for all since then
  const auto taken = static_cast<std::uint64_t>((trainer_.done() - rollout.began) / each);
  links_.push_back({rollout.began, each, taken, rollout.from, rollout.info, rollout.steps});
}

void Chain::add_here(std::int64_t began, std::int64_t each) {
  links_.push_back({.began = began, .each = each, .taken = 1, .is_here = true});
}

const Link* Chain::last_of(const Digest& rollout) const {
  if (links_.empty() || links_.back().is_here || links_.back().info.id != rollout) return nullptr;
  return links_.back().end_of(links_.back().taken) == trainer_.done() ? &links_.back() : nullptr;
}

Result<bool> Chain::look_back() {
  for (Link& link : links_) {
    if (confirmed_of(link) == link.taken) continue;  // that stays
    COMMENSAL_TRY(ask_about(link));
    if (link.info.trusted_steps >= link.taken) continue;
    const RolloutInfo info = link.info;
    COMMENSAL_TRY(go_back(link));
    context_.outside.observer.told_end(trainer_.done(), info.provider, why_fallen(info));
    return true;
  }
  confirm();
  return false;
}

/// An audit that is open is no verdict.
Result<void> Chain::ask_about(Link& link) {
  std::int64_t wait_ms = 0;
  for (;;) {
    const auto ask = [&] {
      return context_.outside.gateway.rollout(link.info.id, link.info.steps_done, wait_ms);
    };
    auto news = client::ask_again(context_.outside.clock, kAwayMsMax, ask, context_.stop);
    // What has given way to others at the gateway was over and decided.
    if (!news && news.error().code == ErrorCode::kNotFound) return {};
    COMMENSAL_TRY(news);
    context_.under_way.heard(*news);
    const RolloutInfo info = believed(*std::move(news), context_.audits_all);
    const bool is_open = info.trusted_steps < link.taken && info.audits_open > 0;
    if (is_open && context_.is_stopped()) return {};
    if (!is_open) {
      link.info = info;
      return {};
    }
    context_.tell_waiting(info.reason);
    wait_ms = kNewsMs;
  }
}

Result<void> Chain::go_back(const Link& link) {
  const std::uint64_t trusted = link.info.trusted_steps;
  const std::int64_t done = link.end_of(trusted);
  if (trusted == 0) {
    COMMENSAL_TRY(take_beginning(link));
  } else {
    COMMENSAL_ASSIGN(const auto outputs, link.steps->outputs(trusted));
    COMMENSAL_TRY(train::take_segment(trainer_, outputs, done));
  }
  cut(done);
  context_.outside.observer.went_back(trainer_);
  return trainer_.save();
}

Result<void> Chain::take_beginning(const Link& link) {
  COMMENSAL_ASSIGN(const tensor::NamedTensors inputs, link.steps->inputs());
  if (receipt::state_root(inputs) != link.from) {
    return core::fail(ErrorCode::kDataLoss, "what rollout {} began from is another state now",
                      core::to_hex(link.info.id));
  }
  train::Checkpoint made = trainer_.checkpoint();
  for (std::size_t i = 1; i < std::min(made.state.size(), inputs.size()); ++i)
    made.state[i - 1].value = inputs[i].value;
  const auto count = static_cast<float>(link.began);
  made.state.back().value = tensor::Tensor::of<float>({}, std::span(&count, 1));
  made.step = link.began;
  made.losses.resize(static_cast<std::size_t>(link.began));
  return trainer_.take(std::move(made));
}

void Chain::cut(std::int64_t done) {
  std::erase_if(links_, [done](const Link& link) { return link.began >= done; });
  for (Link& link : links_)
    link.taken = std::min(link.taken, static_cast<std::uint64_t>((done - link.began) / link.each));
}

void Chain::confirm() {
  for (const Link& link : links_) {
    if (trainer_.checkpoint().confirmed < link.began) return;
    trainer_.confirm(link.end_of(confirmed_of(link)));
  }
}

End Chain::end() const {
  End end;
  for (const Link& link : links_) {
    end.segments += link.taken;
    end.audited += audited_of(link);
  }
  return end;
}

}  // namespace commensal::training
