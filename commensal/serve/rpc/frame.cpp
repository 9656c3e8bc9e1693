// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/tensor/codec.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <type_traits>
#include <utility>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using core::Result;
using protocol::Reader;
using protocol::Writer;
using tensor::NamedTensors;

/// The archive that a message is written by: tensors go into the tail, the rest is the business of
/// the canonical Writer.
class FrameWriter {
 public:
  template <class Message>
  explicit FrameWriter(const Message& message) {
    head_.noun(Message::kKind);
    Message::fields(*this, message);
    made_.head = core::as_text(head_.written());
  }
  template <class T>
  void field(std::string_view name, const T& value) {
    head_.field(name, value);
  }
  void field(std::string_view, const std::string& text) { head_.text(protocol::one_line(text)); }
  void field(std::string_view, const NamedTensors& tensors) {
    head_.count(tensors.size());
    for (const auto& [name, value, root] : tensors) {
      head_.text(name);
      write(head_, value.type());
      made_.tensors.push_back(encoded(value));
    }
  }
  /// At the end, of what earlier versions had not: where it is absent, nothing is written, nor
  /// behind it.
  template <class T>
  void tail(std::string_view name, const std::optional<T>& value) {
    core::check(!value || !is_over_, "what stands behind something absent");
    is_over_ = !value;
    if (value) field(name, *value);
  }
  Outgoing take() && { return std::move(made_); }

 private:
  Writer head_;
  Outgoing made_;
  bool is_over_ = false;
};

wire::Frame whole(Outgoing message) {
  wire::Frame frame;
  frame.set_head(std::move(message.head));
  for (const tensor::Tensor& one : message.tensors) {
    frame.add_tensors(one.bytes().data(), one.bytes().size());
  }
  return frame;
}

/// What field() of a Reader gets, so that refusals name the field.
struct Line {
  std::string& text;
};
void read(Reader& reader, Line& line) { line.text = reader.line(); }

struct Tail {
  google::protobuf::RepeatedPtrField<std::string>& rest;
  int taken = 0;
};

/// The elements stay where protobuf put them; the heap aligns them for every type.
Result<tensor::Tensor> read_tensor(Reader& reader, Tail& tail) {
  COMMENSAL_ASSIGN(const tensor::TensorType type, tensor::read_type(reader));
  if (tail.taken == tail.rest.size()) {
    return core::fail(ErrorCode::kInvalidArgument, "the frame has no elements of it");
  }
  std::string& elements = *tail.rest.Mutable(tail.taken++);
  const auto owner = std::make_shared<const std::string>(std::move(elements));
  return tensor::decoded(type, core::as_bytes(*owner), owner);
}

struct Tensors {
  NamedTensors& tensors;
  Tail& tail;
};
void read(Reader& reader, Tensors& to) {
  for (std::size_t left = reader.count(limits::kInferTensorsMax); left > 0; --left) {
    tensor::NamedTensor& made = to.tensors.emplace_back();
    made.name = reader.line(limits::kTextBytesMax);
    auto value = read_tensor(reader, to.tail);
    if (!value) {
      // Where the reader has refused already, its word stands.
      return reader.refuse(value.error().code,
                           fmt::format("'{}': {}", made.name, value.error().message));
    }
    made.value = *std::move(value);
  }
}

/// The archive that a message is read by.
class FrameReader {
 public:
  FrameReader(wire::Frame& frame, std::string_view what)
      : head_(core::as_bytes(frame.head()), what), tail_{*frame.mutable_tensors()} {}

  template <class T>
  void field(std::string_view name, T& value) {
    head_.field(name, value);
  }
  void field(std::string_view name, std::string& text) {
    Line line{text};
    head_.field(name, line);
  }
  void field(std::string_view name, NamedTensors& tensors) {
    Tensors to{tensors, tail_};
    head_.field(name, to);
  }

  template <class T>
  void tail(std::string_view name, std::optional<T>& value) {
    if (head_.ok() && head_.remaining() > 0) field(name, value.emplace());
  }

