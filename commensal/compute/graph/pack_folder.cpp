// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/pages.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <cstring>
#include <optional>
#include <vector>

namespace commensal::graph {

namespace {

using core::ByteView;
using core::Digest;

/// What precedes the floats; they begin at a cache line.
struct Header {
  std::array<char, 8> magic{'C', 'M', 'N', 'S', 'P', 'A', 'C', 'K'};
  Digest key{};
  std::int64_t floats = 0;
  std::uint64_t check = 0;
  std::array<std::uint8_t, 8> reserved{};
  friend bool operator==(const Header&, const Header&) = default;
};
static_assert(sizeof(Header) == 64);

/// Eight chains of invertible steps: whatever one word becomes, the result differs. As fast as
/// memory, which a cryptographic hash is not; it is not made for forgers.
std::uint64_t check_of(ByteView bytes) {
  constexpr std::size_t kChains = 8;
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::array<std::uint64_t, kChains> chains{1, 2, 3, 4, 5, 6, 7, 8};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(chains)) {
    std::array<std::uint64_t, kChains> words{};
    std::memcpy(words.data(), bytes.data() + at, std::min(sizeof(words), bytes.size() - at));
    for (std::size_t c = 0; c < kChains; ++c) {
      chains[c] = (chains[c] ^ words[c]) * kOdd;
      chains[c] ^= chains[c] >> 29;
    }
  }
  std::uint64_t all = bytes.size();
  for (const std::uint64_t chain : chains) all = std::rotl(all ^ chain, 23) * kOdd;
  return all;
}

ByteView view_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// A hash of parts whose ends cannot be mistaken.
class Key {
 public:
  Key() : hash_(crypto::begin_tagged_hash("commensal.pack")) {}

  void number(std::int64_t value) {
    hash_.update({reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
  }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    hash_.update(view_of(value));
  }
  void tensor(const tensor::Tensor& value) {
    number(static_cast<std::int64_t>(value.dtype()));
    text(value.shape().text());
    value.for_pieces([this](ByteView piece) { hash_.update(piece); });
  }
  void attribute(const kernels::Attribute& value) {
    number(static_cast<std::int64_t>(value.index()));
    std::visit([this](const auto& one) { part(one); }, value);
  }
  Digest finish() { return hash_.finish(); }

 private:
  void part(std::int64_t value) { number(value); }
  void part(float value) { number(std::bit_cast<std::int32_t>(value)); }
  void part(const std::string& value) { text(value); }
  void part(const tensor::Tensor& value) { tensor(value); }
  template <class T>
  void part(const std::vector<T>& list) {
    number(static_cast<std::int64_t>(list.size()));
    for (const T& one : list) part(one);
  }

  crypto::Sha256 hash_;
};

Digest key_of(const Node& node, const kernels::Call& call, kernels::Isa isa) {
  Key key;
  key.number(kernels::kPackVersion);
  key.number(kernels::kNumericsVersion);
  key.text(kernels::name_of(isa));
  key.text(node.op->domain);
  key.text(node.op->name);
  key.number(node.opset);
  key.number(static_cast<std::int64_t>(node.attributes.all().size()));
  for (const auto& [name, value] : node.attributes.all()) {
    key.text(name);
    key.attribute(value);
  }
  for (const tensor::Tensor* constant : call.inputs) {
    key.number(constant == nullptr ? 0 : 1);
    if (constant != nullptr) key.tensor(*constant);
  }
  return key.finish();
}

std::int64_t bytes_of(const kernels::Call& call) {
  std::int64_t bytes = 0;
  for (const tensor::Tensor* constant : call.inputs) {
    if (constant == nullptr) continue;
    if (constant->dtype() == tensor::DType::kString) return 0;  // none of those is packed
    bytes += constant->type().bytes();
  }
  return bytes;
}

}  // namespace

/// Constants are hashed only once a `pack` asks: many have no use for a store.
class PackFolder::Store final : public kernels::PackStore {
 public:
  Store(PackFiles& files, const Node& node, const kernels::Call& call, kernels::Isa isa)
      : files_(files), node_(node), call_(call), isa_(isa) {}

  std::shared_ptr<const float> find(std::int64_t floats) override {
    header_.key = key_of(node_, call_, isa_);
    has_key_ = true;
    auto file = files_.open(header_.key);
    if (!file) return nullptr;
    const auto mapped = core::MappedFile::of(file->file, file->bytes);
    const auto data = mapped == nullptr ? std::nullopt : content(*mapped, floats);
    return data ? std::shared_ptr<const float>(mapped, reinterpret_cast<const float*>(data->data()))
                : nullptr;
  }

  void keep(std::span<const float> made) override {
    const ByteView data{reinterpret_cast<const std::uint8_t*>(made.data()), made.size_bytes()};
    core::check(has_key_, "what was not looked for is not kept");
    Header header = header_;
    header.floats = static_cast<std::int64_t>(made.size());
    header.check = check_of(data);
    const ByteView parts[] = {{reinterpret_cast<const std::uint8_t*>(&header), sizeof(header)},
                              data};
    files_.keep(header_.key, parts);
  }

 private:
  /// None if the file is not what it should be.
  std::optional<ByteView> content(const core::MappedFile& file, std::int64_t floats) const {
    const ByteView bytes = file.bytes();
    if (bytes.size() != sizeof(Header) + static_cast<std::size_t>(floats) * sizeof(float)) {
      return std::nullopt;
    }
    const ByteView data = bytes.subspan(sizeof(Header));
    Header found, expected = header_;
    std::memcpy(&found, bytes.data(), sizeof(found));
    expected.floats = floats;
    expected.check = check_of(data);
    return found == expected ? std::optional(data) : std::nullopt;
  }

  PackFiles& files_;
  const Node& node_;
  const kernels::Call& call_;
  kernels::Isa isa_;
  Header header_;
  bool has_key_ = false;  // once it was looked for
};

PackFolder::PackFolder(core::Path folder, std::int64_t bytes_max)
    : files_(std::make_shared<PackFilesInFolder>(std::move(folder), bytes_max)) {}

std::unique_ptr<kernels::PackStore> PackFolder::store_for(const Node& node,
                                                          const kernels::Call& call,
                                                          kernels::Isa isa) const {
  if (bytes_of(call) < static_cast<std::int64_t>(core::kPagesBytesMin)) return nullptr;
  return std::make_unique<Store>(*files_, node, call, isa);
}

}  // namespace commensal::graph
