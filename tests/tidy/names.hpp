// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <tests/tidy/arrows.hpp>
#include <tests/tidy/source.hpp>
#include <vector>

namespace commensal::tidy {

/// True for tests, benches, fuzz targets and what lies in a folder testing/: no product has it.
bool is_for_tests(std::string_view path);

/// What names tell, in the rooms of commensal/. Namespaces: a file's begins with commensal:: and
/// the last folders of its room, or of a folder inside it, as many as it likes; in folders testing/
/// it has their name too, which outside is for tests only. Limits: constants k...BytesMax, bounds
/// of what is read and kept, are in the files commensal/base/core/limits*.hpp, whose namespace is
/// commensal::limits. Units: a number that is a time (timeout, delay, ...) ends in its unit. `code`
/// is code_of(source.text).
std::vector<Finding> check_names(const Source& source, std::string_view code, const Arrows& arrows);

}  // namespace commensal::tidy
