// SPDX-License-Identifier: Apache-2.0
// At the port for consumers who speak gRPC: strangers, and an account whose token is good.
#include <inference/grpc_service.pb.h>
#include <zlib.h>

#include <algorithm>
#include <commensal/lab/hostile/http2_talkers.hpp>

namespace commensal::lab::hostile {
namespace {

std::string path_of(std::string_view method) {
  return "/inference.GRPCInferenceService/" + std::string(method);
}

std::string token_line(const std::string& token) {
  return http2::header("authorization", "Bearer " + token);
}

/// A good request for the model, or one of the wrong size.
std::string infer_message(const Target& target, std::size_t pixels = 64) {
  inference::ModelInferRequest made;
  made.set_model_name(target.model);
  auto& input = *made.add_inputs();
  input.set_name("image");
  input.set_datatype("FP32");
  for (const int dim : {1, 1, 8, 8}) input.add_shape(dim);
  made.add_raw_input_contents(std::string(pixels * sizeof(float), '\0'));
  return http2::message(made.SerializeAsString());
}

/// Calls, and what is left to say of their messages, as far as the other side makes room.
struct Asking : Talk {
  struct Call {
    std::uint32_t stream = 0;
    std::string_view left;
    bool ends = true;  // with the last byte
    int acts = 0;      // since it was begun
    int messages = 1;  // of it
  };
  std::vector<Call> calls;
  http2::Windows windows;
  std::uint32_t endless = 0;  // whose head does not end
  std::size_t confirmed = 0;  // of our settings
  std::size_t breaths = 0;
};

/// Counts calls that the other side ends, and connections.
class Askers : public Talkers<Asking> {
 protected:
  using Talkers::Talkers;
  static constexpr std::size_t kAtOnceBytes = 256'000;

  void on_frame(Asking& talk, const http2::Frame& frame) override {
    talk.windows.hear(frame);
    if (is_end(frame)) effects_ += forget(talk, frame.stream);
  }
  /// `message` outlives the call.
  static void ask(Asking& talk, std::string_view path, std::string_view lines,
                  std::string_view message, bool ends = true) {
    talk.calls.push_back({talk.call(path, lines), message, ends});
    talk.windows.open(talk.calls.back().stream);
  }
  static std::size_t forget(Asking& talk, std::uint32_t stream) {
    talk.windows.close(stream);
    return std::erase_if(talk.calls,
                         [&](const Asking::Call& call) { return call.stream == stream; });
  }
  /// Of one call, as much as may be sent now.
  static void send(Asking& talk, Asking::Call& call) {
    while (!call.left.empty() && talk.unsent.size() < kAtOnceBytes) {
      const std::size_t size =
          talk.windows.take(call.stream, std::min(call.left.size(), http2::kContentBytes));
      if (size == 0) return;
      const bool is_last = call.ends && size == call.left.size();
      talk.unsent +=
          http2::encode({http2::Kind::kData, is_last ? http2::kEndStream : std::uint8_t{0},
                         call.stream, std::string(call.left.substr(0, size))});
      call.left.remove_prefix(size);
    }
  }
  static void send_all(Asking& talk) {
    for (Asking::Call& call : talk.calls) {
      send(talk, call);
      ++call.acts;
    }
  }
};

/// Calls whose message never comes, as many as may be open.
class OpenCalls final : public Askers {
 public:
  explicit OpenCalls(std::uint16_t port) : Askers(port, kConnections) {}

 protected:
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls) ask(talk, path_of("ServerLive"), "", "", false);
  }

 private:
  static constexpr std::size_t kConnections = 1'000, kCalls = 100;
};

/// Whole calls, of anybody's and refused ones, as many as are answered.
class StrangersCalls final : public Askers {
 public:
  explicit StrangersCalls(std::uint16_t port) : Askers(port, kConnections) {}

