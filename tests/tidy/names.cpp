// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <tests/tidy/names.hpp>

namespace commensal::tidy {

using std::string_view;

namespace {

constexpr string_view kLimits = "commensal/base/core/limits";

/// "compute/kernels/cuda" -> "compute::kernels::cuda".
std::string joined(string_view folders) {
  std::string name;
  for (const char c : folders) name += c == '/' ? "::" : std::string(1, c);
  return name;
}

/// True if namespace `name` is `outer` or lies in it.
bool nested(string_view name, string_view outer) {
  return name.starts_with(outer) &&
         (name.size() == outer.size() || name.substr(outer.size()).starts_with("::"));
}

/// True if `name` begins with the last folders of `path`: one, two or all of them.
bool fits(string_view name, string_view path) {
  const std::string folders = joined(path);
  for (std::size_t at = folders.size(); at != 0;) {
    at = folders.rfind("::", at - 1);
    if (at == std::string::npos) return nested(name, folders);
    if (nested(name, string_view(folders).substr(at + 2))) return true;
  }
  return false;
}

void check_namespace(const Source& source, int line, string_view name, string_view room,
                     std::vector<Finding>& findings) {
  constexpr string_view kOurs = "commensal::";
  if (name.starts_with(kOurs)) name.remove_prefix(kOurs.size());
  const auto report = [&](std::string what) {
    findings.push_back({source.path, line, std::move(what)});
  };
  if (source.path.starts_with(kLimits)) {
    if (name != "limits") report("the namespace of limits is commensal::limits");
    return;
  }
  string_view folder = std::string_view(source.path).substr(string_view("commensal/").size());
  folder = folder.substr(0, std::min(folder.find("/testing/"), folder.rfind('/')));
  if (!fits(name, room) && !fits(name, folder)) {
    report("namespace " + std::string(name) + " is not that of room " + std::string(room));
  }
  const bool is_support = source.path.find("/testing/") != std::string::npos;
  const bool says_so = (std::string(name) + "::").find("::testing::") != std::string::npos;
  if (is_support ? !says_so : says_so && !is_for_tests(source.path))
    report("folders testing/ and namespaces testing go together");
}

constexpr auto kTimes =
    std::to_array<string_view>({"timeout", "deadline", "delay", "interval", "period", "latency",
                                "duration", "elapsed", "patience"});

/// The last word of a name, in small letters: of kIdleTimeoutMax, timeout_ and timeout_max
/// "timeout".
std::string last_word(string_view name) {
  std::string words;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !words.empty()) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const string_view end : {"_", "_max", "_min", "_mean"}) {
    if (words.ends_with(end)) words.resize(words.size() - end.size());
  }
  return words.substr(words.rfind('_') + 1);  // npos + 1 is 0
}

void check_unit(const Source& source, int number, string_view line,
                std::vector<Finding>& findings) {
  static const std::regex kNumber(
      R"(\b(int|unsigned|float|double|u?int\d\d?_t|size_t) (\w+)(;|,|\)| =|\{|$))");
  using Matches = std::regex_iterator<string_view::const_iterator>;
  for (Matches at(line.begin(), line.end(), kNumber); at != Matches(); ++at) {
    const std::string name = (*at)[2];
    if (std::ranges::find(kTimes, last_word(name)) == kTimes.end()) continue;
    findings.push_back({source.path, number, name + " does not end in its unit, such as _ms"});
  }
}

}  // namespace

bool is_for_tests(string_view path) {
  return path.find("/testing/") != string_view::npos || path.starts_with("tests/") ||
         path.ends_with("_test.cpp") || path.ends_with("_bench.cpp") || path.ends_with("_fuzz.cpp");
}

std::vector<Finding> check_names(const Source& source, string_view code, const Arrows& arrows) {
  std::vector<Finding> findings;
  static const std::regex kBytesMax(R"(constexpr .*\b(k\w*BytesMax) *(=|\{))");
  const bool is_ours = source.path.starts_with("commensal/");
  const bool has_bounds = (is_ours || source.path.starts_with("apps/")) &&
                          !is_for_tests(source.path) && !source.path.starts_with(kLimits);
  const string_view room = arrows.room_of(source.path);
  int number = 0;
  for (const string_view line : lines_of(code)) {
    ++number;
    constexpr string_view kOpens = "namespace commensal::";
    if (is_ours && line.starts_with(kOpens)) {
      const string_view name = line.substr(string_view("namespace ").size());
      check_namespace(source, number, name.substr(0, name.find(' ')), room, findings);
    }
    std::match_results<string_view::const_iterator> match;
    if (has_bounds && line.find("BytesMax") != string_view::npos &&
        std::regex_search(line.begin(), line.end(), match, kBytesMax)) {
      findings.push_back({source.path, number,
                          match.str(1) + " is a bound: it belongs to " + std::string(kLimits)});
    }
    if (is_ours || source.path.starts_with("apps/")) check_unit(source, number, line, findings);
  }
  return findings;
}

}  // namespace commensal::tidy
