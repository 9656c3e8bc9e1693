// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <tests/tidy/source.hpp>
#include <vector>

namespace commensal::tidy {

/// The table of allowed includes (arrows.txt tells its format).
class Arrows {
 public:
  /// A malformed line or a room that names a later one is reported in `findings`.
  static Arrows parse(const Source& table, std::vector<Finding>& findings);

  /// The room that a file of the repository belongs to; "" outside every room.
  std::string_view room_of(std::string_view path) const;

  /// `target` as in an include, without "commensal/": "base/core/bytes.hpp", or a room's name.
  /// `by_tests`: of what only tests may include too.
  bool allows(std::string_view room, std::string_view target, bool by_tests = false) const;
  /// True if `seen`, what stands after the colon, holds `target`: a room without the rooms inside
  /// it, a folder (of no room, or with "/" at its end) with all of them, or a file.
  bool holds(std::string_view seen, std::string_view target) const;

  /// The same for a whole room, by tests or not: one file of it that may be included is enough.
  bool sees_some_of(std::string_view room, std::string_view other) const;

  struct Room {
    std::string name;
    std::vector<std::string> sees;
    std::vector<std::string> tests_see;  // besides
    int line = 0;
  };
  const std::vector<Room>& rooms() const { return rooms_; }
  bool has(std::string_view room) const { return find(room) != nullptr; }

 private:
  const Room* find(std::string_view name) const;

  std::vector<Room> rooms_;
};

}  // namespace commensal::tidy