 protected:
  void go_on(Asking& talk) override {
    static const std::string kMade = token_line(std::string(64, 'a'));
    static constexpr std::string_view kMethods[] = {"ServerReady", "ModelInfer", "RepositoryIndex",
                                                    "ModelStreamInfer"};
    while (talk.calls.size() < kCalls) {
      const std::size_t kind = ++asked_ % std::size(kMethods);
      ask(talk, path_of(kMethods[kind]), kind % 2 == 1 ? kMade : "", empty_);
    }
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 64, kCalls = 32;
  const std::string empty_ = http2::message("");
  std::size_t asked_ = 0;
};

/// Heads of a megabyte, of ten thousand lines, and such as never end; with and without a token.
class Metadata final : public Askers {
 public:
  Metadata(const Target& target, core::Rng&)
      : Askers(target.grpc_port, kConnections),
        large_(http2::header("x", std::string(kBytes, 'a'))),
        token_(token_line(target.token)) {
    for (int i = 0; i < 10'000; ++i) many_ += http2::header("x" + std::to_string(i), "a");
  }

 protected:
  void go_on(Asking& talk) override {
    const std::size_t kind = ++asked_ % 3;
    if (talk.endless > 0) {
      talk.unsent += http2::encode({http2::Kind::kContinuation, 0, talk.endless, kLine});
    } else if (kind < 2) {
      ask(talk, path_of("ModelInfer"),
          (asked_ % 2 == 0 ? token_ : "") + (kind == 0 ? large_ : many_), "", false);
    } else {
      talk.endless = talk.next_stream;
      talk.next_stream += 2;
      talk.unsent += http2::encode({http2::Kind::kHeaders, 0, talk.endless, "\x83\x86"});
    }
  }

 private:
  static constexpr std::size_t kConnections = 16, kBytes = 1'000'000;
  const std::string large_, token_;
  const std::string kLine = http2::header("x", std::string(16'000, 'a'));
  std::string many_;
  std::size_t asked_ = 0;
};

/// Whoever has an account, and calls in its name: a head with the token.
class Insiders : public Askers {
 protected:
  Insiders(const Target& target, std::size_t connections)
      : Askers(target.grpc_port, connections),
        token_(token_line(target.token)),
        good_(infer_message(target)) {}
  void ask_well(Asking& talk) { ask(talk, path_of("ModelInfer"), token_, good_); }

  const std::string token_, good_;
};

/// Requests that say that they have 900 MB, of which the first eight come.
class HalfMessages final : public Insiders {
 public:
  HalfMessages(const Target& target, core::Rng&) : Insiders(target, kConnections) {}

 protected:
  void on_frame(Asking& talk, const http2::Frame& frame) override {
    if (frame.kind == http2::Kind::kWindow && frame.stream != 0) ++effects_;  // it takes more
    Insiders::on_frame(talk, frame);
  }
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls) ask(talk, path_of("ModelInfer"), token_, half_, false);
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 32, kCalls = 16;
  const std::string half_ = http2::number(5, 900'000'000) + std::string(8'000'000, '\0');
};

/// Insiders who read no stream. Counts what is worked for, whose heads come all the same, and what
/// is given up.
class Unreading : public Insiders {
 protected:
  using Insiders::Insiders;
  std::string first_words() const override { return http2::preface() + http2::no_window(); }
  void on_frame(Asking& talk, const http2::Frame& frame) override {
    if (frame.kind == http2::Kind::kHeaders && !is_end(frame)) ++effects_;
    Insiders::on_frame(talk, frame);
  }
};

/// Good requests whose answers have nowhere to go: no stream has a window.
class NoWindows final : public Unreading {
 public:
  NoWindows(const Target& target, core::Rng&) : Unreading(target, kConnections) {}

 protected:
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls) {
      const bool is_stream = talk.calls.size() % 2 == 1;
      ask(talk, path_of(is_stream ? "ModelStreamInfer" : "ModelInfer"), token_, good_, !is_stream);
    }
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 32, kCalls = 100;
};

/// Good requests that are taken back in the breath in which they are made. Counts those that were
/// read, which confirms settings that stand between them.
class Resets final : public Insiders {
 public:
  Resets(const Target& target, core::Rng&) : Insiders(target, kConnections) {}

 protected:
  void on_frame(Asking& talk, const http2::Frame& frame) override {
    talk.windows.hear(frame);
    const bool is_word = frame.kind == http2::Kind::kSettings && frame.has(http2::kAck);
    if (is_word && ++talk.confirmed > 1) effects_ += kBreath;
  }
  void go_on(Asking& talk) override {
    for (; talk.breaths < talk.confirmed + kBreaths; ++talk.breaths) {
      for (std::size_t i = 0; i < kBreath; ++i) {
        ask_well(talk);
        const std::uint32_t stream = talk.calls.back().stream;
        send(talk, talk.calls.back());
        talk.unsent += http2::reset(stream);
        forget(talk, stream);
      }
      talk.unsent += http2::encode({http2::Kind::kSettings, 0, 0, ""});
    }
  }

 private:
  static constexpr std::size_t kConnections = 4, kBreath = 64, kBreaths = 64;
};

/// The same, once their work has begun; one of 64 waits for its answer, which is counted.
class Cancels final : public Insiders {
 public:
  Cancels(const Target& target, core::Rng&) : Insiders(target, kConnections) {}

