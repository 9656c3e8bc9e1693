// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/gateway/leaving.hpp>
#include <utility>

namespace commensal::gateway {

void Leaving::add(StreamId stream) {
  auto found = std::ranges::find(streams_, stream, &Waiting::stream);
  if (found == streams_.end()) found = streams_.insert(found, {stream, {}});
  found->is_due = true;
}

std::optional<Leaving::Turn> Leaving::next() {
  if (!first_.empty()) {
    const Turn first = first_.front();
    first_.pop_front();
    return first;
  }
  if (streams_.empty()) return std::nullopt;
  Waiting waiting = std::move(streams_.front());
  streams_.pop_front();
  if (waiting.jobs.empty() && std::exchange(waiting.is_due, false)) {
    waiting.jobs = jobs_of_(waiting.stream);
  }
  if (waiting.jobs.empty()) return std::nullopt;
  const Turn turn{waiting.stream, waiting.jobs.back()};
  waiting.jobs.pop_back();
  streams_.push_back(std::move(waiting));
  return turn;
}

}  // namespace commensal::gateway
