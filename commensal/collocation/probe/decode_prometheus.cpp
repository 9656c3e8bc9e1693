// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/decode.hpp>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

/// Reads from the front of what is left of a line.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    const auto end = std::ranges::find_if_not(rest_, is_name_char);
    const auto size = static_cast<std::size_t>(end - rest_.begin());
    const std::string_view made = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return made;
  }
  /// "value" with \\, \" and \n; false: not that.
  bool quoted(std::string& value) {
    if (!take('"')) return false;
    while (!rest_.empty()) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\') {
        if (rest_.empty()) return false;
        c = rest_.front() == 'n' ? '\n' : rest_.front();
        rest_.remove_prefix(1);
      }
      value.push_back(c);
    }
    return false;
  }
  /// "{a="x",b="y"}" or nothing; false: neither.
  bool labels(std::map<std::string, std::string>& made) {
    if (!take('{')) return true;
    for (skip_spaces(); !take('}'); skip_spaces()) {
      const std::string label(name());
      skip_spaces();
      if (label.empty() || !take('=')) return false;
      skip_spaces();
      std::string value;
      if (!quoted(value)) return false;
      made[label] = std::move(value);
      skip_spaces();
      if (!take(',') && !rest_.starts_with('}')) return false;
    }
    return true;
  }

 private:
  std::string_view rest_;
};

struct Sum {
  double value = 0;
  std::size_t series = 0;
};

Result<void> add_line(std::string_view line, const Selector& selector, Sum& sum) {
  Cursor cursor(line);
  if (cursor.name() != selector.name) return {};
  std::map<std::string, std::string> labels;
  cursor.skip_spaces();
  if (!cursor.labels(labels))
    return fail(ErrorCode::kDataLoss, "the labels of {} cannot be read", selector.name);
  if (!std::ranges::all_of(selector.labels, [&](const auto& wanted) {
        const auto it = labels.find(wanted.first);
        return it != labels.end() && it->second == wanted.second;
      })) {
    return {};
  }
  cursor.skip_spaces();
  const std::string_view rest = cursor.rest();
  COMMENSAL_ASSIGN(const double value,
                   read_figure(selector.name, rest.substr(0, rest.find_first_of(" \t\r"))));
  COMMENSAL_ASSIGN(sum.value, check_figure(selector.name, sum.value + value));
  ++sum.series;
  return {};
}

/// The first '/' that is not within quotes.
std::size_t find_divider(std::string_view text) {
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_quoted && text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      is_quoted = !is_quoted;
    } else if (text[at] == '/' && !is_quoted) {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<Selectors> parse_selectors(std::string_view text) {
  const std::size_t divider = find_divider(text);
  COMMENSAL_ASSIGN(Selector figure, parse_selector(text.substr(0, divider)));
  if (divider == std::string_view::npos) return Selectors{std::move(figure)};
  COMMENSAL_ASSIGN(Selector own_time, parse_selector(text.substr(divider + 1)));
  if (figure.quantity != Quantity::kWork || own_time.quantity != Quantity::kWork)
    return fail(ErrorCode::kInvalidArgument,
                "expected two counters such as steps_total/busy_seconds_total, got '{}'", text);
  return Selectors{std::move(figure), std::move(own_time)};
}

Result<Figure> decode_prometheus(std::string_view text, const Selectors& selectors) {
  COMMENSAL_ASSIGN(Figure figure, decode_prometheus(text, selectors.figure));
  if (selectors.own_time) {
    COMMENSAL_ASSIGN(const Figure own_time, decode_prometheus(text, *selectors.own_time));
    figure.own_s = own_time.value;
  }
  return figure;
}

Result<Selector> parse_selector(std::string_view text) {
  Selector made;
  std::string_view rest = text;
  std::optional<Quantity> said;
  if (rest.starts_with("rate:")) said = Quantity::kRate;
  if (rest.starts_with("work:")) said = Quantity::kWork;
  if (said) rest.remove_prefix(5);
  Cursor cursor(rest);
  made.name = cursor.name();
  if (made.name.empty() || !cursor.labels(made.labels) || !cursor.rest().empty())
    return fail(ErrorCode::kInvalidArgument,
                "expected a metric such as steps_total{{job=\"train\"}}, got '{}'", text);
  const bool is_counter =
      made.name.ends_with("_total") || made.name.ends_with("_count") || made.name.ends_with("_sum");
  made.quantity = said.value_or(is_counter ? Quantity::kWork : Quantity::kRate);
  return made;
}

Result<Figure> decode_prometheus(std::string_view text, const Selector& selector) {
  if (text.size() > limits::kProbeBodyBytesMax)
    return fail(ErrorCode::kDataLoss, "the answer has more than {} bytes",
                limits::kProbeBodyBytesMax);
  const std::string counter = "# TYPE " + selector.name + " counter";
  Sum sum;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (selector.quantity == Quantity::kRate && line == counter)
      return fail(ErrorCode::kDataLoss, "{} is a counter: write work:{}", selector.name,
                  selector.name);
    if (!line.starts_with('#')) COMMENSAL_TRY(add_line(line, selector, sum));
  }
  if (sum.series == 0)
    return fail(ErrorCode::kUnavailable, "there is no metric {} with these labels", selector.name);
  return Figure{sum.value};
}

}  // namespace commensal::probe
