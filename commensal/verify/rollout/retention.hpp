// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/verify/rollout/record.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace commensal::rollout {

/// How many bytes are kept of which rollouts, by whose they are. Thread-safety: none.
class KeptBytes {
 public:
  /// It has so many now.
  void note(const core::Digest& rollout, const std::string& owner, std::uint64_t bytes);
  void forget(const core::Digest& rollout);
  std::uint64_t of(const std::string& owner) const;
  /// "": nobody knows. Until the next change.
  std::string_view owner_of(const core::Digest& rollout) const;
  std::uint64_t all() const { return all_; }

 private:
  struct Kept {
    std::string owner;
    std::uint64_t bytes = 0;
  };
  std::map<core::Digest, Kept> kept_;
  std::map<std::string, std::uint64_t> owned_;
  std::uint64_t all_ = 0;
};

/// What a party keeps of rollouts that are over.
struct Retention {
  std::size_t kept_max = 0;
  std::uint64_t bytes_less = 0;  // so many of those that are kept have to go besides
  /// Whether nobody needs it any more.
  std::function<bool(const core::Digest&)> may_go = {};
  /// Drops what else is kept of it; what it returns goes in one batch with the rollout's own end.
  /// Where it is absent there is nothing.
  std::function<core::Result<core::Store::Batch>(const core::Digest&)> forget = {};
  std::function<void(const core::Digest&)> gone = {};
  /// Whose they are. Where it is there, those of who keeps most go first: by number where there are
  /// too many, else by bytes. Else the oldest of all.
  const KeptBytes* owners = nullptr;
};

/// How many of `kept` have to go, that `more` find room beside the rest in `most`.
constexpr std::uint64_t excess(std::uint64_t kept, std::uint64_t more, std::uint64_t most) {
  return more > most ? kept : kept - std::min(kept, most - more);
}

/// Makes room for `more` rollouts in the store: the oldest go that may, of all or of one owner
/// after the other, and `gone` hears of each. Each goes in portions, its record last: one that a
/// crash cut short is the oldest there still, and goes next. Errors: kResourceExhausted (all others
/// are needed; then none goes), the store's, forget's.
core::Result<void> make_room(core::Store& store, std::size_t more, const Retention& retention);

}  // namespace commensal::rollout
