// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/oip_grpc/call.hpp>
#include <utility>

namespace commensal::oip_grpc {

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr const char* kRequestId = "x-request-id";
constexpr const char* kStops = "the gateway stops";

http2::Status to_status(const core::Error& error) {
  return {rpc::status_code(error.code), protocol::one_line(error.message)};
}

/// The first; "" where there is none.
std::string line_of(const http2::Lines& lines, std::string_view name) {
  const auto found = std::ranges::find(lines, name, &http2::Lines::value_type::first);
  return found == lines.end() ? "" : found->second;
}

std::string only_line_of(const http2::Lines& lines, std::string_view name) {
  const auto count = std::ranges::count(lines, name, &http2::Lines::value_type::first);
  return count == 1 ? line_of(lines, name) : "";
}

/// At the least rate at which an answer is read over HTTP.
std::int64_t writing_ns_max(std::int64_t bytes) {
  const std::int64_t earned_ms = bytes * 1000 / limits::kHttpBytesPerSecondMin;
  return (limits::kHttpPieceWaitMs + earned_ms) * kMs;
}

}  // namespace

bool Hall::refuse(const std::string& whom, std::int64_t bytes) {
  const std::int64_t now_ns = services.clock.monotonic_ns();
  const std::lock_guard lock(mutex);
  const bool may = refused.take(whom, now_ns);
  if (may) refused.charge(whom, static_cast<double>(bytes) / limits::kGrpcRefusedBytes, now_ns);
  return may;
}

bool Hall::take_back(const std::string& network, const std::string& account) {
  const std::int64_t now_ns = services.clock.monotonic_ns();
  const std::lock_guard lock(mutex);
  const bool may_network = taken_back.take("@" + network, now_ns);
  return (account.empty() || taken_back.take(account, now_ns)) && may_network;
}

bool Hall::add_stranger(const std::string& network) {
  const std::lock_guard lock(mutex);
  return ++strangers[network] <= limits::kGrpcStrangerCallsMax;
}

void Hall::forget_stranger(const std::string& network) {
  const std::lock_guard lock(mutex);
  const auto found = strangers.find(network);
  if (--found->second == 0) strangers.erase(found);
}

/// A loop's times are its thread's.
void Hall::later(core::Loop::Task task) const {
  services.loop.post([&loop = services.loop, task = std::move(task)]() mutable {
    loop.after(limits::kGrpcRefusalPauseMs, std::move(task));
  });
}

Call::Call(std::shared_ptr<Hall> hall, const http2::Head& head, http2::Line line)
    : hall_(std::move(hall)),
      line_(std::move(line)),
      from_(head.peer),
      method_(find_method(head.path)),
      compression_(compression_of(head.encoding)),
      authorization_(line_of(head.lines, "authorization")),
      tag_(hall_->services.serving.observer.tag(only_line_of(head.lines, kRequestId),
                                                only_line_of(head.lines, "traceparent"))) {}

http2::Begun Call::begin(const std::shared_ptr<Hall>& hall, http2::Head head, http2::Line line) {
  auto call = std::make_shared<Call>(hall, head, std::move(line));
  bool is_stopped = false;
  {
    const std::lock_guard lock(hall->mutex);
    is_stopped = hall->is_stopped;
    hall->calls.emplace(call.get(), call);
  }
  // More may come on a connection than our loop can say at once whose it is.
  if (!hall->add_stranger(call->from_.network)) hall->door->cut_off(call->from_.connection);
  if (is_stopped) {
    call->refuse({core::ErrorCode::kUnavailable, kStops});
  } else if (head.is_too_long) {
    call->refuse(
        {core::ErrorCode::kResourceExhausted,
         fmt::format("the call's head has more than {} bytes", limits::kHttpHeaderBytesMax)});
  } else if (call->method_ == nullptr) {
    call->refuse({core::ErrorCode::kUnsupported, "there is no such call"});
  } else {
    call->admit();
  }
  http2::Lines lines = {{kRequestId, call->tag_.id}};
  if (const auto name = name_of(call->compression_); !name.empty())
    lines.emplace_back("grpc-encoding", name);
  return {call, std::move(lines)};
}

/// Each request of a stream counts as a call of its own.
void Call::admit() {
  const auto turn = std::make_shared<Turn>(Turn{std::make_shared<oip::Asker>()});
  turn->asker->left = left_;
  turn->asker->tag = tag_;
  const oip::Credentials who{.authorization = authorization_,
                             .party = "@" + from_.network,  // no account is called so
                             .is_strangers = true,
                             .is_local = from_.is_local};
  oip::admit(hall_->services, who, method_->auth, method_->scope, turn->asker,
             [self = shared_from_this(), turn](const core::Result<void>& admitted) {
               self->on_admitted(turn, admitted);
             });
}

