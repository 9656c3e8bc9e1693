// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/collocation/probe/kernel_files.hpp>
#include <commensal/collocation/tuner/ways.hpp>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

namespace commensal::tuner {
namespace {

constexpr std::size_t kCachesTried = 4;  // of a machine that has many
constexpr int kCacheLevels = 8;

using Set = std::set<int>;

/// "0-3,8". None: it is not that.
std::optional<Set> set_of(std::string_view text) {
  Set made;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&at, end](int& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value >= 0 && value < limits::kProcessorsMax;
  };
  while (at != end) {
    int first = 0;
    if (!number(first)) return std::nullopt;
    int last = first;
    if (at != end && *at == '-' && (++at, !number(last))) return std::nullopt;
    for (int i = first; i <= last; ++i) made.insert(i);
    if (at != end && *at++ != ',') return std::nullopt;
  }
  return made;
}

std::optional<Set> set_in(const core::Path& file) {
  const auto text = probe::read_small_file(file, limits::kProcessorListBytesMax);
  if (!text) return std::nullopt;
  return set_of(std::string_view(*text).substr(0, text->find('\n')));
}

/// Of the last cache that the kernel knows.
std::optional<Set> sharers_of_cache(const core::Path& cpu) {
  for (int i = kCacheLevels; i-- > 0;) {
    if (auto found = set_in(cpu / fmt::format("cache/index{}/shared_cpu_list", i))) return found;
  }
  return std::nullopt;
}

std::string processors_text(const std::vector<int>& processors) {
  std::string text;
  for (auto at = processors.begin(); at != processors.end();) {
    auto end = at;
    while (end + 1 != processors.end() && *(end + 1) == *end + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", *at);
    if (end != at) text += fmt::format("-{}", *end);
    at = end + 1;
  }
  return text;
}

}  // namespace

std::string words(const Way& way) {
  const auto plural = [](int count) { return count == 1 ? "" : "s"; };
  return fmt::format(
      "{} thread{}, {} request{} at once, on {}", way.threads, plural(way.threads), way.at_once,
      plural(way.at_once),
      way.processors.empty() ? "any processor" : "processors " + processors_text(way.processors));
}

std::vector<int> allowed_processors() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  std::vector<int> made;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return made;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &mine)) made.push_back(cpu);
  }
  return made;
}

std::vector<std::vector<int>> placements(const std::vector<int>& allowed, const core::Path& cpus) {
  const Set all(allowed.begin(), allowed.end());
  std::set<Set> found;
  Set first, others;
  for (const int cpu : all) {
    const core::Path folder = cpus / fmt::format("cpu{}", cpu);
    const Set siblings = set_in(folder / "topology/thread_siblings_list").value_or(Set{cpu});
    (siblings.empty() || *siblings.begin() == cpu ? first : others).insert(cpu);
    const Set sharers = sharers_of_cache(folder).value_or(Set{});
    Set own;
    std::ranges::set_intersection(sharers, all, std::inserter(own, own.end()));
    if (found.size() < kCachesTried) found.insert(std::move(own));
  }
  found.insert({first, others});
  std::vector<std::vector<int>> made;
  for (const Set& one : found) {
    if (!one.empty() && one != all) made.emplace_back(one.begin(), one.end());
  }
  return made;
}

std::vector<Way> ways_beside(const Way& present, int threads_max, int at_once_max,
                             const std::vector<std::vector<int>>& placements) {
  std::vector<Way> made{present};
  const auto add = [&made](const Way& way) {
    if (std::ranges::find(made, way) == made.end()) made.push_back(way);
  };
  for (const int threads : {1, threads_max / 2, threads_max}) {
    Way way = present;
    way.threads = std::clamp(threads, 1, threads_max);
    add(way);
  }
  for (int at_once = 1; at_once <= at_once_max; at_once *= 4) {
    Way way = present;
    way.at_once = at_once;
    add(way);
  }
  if (!present.processors.empty()) add({present.threads, present.at_once, {}});
  for (const auto& processors : placements) {
    Way way = present;
    way.processors = processors;
    way.threads = std::min(way.threads, static_cast<int>(processors.size()));
    add(way);
  }
  return made;
}

}  // namespace commensal::tuner
