// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <apps/common/feeds.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

std::string names(const graph::Graph& graph, const std::vector<graph::ValueId>& ids) {
  std::string text;
  for (const graph::ValueId id : ids) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", graph.name_of(id));
  }
  return text;
}

Result<std::uint32_t> find(const graph::Graph& graph, const std::vector<graph::ValueId>& ids,
                           std::string_view what, const std::string& name) {
  const auto found =
      std::ranges::find_if(ids, [&](graph::ValueId id) { return graph.name_of(id) == name; });
  if (found != ids.end()) return static_cast<std::uint32_t>(found - ids.begin());
  return fail(ErrorCode::kInvalidArgument, "the model has no {} '{}'; it has {}", what, name,
              names(graph, ids));
}

}  // namespace

Result<std::uint32_t> find_output(const graph::Graph& graph, const std::string& name) {
  return find(graph, graph.outputs, "output", name);
}

Result<std::vector<protocol::Feed>> read_feeds(const graph::Graph& graph,
                                               const std::vector<std::string>& given) {
  std::vector<protocol::Feed> feeds;
  for (const std::string& text : given) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos) {
      return fail(ErrorCode::kInvalidArgument, "--state '{}', expected OUTPUT=INPUT", text);
    }
    protocol::Feed feed;
    COMMENSAL_ASSIGN(feed.output, find_output(graph, text.substr(0, at)));
    COMMENSAL_ASSIGN(feed.input, find(graph, graph.inputs, "input", text.substr(at + 1)));
    feeds.push_back(feed);
  }
  std::ranges::sort(feeds, {}, &protocol::Feed::input);
  const auto twice = std::ranges::adjacent_find(feeds, {}, &protocol::Feed::input);
  if (twice != feeds.end()) {
    return fail(ErrorCode::kInvalidArgument, "--state names the input '{}' twice",
                graph.name_of(graph.inputs[twice->input]));
  }
  return feeds;
}

}  // namespace commensal::apps