void Call::on_admitted(const TurnPtr& turn, const core::Result<void>& admitted) {
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    is_admitting_ = false;
    is_news = !is_finished_ && turn->asker->has_account && account_.empty();
    if (is_news) {
      account_ = turn->asker->account.name;
      shows_token_ = !turn->asker->token.label.empty();
      hall_->door->vouch(from_.connection);
      if (shows_token_) hall_->door->know(from_.connection);
    }
  }
  if (is_news) hall_->forget_stranger(from_.network);
  if (!admitted) return refuse(admitted.error());
  const std::lock_guard lock(mutex_);
  next_ = turn;
  read_locked();
  pump_locked();
}

void Call::read_locked() {
  if (is_finished_ || end_ || !next_) return;
  is_reading_ = true;
  client_since_ns_ = hall_->services.clock.monotonic_ns();
  client_ns_max_ =
      (is_known_locked() ? limits::kGrpcMessageWaitMs : limits::kHttpPieceWaitMs) * kMs;
  line_.read();
}

/// Whether one more request may come, which is for the caller to admit().
bool Call::take_next_locked() {
  if (is_finished_ || end_ || is_read_ || is_reading_ || is_admitting_) return false;
  is_admitting_ = method_->is_stream && turns_.size() < limits::kGrpcStreamRequestsMax;
  return is_admitting_;
}

bool Call::on_coming(std::int64_t bytes) {
  TurnPtr turn;
  {
    const std::lock_guard lock(mutex_);
    turn = next_;
  }
  if (!turn) return false;
  auto held = turn->asker->memory.set(bytes);
  if (bytes > method_->bytes_max)
    held = core::fail(core::ErrorCode::kResourceExhausted,
                      "the message has {} bytes, at most {} are accepted here", bytes,
                      method_->bytes_max);
  if (held) return true;
  {
    const std::lock_guard lock(mutex_);
    is_reading_ = false;
    is_read_ = true;
    client_since_ns_ = 0;
    turns_.push_back(std::exchange(next_, nullptr));
  }
  answer(turn, tl::unexpected(held.error()));
  return false;
}

void Call::on_message(std::optional<http2::Message> message) {
  TurnPtr turn;
  {
    const std::lock_guard lock(mutex_);
    is_reading_ = false;
    client_since_ns_ = 0;
    turn = std::exchange(next_, nullptr);
    if (message && turn && !end_) {
      ++requests_;
      turns_.push_back(turn);
    } else {
      is_read_ = true;
      if (!message && requests_ == 0 && !end_ && !method_->is_stream)
        end_ = to_status({core::ErrorCode::kInvalidArgument, "expected a message"});
      return pump_locked();
    }
  }
  receive(turn, *std::move(message));
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    goes_on = take_next_locked();
  }
  if (goes_on) admit();
}

void Call::receive(const TurnPtr& turn, http2::Message message) {
  turn->is_compressed = message.is_compressed;
  if (!message.is_compressed && message.bytes() <= limits::kGrpcLightBytesMax)
    return run(turn, std::move(message));
  const auto whole = std::make_shared<http2::Message>(std::move(message));
  hall_->services.heavy->post(turn->asker->line, [self = shared_from_this(), turn, whole] {
    self->run(turn, std::move(*whole));
  });
}

void Call::run(const TurnPtr& turn, http2::Message message) {
  if (left_.stop_requested()) return;
  if (message.is_compressed) {
    auto whole = inflated(message, compression_, method_->bytes_max, turn->asker->memory);
    if (!whole) return answer(turn, tl::unexpected(whole.error()));
    message = *std::move(whole);
  }
  method_->run({hall_->services, turn->asker, std::move(message)},
               [self = shared_from_this(), turn](core::Result<http2::Message> said) {
                 self->answer(turn, std::move(said));
               });
}

void Call::answer(const TurnPtr& turn, core::Result<http2::Message> answer) {
  if (!turn->asker->has_account && answer)
    hall_->services.serving.strangers.answer("@" + from_.network,
                                             static_cast<std::size_t>(answer->bytes()),
                                             hall_->services.clock.monotonic_ns());
  const oip::Asker& asker = *turn->asker;
  const bool is_refusal = asker.has_account && (!answer || asker.was_refused);
  if (is_refusal && is_too_often(turn->asker->memory.bytes())) {
    std::ignore = turn->asker->memory.set(0);
    const auto later = std::make_shared<core::Result<http2::Message>>(std::move(answer));
    return hall_->later(
        [self = shared_from_this(), turn, later] { self->give(turn, std::move(*later)); });
  }
  if (!answer || !turn->is_compressed) return give(turn, std::move(answer));
  const auto plain = std::make_shared<http2::Message>(*std::move(answer));
  hall_->services.heavy->post(turn->asker->line, [self = shared_from_this(), turn, plain] {
    self->give(turn, deflated(std::move(*plain), self->compression_));
  });
}

