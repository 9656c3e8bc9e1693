// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/releases.hpp>

namespace commensal::provider {

namespace {

constexpr std::int64_t kLookAgainMs = 1'000, kLookAgainMsMax = 60'000;

}  // namespace

std::uint64_t Releases::now_ms() const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(deps_.clock.wall_ms(), 0));
}

void Releases::on_connect() {
  gateway_.reset();
  asked_.clear();
}

/// One write; each is answered, though it was asked before.
void Releases::handle(const rpc::Release& message) {
  if (!gateway_) return;
  std::vector<core::Digest> nothing;
  const auto noted = deps_.store.together([&]() -> core::Result<void> {
    for (const core::Digest& model : message.models) {
      COMMENSAL_ASSIGN(const bool is_held,
                       deps_.holdings.let_go({model, *gateway_}, deps_.is_in_use(model)));
      if (!is_held) nothing.push_back(model);
    }
    return {};
  });
  for (const core::Digest& model : message.models) {
    const auto before = asked_.find(model);
    if (before != asked_.end() && !before->second) answer(model, now_ms() + kLookAgainMs);
    asked_[model] = false;
    if (!noted) answer(model, now_ms() + kLookAgainMsMax);  // it is asked again
  }
  if (!noted) return;
  for (const core::Digest& model : nothing) {
    if (deps_.holdings.is_anothers({model, *gateway_})) {
      answer(model, 0);
    } else if (!removing_.contains(model)) {
      remove(model);  // the cache let go of the file: there may be something of it yet
    }
  }
  look();
}

void Releases::answer(const core::Digest& model, std::uint64_t until_ms) {
  const auto asked = asked_.find(model);
  if (asked == asked_.end() || (until_ms != 0 && asked->second)) return;
  asked->second = true;
  if (until_ms == 0) asked_.erase(asked);
  deps_.gateway.send(rpc::Released{{{model, until_ms}}});
}

std::uint64_t Releases::due_ms(const Holdings::Key& key) const {
  const std::uint64_t owed_ms = deps_.holdings.find(key)->until_ms;
  const bool is_in_use = deps_.is_in_use(key.model);
  return std::max(owed_ms, is_in_use ? now_ms() + kLookAgainMs : 0);
}

void Releases::look() {
  std::optional<std::uint64_t> next;
  for (const Holdings::Key& key : deps_.holdings.let_go()) {
    const std::uint64_t due = due_ms(key);
    if (due <= now_ms()) {
      settle(key);
      continue;
    }
    if (!next || due < *next) next = due;
    const bool is_asked = gateway_ == key.gateway && asked_.contains(key.model);
    if (!is_asked || asked_.at(key.model)) continue;
    answer(key.model, due);
    if (deps_.is_in_use(key.model) || deps_.holdings.is_anothers(key)) continue;
    deps_.loop.offload(
        core::Loop::Lane::kComputing,
        [executor = deps_.executor, model = key.model] { executor->forget(model); }, [] {});
  }
  if (!next) return;
  const auto wait_ms = static_cast<std::int64_t>(*next - now_ms());
  look_later(std::clamp(wait_ms, kLookAgainMs, kLookAgainMsMax));
}

void Releases::look_later(std::int64_t delay_ms) {
  const std::int64_t at_ms = deps_.clock.monotonic_ns() / 1'000'000 + delay_ms;
  if (next_ms_ && *next_ms_ <= at_ms) return;
  next_ms_ = at_ms;
  deps_.loop.after(delay_ms, [weak = weak_from_this(), at_ms] {
    const auto self = weak.lock();
    if (!self || self->next_ms_ != at_ms) return;
    self->next_ms_.reset();
    self->look();
  });
}

/// Others who have let go of it too may have something to settle yet.
void Releases::settle(const Holdings::Key& key) {
  if (removing_.contains(key.model)) return;
  const bool is_last = !deps_.holdings.is_anothers(key) &&
                       std::ranges::none_of(deps_.holdings.let_go(), [&](const auto& other) {
                         return other.model == key.model && due_ms(other) > now_ms();
                       });
  if (is_last) return remove(key.model);
  if (!deps_.holdings.end(key)) return look_later(kLookAgainMsMax);
  if (gateway_ == key.gateway) answer(key.model, 0);
}

void Releases::remove(const core::Digest& model) {
  removing_.insert(model);
  const auto is_gone = std::make_shared<bool>(false);
  deps_.loop.offload(
      core::Loop::Lane::kComputing,
      [executor = deps_.executor, model, path = deps_.cache.path_of(model), is_gone] {
        executor->forget(model);
        std::error_code failed;
        std::filesystem::remove(path, failed);
        *is_gone = !failed;
      },
      [weak = weak_from_this(), model, is_gone] {
        if (const auto self = weak.lock()) self->removed(model, *is_gone);
      });
}

bool Releases::is_let_go(const core::Digest& model) const {
  return std::ranges::any_of(deps_.holdings.let_go(),
                             [&](const auto& key) { return key.model == model; });
}

/// What was asked for again meanwhile is fetched again, behind the removal; and perhaps let go of
/// once more.
void Releases::removed(const core::Digest& model, bool is_gone) {
  removing_.erase(model);
  if (!is_gone) return look_later(kLookAgainMsMax);
  deps_.cache.forget(model);
  const bool has_come = deps_.is_in_use(model) || deps_.cache.has(model);
  if (has_come && is_let_go(model)) return look_later(0);
  for (const Holdings::Key& key : deps_.holdings.let_go()) {
    if (key.model == model && !deps_.holdings.end(key)) return look_later(kLookAgainMsMax);
  }
  answer(model, 0);
  deps_.changed();
}

}  // namespace commensal::provider
