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
  bool allows(std::string_view room, std::string_view target) const;

  /// Compares with the rooms and LINK lists of the root CMakeLists.txt.
  std::vector<Finding> check_cmake(const Source& cmake) const;

 private:
  struct Room {
    std::string name;
    std::vector<std::string> sees;
  };
  const Room* find(std::string_view name) const;

  std::vector<Room> rooms_;
};

}  // namespace commensal::tidy
