// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <commensal/serve/observe/testing/exposition.hpp>
#include <limits>
#include <regex>
#include <sstream>

namespace commensal::observe::testing {
namespace {

using Labels = std::map<std::string, std::string>;

tl::unexpected<core::Error> refuse(std::string_view line) {
  return core::fail(core::ErrorCode::kDataLoss, "no line of Prometheus' text format: {}", line);
}

std::string key_of(const std::string& name, const Labels& labels) {
  std::string key = name + "{";
  for (const auto& [label, value] : labels) {
    key += fmt::format("{}{}=\"{}\"", key.ends_with('{') ? "" : ",", label, value);
  }
  return key + "}";
}

/// The metric whose sample this is: histograms' have names of their own.
std::string metric_of(const std::string& name, const std::map<std::string, std::string>& types) {
  for (const std::string_view end : {"_bucket", "_sum", "_count"}) {
    if (!name.ends_with(end)) continue;
    const std::string whole = name.substr(0, name.size() - end.size());
    const auto found = types.find(whole);
    if (found != types.end() && found->second == "histogram") return whole;
  }
  return name;
}

core::Result<double> number_of(const std::string& text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return refuse(text);
  return value;
}

core::Result<Labels> labels_of(std::string text) {
  static const std::regex kLabel(
      R"re(^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$))re");
  Labels labels;
  std::smatch match;
  while (!text.empty()) {
    if (!std::regex_search(text, match, kLabel)) return refuse(text);
    if (!labels.emplace(match[1], match[2]).second) return refuse(text);
    text = match.suffix();
  }
  return labels;
}

}  // namespace

core::Result<Exposition> Exposition::parse(std::string_view text) {
  static const std::regex kHelp(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .+)");
  static const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
  static const std::regex kSample(R"(([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+))");
  Exposition made;
  if (!text.ends_with('\n')) return refuse("an end of the last line is wanting");
  std::istringstream lines{std::string(text)};
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, kHelp)) continue;
    if (std::regex_match(line, match, kType)) {
      if (!made.types.emplace(match[1], match[2]).second) return refuse(line);
      continue;
    }
    if (!std::regex_match(line, match, kSample)) return refuse(line);
    const std::string name = match[1], number = match[3];
    if (!made.types.contains(metric_of(name, made.types))) return refuse(line);
    COMMENSAL_ASSIGN(const Labels labels, labels_of(match[2]));
    COMMENSAL_ASSIGN(const double value, number_of(number));
    if (!made.samples.emplace(key_of(name, labels), value).second) return refuse(line);
  }
  return made;
}

core::Result<void> Exposition::check_histograms() const {
  static const std::regex kBucket(R"re((\w+)_bucket\{(.*?),?le="([^"]*)"(.*)\})re");
  std::map<std::string, std::map<double, double>> buckets;  // by count's sample: bound, count
  std::smatch match;
  for (const auto& [sample, value] : samples) {
    if (!std::regex_match(sample, match, kBucket)) continue;
    COMMENSAL_ASSIGN(const double bound, number_of(match[3]));
    std::string rest = match[2].str() + match[4].str();
    if (rest.starts_with(',')) rest.erase(0, 1);
    buckets[fmt::format("{}_count{{{}}}", match[1].str(), rest)][bound] = value;
  }
  for (const auto& [count, row] : buckets) {
    double last = 0;
    for (const auto& [bound, value] : row) {
      if (value < last) return refuse(count + ": buckets fall");
      last = value;
    }
    const bool has_all = row.rbegin()->first == std::numeric_limits<double>::infinity();
    if (!has_all || last != at(count)) return refuse(count + ": not that of the last bucket");
  }
  return {};
}

double Exposition::at(const std::string& sample) const {
  const auto found = samples.find(sample);
  return found == samples.end() ? 0 : found->second;
}

double Exposition::sum(const std::string& name) const {
  double sum = 0;
  for (const auto& [sample, value] : samples) {
    if (sample.starts_with(name + "{")) sum += value;
  }
  return sum;
}

}  // namespace commensal::observe::testing
