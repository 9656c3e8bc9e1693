// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
    Room room{std::string(line.substr(0, colon)), words_of(line.substr(colon + 1)), number};
    for (std::string_view seen : room.sees) {
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

bool Arrows::allows(std::string_view name, std::string_view target) const {
  if (room_of(target) == name) return true;
  const Room* room = find(name);
  return room != nullptr && std::ranges::any_of(room->sees, [&](const std::string& seen) {
           return holds(seen, target);
         });
}

bool Arrows::sees_some_of(std::string_view name, std::string_view other) const {
  if (allows(name, other)) return true;
  const Room* room = find(name);
  return room != nullptr && std::ranges::any_of(room->sees, [&](const std::string& seen) {
           return within(seen, other);
         });
}

}  // namespace commensal::tidy
