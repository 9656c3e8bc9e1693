// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tests/tidy/includes.hpp>

namespace commensal::tidy {

using std::string_view;

namespace {

/// What the path of a foreign header begins with.
constexpr auto kLeafOnly =
    std::to_array<string_view>({"grpc/",     "grpc++/",   "grpcpp/",   "google/protobuf/",
                                "sqlite3.h", "libpq",     "onnx/",     "boost/",
                                "openssl/",  "secp256k1", "cryptopp/", "crypto++/",
                                "hwy/",      "nlohmann/", "yaml-cpp/", "zip.h",
                                "jpeglib.h", "png.h",     "re2/",      "cuda",
                                "zlib.h"});

struct File {
  const Source* source;
  string_view room;
  std::vector<Include> includes;
};

/// The headers that show a foreign one to whoever includes them.
std::set<string_view> leaf_headers(const std::map<string_view, File>& files) {
  std::set<string_view> leaves;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [path, file] : files) {
      if (!path.ends_with(".hpp") || leaves.contains(path)) continue;
      const bool is_leaf = std::ranges::any_of(file.includes, [&](const Include& include) {
        if (is_foreign(include.target)) return true;
        return leaves.contains(include.target) && files.at(include.target).room == file.room;
      });
      if (is_leaf) grows = leaves.insert(path).second;
    }
  }
  return leaves;
}

}  // namespace

bool is_foreign(string_view target) {
  return target.ends_with(".pb.h") || std::ranges::any_of(kLeafOnly, [&](string_view prefix) {
           return target.starts_with(prefix);
         });
}

std::vector<Include> includes_of(string_view text, string_view code) {
  std::vector<Include> includes;
  int number = 0;
  for (const string_view line : lines_of(code)) {
    ++number;
    string_view words = trimmed(line);
    if (!words.starts_with('#')) continue;
    words = trimmed(words.substr(1));
    if (!words.starts_with("include")) continue;
    words = trimmed(words.substr(string_view("include").size()));
    if (words.empty() || (words.front() != '<' && words.front() != '"')) continue;
    // Read the name from the text: in the code a quoted one is blanked.
    const auto begin = static_cast<std::size_t>(words.data() - code.data()) + 1;
    const char close = words.front() == '<' ? '>' : '"';
    includes.push_back(
        {number, words.front(), text.substr(begin, text.find(close, begin) - begin)});
  }
  return includes;
}

std::vector<Finding> check_leaf_headers(const std::vector<Source>& sources, const Arrows& arrows) {
  std::map<string_view, File> files;
  for (const Source& source : sources) {
    string_view room = arrows.room_of(source.path);
    if (room.starts_with("apps/")) room = "apps";  // no room of the library sees a program's header
    files[source.path] = {&source, room, includes_of(source.text, code_of(source.text))};
  }
  const std::set<string_view> leaves = leaf_headers(files);
  std::vector<Finding> findings;
  for (const auto& [path, file] : files) {
    for (const Include& include : file.includes) {
      if (!leaves.contains(include.target)) continue;
      const string_view room = files.at(include.target).room;
      if (room == file.room) continue;
      std::string what(include.target);
      what.append(" shows a foreign library: it is for ").append(room).append(" only");
      findings.push_back({std::string(path), include.line, std::move(what)});
    }
  }
  return findings;
}

}  // namespace commensal::tidy
