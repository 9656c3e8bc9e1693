// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <mutex>
#include <tuple>

namespace commensal::store {

using core::Bytes;
using core::ByteView;
using core::Result;

/// A batch that whoever comes first writes: the loop's lane, or who cannot wait for that.
struct JointStore::Errand {
  Errand(core::Store& store, core::Loop& loops, Batch held, std::vector<Done> waiting)
      : below(store), loop(loops), batch(std::move(held)), dones(std::move(waiting)) {}

  core::Store& below;
  core::Loop& loop;
  const Batch batch;  // by space and key
  std::vector<Done> dones;
  std::mutex mutex;  // of the next two
  bool is_taken = false;
  Result<void> outcome;

  void run() {
    const std::lock_guard lock(mutex);
    if (std::exchange(is_taken, true)) return;
    outcome = below.apply(batch);
  }
  void tell() const {
    for (const Done& done : dones) done(outcome);
  }
  const Write* find(std::string_view space, ByteView key) const {
    const auto found = std::ranges::partition_point(batch, [&](const Write& one) {
      const int by_space = std::string_view(one.space).compare(space);
      return by_space < 0 || (by_space == 0 && std::ranges::lexicographical_compare(one.key, key));
    });
    const bool is_it =
        found != batch.end() && found->space == space && std::ranges::equal(found->key, key);
    return is_it ? &*found : nullptr;
  }
};

JointStore::~JointStore() {
  if (writing_ == nullptr) return;
  const std::lock_guard lock(writing_->mutex);
  writing_->is_taken = true;
}

JointStore::Batch JointStore::take_held() {
  Batch all;
  for (auto& [name, space] : held_) {
    for (auto& [key, value] : space) all.push_back({name, key, std::move(value)});
  }
  held_.clear();
  return all;
}

Result<void> JointStore::write(const Batch& batch) {
  if (broken_) return tl::unexpected(*broken_);
  auto written = below_.apply(batch);
  if (!written) broken_ = written.error();
  return written;
}

/// With what others wait for, and after what is being written.
Result<void> JointStore::write_held() {
  core::Loop* const loop = writing_ != nullptr ? &writing_->loop : nullptr;
  settle();
  const Batch batch = take_held();
  const Result<void> written = batch.empty() && waiting_.empty() ? Result<void>() : write(batch);
  if (waiting_.empty()) return written;
  const auto tell = [dones = std::exchange(waiting_, {}), written] {
    for (const Done& done : dones) done(written);
  };
  loop != nullptr ? loop->post(tell) : tell();
  return written;
}

/// Nothing is being written when this returns; who waits for it is told by a task of its own.
void JointStore::settle() {
  if (writing_ == nullptr) return;
  writing_->run();
  const auto errand = take_written();
  errand->loop.post([errand] { errand->tell(); });
}

Result<void> JointStore::release() {
  scanner_.check_not_this_thread();
  core::check(holds_ > 0, "what is released was held");
  if (--holds_ > 0) return {};
  return write_held();
}

Result<void> JointStore::together(const Change& change) {
  hold();
  auto done = change();
  auto released = release();
  return done ? released : done;
}

void JointStore::together_later(core::Loop& loop, const Change& change, Done done) {
  core::check(holds_ == 0, "what is written later is not held by another");
  hold();
  auto changed = change();
  --holds_;
  waiting_.push_back([changed = std::move(changed), done = std::move(done)](
                         const Result<void>& written) { done(changed ? written : changed); });
  if (writing_ == nullptr) begin_writing(loop);
}

void JointStore::begin_writing(core::Loop& loop) {
  writing_ = std::make_shared<Errand>(below_, loop, take_held(), std::exchange(waiting_, {}));
  writing_->is_taken = broken_.has_value();
  if (broken_) writing_->outcome = tl::unexpected(*broken_);
  loop.offload(
      core::Loop::Lane::kStore, [errand = writing_] { errand->run(); },
      [this, errand = writing_] {
        if (writing_ == errand) end_writing();
      });
}

void JointStore::end_writing() {
  const auto errand = take_written();
  if (!waiting_.empty()) begin_writing(errand->loop);
  errand->tell();
}

std::shared_ptr<JointStore::Errand> JointStore::take_written() {
  auto errand = std::exchange(writing_, nullptr);
  if (!errand->outcome && !broken_) broken_ = errand->outcome.error();
  return errand;
}

void JointStore::when_durable(Done done) {
  if (holds_ == 0 && writing_ == nullptr) return done({});
  waiting_.push_back(std::move(done));
}

Result<void> JointStore::apply(const Batch& batch) {
  scanner_.check_not_this_thread();
  if (broken_) return tl::unexpected(*broken_);
  if (holds_ == 0 && writing_ == nullptr) return write(batch);
  COMMENSAL_TRY(check_batch(batch));
  for (const Write& one : batch) held_[one.space].insert_or_assign(one.key, one.value);
  return holds_ == 0 ? write_held() : Result<void>();
}

Result<std::optional<Bytes>> JointStore::get(std::string_view space, ByteView key) {
  if (const auto held = held_.find(space); held != held_.end()) {
    const auto found = held->second.find(Bytes(key.begin(), key.end()));
    if (found != held->second.end()) return found->second;
  }
  const Write* const written = writing_ == nullptr ? nullptr : writing_->find(space, key);
  return written != nullptr ? Result<std::optional<Bytes>>(written->value) : below_.get(space, key);
}

Result<void> JointStore::scan(std::string_view space, ByteView prefix, const Visitor& visit) {
  const Scanner::Scan scan(scanner_);
  std::map<Bytes, const Value*> changed;  // and not known to be below yet
  if (writing_ != nullptr) {
    for (const Write& one : writing_->batch) {
      if (one.space == space) changed[one.key] = &one.value;
    }
  }
  if (const auto held = held_.find(space); held != held_.end()) {
    for (const auto& [key, value] : held->second) changed[key] = &value;
  }
  auto next = changed.lower_bound(Bytes(prefix.begin(), prefix.end()));
  bool goes_on = true;
  // Changed ones that come before `end`, or all.
  const auto visit_changed = [&](const Bytes* end) {
    for (; goes_on && next != changed.end() && starts_with(next->first, prefix); ++next) {
      if (end != nullptr && !(next->first < *end)) return;
      if (*next->second) goes_on = visit(next->first, **next->second);
    }
  };
  COMMENSAL_TRY(below_.scan(space, prefix, [&](ByteView key, ByteView value) {
    const Bytes at(key.begin(), key.end());
    visit_changed(&at);
    if (goes_on && !changed.contains(at)) goes_on = visit(key, value);
    return goes_on;
  }));
  visit_changed(nullptr);
  return {};
}

}  // namespace commensal::store
