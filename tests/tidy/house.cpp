// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tests/tidy/house.hpp>
#include <tests/tidy/includes.hpp>
#include <tests/tidy/names.hpp>

namespace commensal::tidy {

using std::string_view;

namespace {

constexpr string_view kOurs = "commensal/";

/// One call of commensal_room.
struct Declared {
  int line = 0;
  std::set<std::string, std::less<>> links, testing;  // rooms only
};
using House = std::map<std::string, Declared, std::less<>>;

House house_of(const Source& cmake, const Arrows& arrows, std::vector<Finding>& findings) {
  House house;
  const string_view text = cmake.text;
  constexpr string_view kCall = "commensal_room(";
  for (std::size_t at = text.find(kCall); at != string_view::npos; at = text.find(kCall, at + 1)) {
    const std::size_t begin = at + kCall.size();
    const auto words = words_of(text.substr(begin, text.find(')', at) - begin));
    const int line = line_at(text, at);
    if (words.empty() || !arrows.has(words[0])) {
      findings.push_back({cmake.path, line, "this room is missing in arrows.txt"});
      continue;
    }
    Declared& room = house[words[0]];
    room.line = line;
    std::string list;
    for (const std::string& word : words) {
      if (word == "WITHOUT" || word == "LINK" || word == "PRIVATE" || word == "TESTING") {
        list = word;
      } else if (arrows.has(word)) {
        if (list == "LINK") room.links.insert(word);
        if (list == "TESTING") room.testing.insert(word);
      }
    }
  }
  return house;
}

using Rooms = std::set<string_view>;

/// All rooms that come with `name`.
void follow(const House& house, string_view name, bool with_testing, Rooms& found) {
  const auto room = house.find(name);
  if (room == house.end() || !found.insert(room->first).second) return;
  for (const std::string& link : room->second.links) follow(house, link, false, found);
  if (!with_testing) return;
  for (const std::string& other : room->second.testing) follow(house, other, true, found);
}

}  // namespace

std::vector<Use> uses_of(const std::vector<Source>& sources, const Arrows& arrows) {
  std::vector<Use> uses;
  for (const Source& source : sources) {
    if (!is_cpp(source.path) && !is_c(source.path)) continue;
    const string_view room = arrows.room_of(source.path);
    for (const Include& include : includes_of(source.text, code_of(source.text))) {
      string_view target = include.target;
      const bool is_ours = target.starts_with(kOurs) && !is_foreign(target);
      if (!is_ours && !target.starts_with("apps/")) continue;
      if (is_ours) target.remove_prefix(kOurs.size());
      if (arrows.room_of(target) == room) continue;
      uses.push_back({room, target, is_for_tests(source.path)});
    }
  }
  return uses;
}

namespace {

/// Which of the arrows `sees` of a room no include of `used` needs.
void check_used(const Arrows& arrows, const Arrows::Room& room,
                const std::vector<std::string>& sees, const Rooms& used, const Source& table,
                std::vector<Finding>& findings) {
  const bool is_end = room.name == "lab" || room.name.starts_with("apps") || room.name == "tests";
  for (const std::string& seen : sees) {
    const auto held = [&](string_view target) { return arrows.holds(seen, target); };
    const std::string what = room.name + " includes nothing of ";
    if (std::ranges::none_of(used, held)) findings.push_back({table.path, room.line, what + seen});
    for (const Arrows::Room& inner : arrows.rooms()) {
      if (is_end || inner.name == seen || !held(inner.name)) continue;
      const bool is_used = std::ranges::any_of(
          used, [&](string_view target) { return arrows.room_of(target) == inner.name; });
      if (!is_used) {
        findings.push_back({table.path, room.line, what + inner.name + " (in " + seen + ")"});
      }
    }
  }
}

}  // namespace

std::vector<Finding> check_arrows_used(const std::vector<Use>& uses, const Arrows& arrows,
                                       const Source& table) {
  std::vector<Finding> findings;
  for (const Arrows::Room& room : arrows.rooms()) {
    const bool is_of_tests = room.name == "tests" || room.name == "apps";
    Rooms used, used_by_tests;
    for (const Use& use : uses) {
      if (use.room != room.name) continue;
      (use.by_tests && !is_of_tests ? used_by_tests : used).insert(use.target);
    }
    check_used(arrows, room, room.sees, used, table, findings);
    check_used(arrows, room, room.tests_see, used_by_tests, table, findings);
  }
  return findings;
}

std::vector<Finding> check_layers(const std::vector<Source>& sources, string_view folder,
                                  const Source& table) {
  std::map<std::string, int, std::less<>> layers;
  int number = 0;
  for (const string_view line : lines_of(table.text)) {
    ++number;
    if (trimmed(line).empty() || line.starts_with('#')) continue;
    for (const std::string& file : words_of(line.substr(line.find(':') + 1))) layers[file] = number;
  }
  const auto layer_of = [&](string_view path) {
    const string_view name = path.substr(folder.size());
    const auto found = layers.find(name.substr(0, name.find('.')));
    return found == layers.end() ? 0 : found->second;
  };
  std::vector<Finding> findings;
  for (const Source& source : sources) {
    if (!source.path.starts_with(folder) || is_for_tests(source.path)) continue;
    const int own = layer_of(source.path);
    if (own == 0) findings.push_back({source.path, 1, "in no layer of " + table.path});
    for (const Include& include : includes_of(source.text, code_of(source.text))) {
      if (!include.target.starts_with(folder) || layer_of(include.target) <= own) continue;
      findings.push_back(
          {source.path, include.line,
           std::string(include.target) + " is in a higher layer (" + table.path + ")"});
    }
  }
  return findings;
}

std::vector<Finding> check_links(const Source& cmake, const std::vector<Use>& uses,
                                 const Arrows& arrows) {
  std::vector<Finding> findings;
  const House house = house_of(cmake, arrows, findings);
  for (const auto& [name, room] : house) {
    Rooms linked, with_testing, used;
    follow(house, name, false, linked);
    follow(house, name, true, with_testing);
    const auto report = [&](std::string what) {
      findings.push_back({cmake.path, room.line, name + what});
    };
    for (const Use& use : uses) {
      if (use.room != name) continue;
      const string_view target = arrows.room_of(use.target);
      if (!used.insert(target).second && !use.by_tests) continue;
      if (!house.contains(target)) continue;
      if (!(use.by_tests ? with_testing : linked).contains(target)) {
        report(" includes " + std::string(use.target) + ", but does not link its room");
      }
    }
    for (const std::string& link : room.links) {
      if (!arrows.sees_some_of(name, link)) report(" may not link " + link);
      if (!used.contains(link)) report(" links " + link + ", but includes nothing of it");
    }
  }
  return findings;
}

}  // namespace commensal::tidy