 protected:
  void go_on(Asking& talk) override {
    std::vector<std::uint32_t> left;
    for (const Asking::Call& call : talk.calls) {
      if (call.acts > 0 && call.left.empty() && call.stream / 2 % 64 != 0) {
        left.push_back(call.stream);
      }
    }
    for (const std::uint32_t stream : left) {
      talk.unsent += http2::reset(stream);
      forget(talk, stream);
    }
    while (talk.calls.size() < kCalls) ask_well(talk);
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 8, kCalls = 100;
};

/// Messages that become a thousand times as large: mostly 64 KiB of them, whose refusals are seen,
/// one of eight a megabyte, which takes seconds and much memory.
class Bombs final : public Insiders {
 public:
  Bombs(const Target& target, core::Rng&)
      : Insiders(target, kConnections), lines_(token_ + http2::header("grpc-encoding", "gzip")) {}

 protected:
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls)
      ask(talk, path_of("ModelInfer"), lines_, ++asked_ % 8 == 0 ? large_ : small_);
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 8, kCalls = 4;

  /// The same megabyte of nothing so often, each deflated apart, which ends on a byte.
  static std::string make_bomb(int mib) {
    std::string plain(1 << 20, '\0'), piece(1 << 14, '\0');
    z_stream stream{};
    deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    deflate(&stream, Z_FULL_FLUSH);
    piece.resize(stream.total_out);
    deflateEnd(&stream);
    std::string bomb("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (int i = 0; i < mib; ++i) bomb += piece;
    bomb.append("\x03\0", 2).append(8, '\0');  // its sum is wrong, which is seen at the end
    return "\x01" + http2::number(4, bomb.size()) + bomb;
  }
  const std::string lines_;
  const std::string small_ = make_bomb(64), large_ = make_bomb(1'000);
  std::size_t asked_ = 0;
};

/// Streams on which requests never end. Counts messages that come back.
class StreamFlood final : public Insiders {
 public:
  StreamFlood(const Target& target, core::Rng&) : Insiders(target, kConnections) {
    for (int i = 0; i < 64; ++i) many_ += good_;
  }

 protected:
  void on_frame(Asking& talk, const http2::Frame& frame) override {
    if (frame.kind == http2::Kind::kData) ++effects_;
    Insiders::on_frame(talk, frame);
  }
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls) ask(talk, path_of("ModelStreamInfer"), token_, many_, false);
    for (Asking::Call& call : talk.calls) {
      if (call.left.empty()) call.left = many_;
    }
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 16, kCalls = 100;
  std::string many_;
};

/// Requests of eight megabytes on streams that are never read: what an account may hold of the
/// gateway's memory it holds.
class MemoryHogs final : public Unreading {
 public:
  MemoryHogs(const Target& target, core::Rng&)
      : Unreading(target, kConnections), large_(infer_message(target, 2'000'000)) {}

 protected:
  void go_on(Asking& talk) override {
    while (talk.calls.size() < kCalls)
      ask(talk, path_of("ModelStreamInfer"), token_, large_, false);
    for (Asking::Call& call : talk.calls) {
      if (call.left.empty() && ++call.messages <= kMessages) call.left = large_;
    }
    send_all(talk);
  }

 private:
  static constexpr std::size_t kConnections = 4, kCalls = 64;
  static constexpr int kMessages = 5;  // more than a gateway takes of a stream at a time
  const std::string large_;
};

template <class Kind>
std::unique_ptr<Attacker> make(const Target& target, core::Rng& rng) {
  return std::make_unique<Kind>(target, rng);
}

constexpr AttackRow kRows[] = {
    {"grpc-open-calls", "calls of strangers over gRPC whose message never comes",
     at_grpc<OpenCalls>, Site::kGrpc},
    {"grpc-stranger-flood", "public and refused calls over gRPC, as many as are answered",
     at_grpc<StrangersCalls>, Site::kGrpc},
    {"grpc-metadata", "heads of a megabyte, of 10,000 lines, and without an end", make<Metadata>,
     Site::kGrpc},
    {"grpc-half-messages", "512 requests of 900 MB over gRPC, of each 8 MB come",
     make<HalfMessages>, Site::kGrpc},
    {"grpc-no-windows", "3,200 requests over gRPC whose answers have nowhere to go",
     make<NoWindows>, Site::kGrpc},
    {"grpc-resets", "requests over gRPC, taken back as they are made", make<Resets>, Site::kGrpc},
    {"grpc-cancels", "requests over gRPC, taken back when their work has begun", make<Cancels>,
     Site::kGrpc},
    {"grpc-bombs", "compressed requests over gRPC that become a thousand times as large",
     make<Bombs>, Site::kGrpc},
    {"grpc-streams", "1,600 streams over gRPC on which requests never end", make<StreamFlood>,
     Site::kGrpc},
    {"grpc-memory", "requests of 8 MB on 256 streams over gRPC that are not read", make<MemoryHogs>,
     Site::kGrpc},
};

}  // namespace

std::span<const AttackRow> grpc_attacks() { return kRows; }

}  // namespace commensal::lab::hostile
