// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <tests/tidy/arrows.hpp>

namespace commensal::tidy {
Arrows Arrows::parse(const Source& table, std::vector<Finding>& findings) {
  Arrows arrows;
  int number = 0;
  for (const std::string_view line : lines_of(table.text)) {
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      findings.push_back({table.path, number, "expected \"room: what it may include\""});
      continue;
    }
    const std::string_view lists = line.substr(colon + 1);
    const std::size_t bar = std::min(lists.find('|'), lists.size());
    Room room{std::string(line.substr(0, colon)), words_of(lists.substr(0, bar)),
              words_of(lists.substr(std::min(bar + 1, lists.size()))), number};
    std::vector<std::string> all = room.sees;
    std::ranges::copy(room.tests_see, std::back_inserter(all));
    for (std::string_view seen : all) {
      if (seen.ends_with('/')) seen.remove_suffix(1);
      const bool is_earlier = std::ranges::any_of(arrows.rooms_, [&](const Room& earlier) {
        return within(seen, earlier.name) || within(earlier.name, seen);
      });
      if (!is_earlier)
        findings.push_back({table.path, number, "no earlier room holds " + std::string(seen)});
    }
    arrows.rooms_.push_back(std::move(room));
  }
  return arrows;
}

const Arrows::Room* Arrows::find(std::string_view name) const {
  const auto it = std::ranges::find(rooms_, name, &Room::name);
  return it == rooms_.end() ? nullptr : &*it;
}

std::string_view Arrows::room_of(std::string_view path) const {
  if (path.starts_with("commensal/")) path.remove_prefix(std::string_view("commensal/").size());
  std::string_view best;
  for (const Room& room : rooms_) {
    if (within(path, room.name) && room.name.size() > best.size()) best = room.name;
  }
  return best;
}

bool Arrows::holds(std::string_view seen, std::string_view target) const {
  if (seen.ends_with('/')) return within(target, seen.substr(0, seen.size() - 1));
  return has(seen) ? room_of(target) == seen : within(target, seen);
}

bool Arrows::allows(std::string_view name, std::string_view target, bool by_tests) const {
  if (room_of(target) == name) return true;
  const Room* room = find(name);
  if (room == nullptr) return false;
  const auto held = [&](const std::string& seen) { return holds(seen, target); };
  return std::ranges::any_of(room->sees, held) ||
         (by_tests && std::ranges::any_of(room->tests_see, held));
}

bool Arrows::sees_some_of(std::string_view name, std::string_view other) const {
  if (allows(name, other, true)) return true;
  const Room* room = find(name);
  const auto held = [&](const std::string& seen) { return within(seen, other); };
  return room != nullptr &&
         (std::ranges::any_of(room->sees, held) || std::ranges::any_of(room->tests_see, held));
}

}  // namespace commensal::tidy
