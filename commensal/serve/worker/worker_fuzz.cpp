// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees the channel. What a worker that was taken over
// writes to its parent, or where the first byte is odd what a parent writes to its worker. From 250
// on that byte moves the place that the writer claims for its bytes.
#include <sys/socket.h>

#include <commensal/base/core/check.hpp>
#include <commensal/compute/tensor/arena.hpp>
#include <commensal/serve/worker/remote_packs.hpp>
#include <cstring>

namespace {

using namespace commensal;
using namespace commensal::worker;

class PacksInMemory final : public graph::PackFiles {
 public:
  std::optional<File> open(const core::Digest&) override { return std::nullopt; }
  void keep(const core::Digest&, std::span<const core::ByteView>) override {}
};

void expect_elements(const receipt::Values& values) {
  for (const tensor::Tensor& value : values) {
    core::check(tensor::check_elements(value.dtype(), value.bytes()).has_value(),
                "elements are of their type");
  }
}

/// As the parent does, without end.
core::Result<void> hear_worker(Channel& channel) {
  const graph::PackFolder folder(std::make_shared<PacksInMemory>());
  PackServer packs(folder, core::Digest{}, 1 << 16);
  tensor::Arena arena(1 << 20);
  while (true) {
    COMMENSAL_ASSIGN(const Message message, receive(channel, &packs));
    if (message.kind == Kind::kLoaded) {
      COMMENSAL_ASSIGN(const auto loaded, decode<Loaded>(message));
      const auto face = loaded.face.graph();
      for (const graph::ValueId id : face->outputs) (void)face->name_of(id);
    } else if (message.kind == Kind::kArgued) {
      COMMENSAL_ASSIGN(Argued argued, decode<Argued>(message));
      const auto counsel = std::move(argued).counsel();
      if (counsel) (void)rollout::check_counsel({}, *counsel);
    } else {
      COMMENSAL_ASSIGN(const auto answer, receive_answer(channel, message, arena));
      if (answer) expect_elements(*answer);
    }
  }
}

/// As the worker does.
core::Result<void> hear_parent(Channel& channel) {
  tensor::Arena arena(1 << 20);
  while (true) {
    COMMENSAL_ASSIGN(const Message message, receive(channel));
    if (message.kind == Kind::kLoad) {
      COMMENSAL_TRY(decode<Load>(message));
    } else if (message.kind == Kind::kPack) {
      COMMENSAL_TRY(decode<Pack>(message));
    } else if (message.kind == Kind::kArgue) {
      COMMENSAL_ASSIGN(Argue asked, decode<Argue>(message));
      COMMENSAL_ASSIGN(auto inputs, receive_tensors(channel, asked.inputs, arena));
      expect_elements(inputs);
      (void)rollout::check_bounds(std::move(asked).argument(std::move(inputs)));
    } else {
      COMMENSAL_ASSIGN(const Run run, decode<Run>(message));
      COMMENSAL_ASSIGN(const auto requests, receive_requests(channel, run, arena));
      for (const auto& inputs : requests) expect_elements(inputs);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto pages = std::make_unique<SharedPages>();
  if (size == 0 || size > Ring::kBytes) return 0;
  const bool is_parent = data[0] % 2 == 0;
  Ring& said = is_parent ? pages->to_parent : pages->to_worker;
  if (data[0] >= 250) said.bytes.fill(0);  // what is read beyond the input is the same every time
  std::memcpy(said.bytes.data(), data + 1, size - 1);
  pages->to_parent.written = pages->to_parent.read = 0;
  pages->to_worker.written = pages->to_worker.read = 0;
  said.written = size - 1 + (data[0] < 250 ? 0 : std::uint64_t{1} << (data[0] - 230));
  int ends[2];
  core::check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "there are sockets");
  core::Descriptor mine(ends[0]);
  { const core::Descriptor gone(ends[1]); }
  Channel channel(*pages, std::move(mine),
                  is_parent ? Channel::Side::kParent : Channel::Side::kWorker);
  const auto heard = is_parent ? hear_worker(channel) : hear_parent(channel);
  core::check(!heard && heard.error().message.find('\n') == std::string::npos,
              "it ends with an error of one line");
  return 0;
}
