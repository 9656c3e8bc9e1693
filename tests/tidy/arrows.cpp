// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <tests/tidy/arrows.hpp>

namespace commensal::tidy {
namespace {

/// True if `path` is `folder` or lies under it.
bool within(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

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
    Room room{std::string(line.substr(0, colon)), words_of(line.substr(colon + 1))};
    for (const std::string& seen : room.sees) {
      const bool is_earlier = std::ranges::any_of(arrows.rooms_, [&](const Room& earlier) {
        return within(seen, earlier.name) || within(earlier.name, seen);
      });
      if (!is_earlier) findings.push_back({table.path, number, "no earlier room holds " + seen});
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

bool Arrows::allows(std::string_view name, std::string_view target) const {
  if (room_of(target) == name) return true;
  const Room* room = find(name);
  return room != nullptr && std::ranges::any_of(room->sees, [&](const std::string& seen) {
           return within(target, seen);
         });
}

std::vector<Finding> Arrows::check_cmake(const Source& cmake) const {
  std::vector<Finding> findings;
  const std::string_view text = cmake.text;
  constexpr std::string_view kCall = "commensal_room(";
  for (std::size_t at = text.find(kCall); at != std::string_view::npos;
       at = text.find(kCall, at + 1)) {
    const int line = line_at(text, at);
    const std::size_t begin = at + kCall.size();
    const auto words = words_of(text.substr(begin, text.find(')', at) - begin));
    if (words.empty() || find(words[0]) == nullptr) {
      findings.push_back({cmake.path, line, "this room is missing in arrows.txt"});
      continue;
    }
    for (const std::string& word : words) {
      // A folder-granular link against a file-granular arrow: one allowed file is enough.
      const Room* linked = find(word);
      if (linked == nullptr || allows(words[0], word)) continue;
      if (std::ranges::none_of(find(words[0])->sees,
                               [&](const std::string& seen) { return within(seen, word); })) {
        findings.push_back({cmake.path, line, words[0] + " may not link " + word});
      }
    }
  }
  return findings;
}

}  // namespace commensal::tidy
