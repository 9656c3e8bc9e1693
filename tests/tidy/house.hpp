// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <tests/tidy/arrows.hpp>
#include <tests/tidy/source.hpp>
#include <vector>

namespace commensal::tidy {

/// Which room of the table includes what of other rooms.
struct Use {
  std::string_view room, target;  // as in Arrows::allows; they lie in the sources
  bool by_tests = false;          // by tests or test support
};
std::vector<Use> uses_of(const std::vector<Source>& sources, const Arrows& arrows);

/// An arrow that no include of the room's own sources needs (of its tests, for theirs); an arrow to
/// a folder of several rooms of which some are not needed, but for the ends of the house (lab,
/// apps, tests).
std::vector<Finding> check_arrows_used(const std::vector<Use>& uses, const Arrows& arrows,
                                       const Source& table);

/// The order inside a folder, which ends in "/": a file in no layer of `table` (its format is told
/// there), and an include of a file in a higher one.
std::vector<Finding> check_layers(const std::vector<Source>& sources, std::string_view folder,
                                  const Source& table);

/// The rooms and LINK lists of the root CMakeLists.txt against table and includes: a room links
/// only what it may include, what it includes is linked, over other rooms or not (by tests: or
/// named by TESTING), and each room after LINK is one that it includes something of.
std::vector<Finding> check_links(const Source& cmake, const std::vector<Use>& uses,
                                 const Arrows& arrows);

}  // namespace commensal::tidy
