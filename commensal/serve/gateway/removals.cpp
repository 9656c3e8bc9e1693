// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/serve/gateway/removals.hpp>
#include <utility>

namespace commensal::gateway {

Removals::Removals(const Dependencies& deps) : deps_(deps) {
  deps_.hub.on_removals([this] { watch(); });
  deps_.uploads.on_begin([this] { watch(); });
}

void Removals::watch() {
  if (deps_.hub.is_purging() && !std::exchange(purges_, true)) {
    deps_.loop.post([this] { purge(); });
  }
  const bool has_some = deps_.hub.has_removals() || !deps_.uploads.empty();
  if (!has_some || std::exchange(looks_, true)) return;
  deps_.loop.after(limits::kRemovalLookMs, [this] { look(); });
}

void Removals::purge() {
  purges_ = false;
  deps_.events.report(deps_.hub.purge());  // which tells whether there is more
}

void Removals::look() {
  looks_ = false;
  deps_.events.report(deps_.uploads.expire());
  // There are few cases at a time, and what they are about is kept.
  std::set<core::Digest> of_cases;
  for (const core::Digest& receipt : deps_.accusations.receipts()) {
    if (const auto record = deps_.book.find(receipt)) of_cases.insert(record->model_content);
  }
  const std::int64_t now_ms = deps_.clock.wall_ms();
  const ModelHub::Needs needs{.is_needed =
                                  [&](const core::Digest& content) {
                                    return of_cases.contains(content) ||
                                           deps_.rollouts.needs_model(content) ||
                                           deps_.book.needs_model(content, now_ms);
                                  },
                              .named_ms = deps_.book.limits().age_ms_max};
  deps_.events.report(deps_.hub.remove_files(needs));
  watch();
}

}  // namespace commensal::gateway