  template <class Message>
  Result<Message> read() {
    Message message;
    head_.noun(Message::kKind);
    Message::fields(*this, message);
    read_validity(head_, message);
    COMMENSAL_TRY(head_.finish());
    if (const int left = tail_.rest.size() - tail_.taken; left > 0) {
      head_.refuse(ErrorCode::kInvalidArgument, fmt::format("{} tensors left over", left));
    }
    COMMENSAL_TRY(head_.status());
    return message;
  }

 private:
  Reader head_;
  Tail tail_;
};

template <class Message>
struct Kinds;
template <class... Kind>
struct Kinds<std::variant<Kind...>> {
  using Message = std::variant<Kind...>;

  static bool have(std::uint8_t number) {
    return ((static_cast<std::uint8_t>(Kind::kKind) == number) || ...);
  }
  /// Precondition: have(number).
  static Result<Message> read(std::uint8_t number, wire::Frame& frame) {
    Result<Message> made;
    const auto try_kind = [&]<class One>(std::type_identity<One>) {
      if (static_cast<std::uint8_t>(One::kKind) != number) return;
      made = FrameReader(frame, name_of(One::kKind)).template read<One>();
    };
    (try_kind(std::type_identity<Kind>()), ...);
    return made;
  }
};

/// What is not named here keeps its place: rounds that close, money, who is there.
using Jobs = std::optional<std::vector<core::Digest>>;
Jobs jobs_of(const auto&) { return std::nullopt; }
Jobs jobs_of(const Load&) { return Jobs(std::in_place); }
Jobs jobs_of(const Offer& one) { return Jobs({protocol::job_id(one.job)}); }
Jobs jobs_of(const Begin& one) { return Jobs({one.job}); }
Jobs jobs_of(const Deliver& one) { return Jobs({one.job}); }
Jobs jobs_of(const Refuse& one) { return Jobs({one.job}); }
Jobs jobs_of(const Withdraw& all) { return all.jobs; }
template <class Message>
requires requires(const Message& all) { all.items.front().step; }
Jobs jobs_of(const Message& all) {
  Jobs jobs(std::in_place);
  for (const auto& item : all.items) jobs->push_back(item.job);
  return jobs;
}

template <class Message>
Outgoing outgoing_of(const Message& message) {
  return std::visit(
      [](const auto& kind) {
        Outgoing made = FrameWriter(kind).take();
        made.jobs = jobs_of(kind);
        return made;
      },
      message);
}

template <class Message, class Other>
Result<Message> read_frame(wire::Frame&& frame) {
  if (frame.head().empty()) {
    return core::fail(ErrorCode::kInvalidArgument, "a frame without a message");
  }
  const auto kind = static_cast<std::uint8_t>(frame.head()[0]);
  if (Kinds<Message>::have(kind)) return Kinds<Message>::read(kind, frame);
  if (Kinds<Other>::have(kind)) {
    return core::fail(ErrorCode::kInvalidArgument, "{}: a message for the other side",
                      name_of(static_cast<protocol::NounKind>(kind)));
  }
  return core::fail(ErrorCode::kInvalidArgument, "a message of kind {}, which is unknown", kind);
}

}  // namespace

Outgoing outgoing(const ToProvider& message) { return outgoing_of(message); }

Outgoing outgoing(const ToGateway& message) { return outgoing_of(message); }

wire::Frame to_frame(const ToProvider& message) { return whole(outgoing(message)); }

wire::Frame to_frame(const ToGateway& message) { return whole(outgoing(message)); }

template <>
Result<ToProvider> from_frame<ToProvider>(wire::Frame&& frame) {
  return read_frame<ToProvider, ToGateway>(std::move(frame));
}

template <>
Result<ToGateway> from_frame<ToGateway>(wire::Frame&& frame) {
  return read_frame<ToGateway, ToProvider>(std::move(frame));
}

}  // namespace commensal::rpc
