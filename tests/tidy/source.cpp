// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <sstream>
#include <tests/tidy/source.hpp>

namespace commensal::tidy {
namespace {

/// Walks over one literal or comment at a time and blanks it.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), out_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) {
      blank_to(text_.find('\n', at_));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      blank_to(end == std::string_view::npos ? end : end + 2);
    } else if (rest.front() == '"') {
      string_literal();
    } else if (rest.front() == '\'' && !in_number()) {
      quoted('\'');
    } else {
      ++at_;
    }
  }

  /// 1'000'000: the mark belongs to a token that starts with a digit.
  bool in_number() const {
    std::size_t start = at_;
    while (start > 0 && (is_word(text_[start - 1]) || text_[start - 1] == '\'')) --start;
    return start < at_ && std::isdigit(static_cast<unsigned char>(text_[start])) != 0;
  }

  void string_literal() {
    if (at_ == 0 || text_[at_ - 1] != 'R') return quoted('"');
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank_to(open);
    std::string close = ")";
    close.append(text_.substr(at_ + 1, open - at_ - 1)).push_back('"');
    const std::size_t end = text_.find(close, open);
    blank_to(end == std::string_view::npos ? end : end + close.size());
  }

  void quoted(char mark) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != mark && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    ++at_;  // the opening mark stays
    blank_to(end);
    if (at_ < text_.size() && text_[at_] == mark) ++at_;
  }

  void blank_to(std::size_t end) {
    end = std::min(end, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') out_[at_] = ' ';
    }
  }

  std::string_view text_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_string(const Finding& finding) {
  return finding.path + ":" + std::to_string(finding.line) + ": " + finding.what;
}

std::string report(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

std::string code_of(std::string_view text) { return Blanker(text).run(); }

std::string without_directives(std::string_view code) {
  std::string out(code);
  bool in_directive = false;
  for (const std::string_view line : lines_of(code)) {
    const std::string_view words = trimmed(line);
    in_directive = in_directive || words.starts_with('#');
    if (!in_directive) continue;
    const auto begin = static_cast<std::size_t>(line.data() - code.data());
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(begin), line.size(), ' ');
    in_directive = words.ends_with('\\');
  }
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool is_cpp(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".cu");
}

bool is_c(std::string_view path) { return path.ends_with(".c") || path.ends_with(".h"); }

bool within(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace commensal::tidy