bool Call::is_too_often(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return !hall_->refuse(whom_locked(), bytes);
}

void Call::give(const TurnPtr& turn, core::Result<http2::Message> answer) {
  const std::lock_guard lock(mutex_);
  turn->answer = std::move(answer);
  pump_locked();
}

/// Who shows no token and asks too often is refused so often, then cut off with all strangers of
/// its network. Not each connection at its first: its other calls would be nobody's then, and
/// count nowhere.
void Call::refuse(const core::Error& error) {
  std::string account;
  bool is_known = false;
  {
    const std::lock_guard lock(mutex_);
    is_known = is_known_locked();
    account = whom_locked();
  }
  if (is_known && !hall_->refuse(account, 0))
    return hall_->later([self = shared_from_this(), error] { self->end(error); });
  end(error);
  const std::int64_t now_ns = hall_->services.clock.monotonic_ns();
  if (is_known || hall_->services.serving.strangers.ask("@" + from_.network, now_ns)) return;
  if (!hall_->refuse("@" + from_.network, 0)) hall_->door->cut_off(from_.connection);
}

void Call::end(const core::Error& error) {
  const std::lock_guard lock(mutex_);
  if (!end_) end_ = to_status(error);
  pump_locked();
}

/// Without a token everybody may be the account.
std::string Call::whom_locked() const { return shows_token_ ? account_ : "@" + from_.network; }

void Call::finish_locked(const http2::Status& status) {
  is_finished_ = true;
  code_ = status.code;
  line_.finish(status);
}

void Call::pump_locked() {
  if (is_finished_ || is_writing_) return;
  // What was asked before the end is answered.
  if (!turns_.empty() && turns_.front()->answer) {
    auto& said = *turns_.front()->answer;
    if (!said) return finish_locked(to_status(said.error()));
    was_served_ = is_writing_ = true;
    client_since_ns_ = hall_->services.clock.monotonic_ns();
    client_ns_max_ = writing_ns_max(said->bytes());
    line_.write(*std::move(said));
    if (!method_->is_stream) finish_locked({});
    return;
  }
  if (end_ && turns_.empty()) return finish_locked(*end_);
  if (is_read_ && turns_.empty() && !is_admitting_) finish_locked({});
}

void Call::on_written() {
  bool goes_on = false;
  {
    const std::lock_guard lock(mutex_);
    is_writing_ = false;
    client_since_ns_ = is_reading_ && !is_finished_ ? hall_->services.clock.monotonic_ns() : 0;
    client_ns_max_ = limits::kGrpcMessageWaitMs * kMs;
    if (!turns_.empty()) {
      // Its client may ask the next at once, whoever else holds this one yet.
      turns_.front()->asker->memory = {};
      turns_.pop_front();
    }
    goes_on = take_next_locked();
    pump_locked();
  }
  if (goes_on) admit();
}

void Call::leave() {
  if (method_ == nullptr || !method_->is_stream) return;
  const std::lock_guard lock(mutex_);
  if (!end_) end_ = to_status({core::ErrorCode::kUnavailable, kStops});
  pump_locked();
}

void Call::look(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (client_since_ns_ > 0 && now_ns - client_since_ns_ > client_ns_max_) line_.cancel();
}

/// A call that is made and taken back at once costs more than one that is answered, and never
/// counts as one that is open. Where a connection ends, all its calls are taken back: that is no
/// fault. An account has its calls from wherever it likes.
void Call::on_end(http2::End how) {
  left_.request_stop();  // not under the mutex: the gateway may answer before it returns
  {
    const std::lock_guard lock(hall_->mutex);
    hall_->calls.erase(this);
  }
  std::string account;  // "": nobody's, or everybody's
  bool is_known = false, was_served = false;
  int code = http2::kCancelled;
  {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    if (how == http2::End::kAnswered) code = code_;
    if (shows_token_) account = account_;
    is_known = is_known_locked();
    was_served = was_served_;
    turns_.clear();
  }
  if (!is_known) hall_->forget_stranger(from_.network);
  hall_->services.serving.observer.answered(
      observe::GrpcCall{tag_, method_ == nullptr ? observe::kNoRoute : method_->name, code});
  // Who is served, with or without a token, is no silent stranger: its time begins anew.
  if (!is_known && was_served) hall_->door->vouch(from_.connection);
  if (is_known || was_served) hall_->door->disown(from_.connection);
  if (how == http2::End::kTakenBack && !hall_->take_back(from_.network, account))
    hall_->door->cut_off(from_.connection);
}

}  // namespace commensal::oip_grpc
