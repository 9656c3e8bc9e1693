// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/worker/remote_packs.hpp>

namespace commensal::worker {

using core::Result;

namespace {

constexpr std::uint64_t kFileBytes = 4096;  // that it takes beside what is in it

}  // namespace

std::optional<graph::PackFiles::File> RemotePacks::open(const core::Digest& name) {
  const auto ask = [&]() -> Result<File> {
    COMMENSAL_TRY(send(channel_, FindPack{name}));
    channel_.flush();
    COMMENSAL_ASSIGN(const Message message, receive(channel_));
    COMMENSAL_ASSIGN(const Pack pack, decode<Pack>(message));
    if (pack.bytes == 0) return File{};
    COMMENSAL_ASSIGN(core::Descriptor file, channel_.receive_descriptor());
    return File{std::move(file), pack.bytes};
  };
  auto file = ask();  // without a parent nothing matters any more
  if (!file || file->bytes == 0) return std::nullopt;
  return *std::move(file);
}

void RemotePacks::keep(const core::Digest& name, std::span<const core::ByteView> parts) {
  KeepPack message{name};
  for (const core::ByteView part : parts) message.bytes += part.size();
  Result<void> sent = send(channel_, message);
  for (const core::ByteView part : parts) {
    if (sent) sent = channel_.send(part);
  }
}

Result<void> PackServer::serve(Channel& channel, const Message& message) {
  if (message.kind == Kind::kFindPack) {
    COMMENSAL_ASSIGN(const FindPack find, decode<FindPack>(message));
    const auto file = packs_.open(find.name);
    const bool is_there = file && file->bytes > 0;
    COMMENSAL_TRY(send(channel, Pack{find.name, is_there ? file->bytes : 0}));
    if (is_there) COMMENSAL_TRY(channel.send_descriptor(file->file));
    channel.flush();
    return {};
  }
  COMMENSAL_ASSIGN(const KeepPack keep, decode<KeepPack>(message));
  if (keep.bytes > bytes_max_) {
    return core::fail(core::ErrorCode::kDataLoss, "{} bytes of packed weights, expected at most {}",
                      keep.bytes, bytes_max_);
  }
  core::Bytes bytes;  // grows as they come: what was only claimed takes no memory
  while (bytes.size() < keep.bytes) {
    const std::size_t came = bytes.size();
    bytes.resize(came + std::min<std::uint64_t>(keep.bytes - came, Ring::kBytes));
    COMMENSAL_TRY(channel.receive(std::span(bytes).subspan(came)));
  }
  kept_bytes_ += kFileBytes + keep.bytes;
  if (kept_bytes_ > kFileBytes + bytes_max_) return {};
  const core::ByteView part(bytes);
  packs_.keep(keep.name, {&part, 1});
  return {};
}

Result<Message> receive(Channel& channel, PackServer* packs) {
  while (true) {
    COMMENSAL_ASSIGN(Message message, receive(channel));
    const bool is_pack = message.kind == Kind::kFindPack || message.kind == Kind::kKeepPack;
    if (!is_pack || packs == nullptr) return message;
    COMMENSAL_TRY(packs->serve(channel, message));
  }
}

}  // namespace commensal::worker
