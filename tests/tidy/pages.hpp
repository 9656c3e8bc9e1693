// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <tests/tidy/source.hpp>
#include <vector>

/// The documents: what they point at is there.
namespace commensal::tidy {

/// What a link may name of a page: its headings, spelt as GitHub does it.
std::set<std::string, std::less<>> anchors_of(std::string_view page);

/// Links of `pages` (Markdown) to other files of the tree that are not there, as `exists` says of a
/// path from the root, and to headings that the page they name does not have. Links to the world
/// are not looked at, nor is code.
std::vector<Finding> check_page_links(const std::vector<Source>& pages,
                                      const std::function<bool(const std::string&)>& exists);

}  // namespace commensal::tidy
