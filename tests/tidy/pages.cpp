// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <tests/tidy/pages.hpp>

namespace commensal::tidy {
namespace {

using std::string_view;

/// `page` with the contents of fenced, indented and inline code blanked; newlines stay.
std::string prose_of(string_view page) {
  std::string prose;
  bool fenced = false;
  for (const string_view line : lines_of(page)) {
    const bool fence = line.starts_with("```");
    const bool hidden = fenced || fence || line.starts_with("    ");
    bool code = false;
    for (const char c : line) {
      if (c == '`') code = !code;
      prose += hidden || (code && c != '`') ? ' ' : c;
    }
    fenced = fenced != fence;
    prose += '\n';
  }
  return prose;
}

struct Link {
  std::size_t at = 0;
  std::string path, anchor;
};

/// The `](target)` of a text, but for those to the world.
std::vector<Link> links_of(string_view prose) {
  std::vector<Link> links;
  for (std::size_t at = prose.find("]("); at != string_view::npos; at = prose.find("](", at + 1)) {
    const string_view rest = prose.substr(at + 2);
    const string_view target = rest.substr(0, rest.find(')'));
    if (target.find(':') != string_view::npos) continue;
    const std::size_t hash = std::min(target.find('#'), target.size());
    links.push_back({at, std::string(target.substr(0, hash)),
                     std::string(target.substr(std::min(hash + 1, target.size())))});
  }
  return links;
}

}  // namespace

std::set<std::string, std::less<>> anchors_of(string_view page) {
  std::set<std::string, std::less<>> anchors;
  bool fenced = false;
  for (const string_view line : lines_of(page)) {
    fenced = fenced != line.starts_with("```");
    const std::size_t level = std::min(line.find_first_not_of('#'), line.size());
    if (fenced || level == 0 || level == line.size() || line[level] != ' ') continue;
    std::string anchor;
    for (const char c : trimmed(line.substr(level))) {
      if (c == ' ' || c == '-') anchor += '-';
      if (is_word(c)) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    std::string unique = anchor;
    for (int n = 1; anchors.contains(unique); ++n) unique = anchor + "-" + std::to_string(n);
    anchors.insert(unique);
  }
  return anchors;
}

std::vector<Finding> check_page_links(const std::vector<Source>& pages,
                                      const std::function<bool(const std::string&)>& exists) {
  std::vector<Finding> findings;
  for (const Source& page : pages) {
    const std::string prose = prose_of(page.text);
    for (const Link& link : links_of(prose)) {
      const std::filesystem::path folder = std::filesystem::path(page.path).parent_path();
      const std::string path =
          link.path.empty() ? page.path : (folder / link.path).lexically_normal().generic_string();
      const auto report = [&](const std::string& what) {
        findings.push_back({page.path, line_at(prose, link.at), what});
      };
      if (!exists(path)) {
        report("a link to " + path + ", which is not there");
        continue;
      }
      if (link.anchor.empty()) continue;
      const auto to = std::ranges::find(pages, path, &Source::path);
      if (to == pages.end() || !anchors_of(to->text).contains(link.anchor)) {
        report(path + " has no heading #" + link.anchor);
      }
    }
  }
  return findings;
}

}  // namespace commensal::tidy
