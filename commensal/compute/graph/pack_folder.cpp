// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

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

constexpr std::string_view kSuffix = ".pack";

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
  Store(const PackFolder& folder, const Node& node, const kernels::Call& call, kernels::Isa isa)
      : folder_(folder), node_(node), call_(call), isa_(isa) {}

  std::shared_ptr<const float> find(std::int64_t floats) override {
    header_.key = key_of(node_, call_, isa_);
    path_ = folder_.folder_ / (core::to_hex(header_.key) + std::string(kSuffix));
    const auto file = core::MappedFile::open(path_);
    if (!file) return nullptr;
    const auto data = content(**file, floats);
    if (!data) {
      std::error_code ignored;  // somebody else may have removed or replaced it
      std::filesystem::remove(path_, ignored);
      return nullptr;
    }
    ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);  // used now; a failure costs its turn only
    return {*file, reinterpret_cast<const float*>(data->data())};
  }

  void keep(std::span<const float> made) override {
    const ByteView data{reinterpret_cast<const std::uint8_t*>(made.data()), made.size_bytes()};
    core::check(!path_.empty(), "what was not looked for is not kept");
    if (static_cast<std::int64_t>(data.size()) > folder_.bytes_max_) return;
    Header header = header_;
    header.floats = static_cast<std::int64_t>(made.size());
    header.check = check_of(data);
    const ByteView parts[] = {{reinterpret_cast<const std::uint8_t*>(&header), sizeof(header)},
                              data};
    if (core::replace_file(path_, parts, 0600)) folder_.make_room();
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

  const PackFolder& folder_;
  const Node& node_;
  const kernels::Call& call_;
  kernels::Isa isa_;
  Header header_;  // with a key, as path_, once it was looked for
  core::Path path_;
};

PackFolder::PackFolder(core::Path folder, std::int64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {
  std::error_code ignored;  // then nothing is kept
  if (std::filesystem::create_directories(folder_, ignored)) {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
  }
}

std::unique_ptr<kernels::PackStore> PackFolder::store_for(const Node& node,
                                                          const kernels::Call& call,
                                                          kernels::Isa isa) const {
  if (bytes_of(call) < static_cast<std::int64_t>(core::kPagesBytesMin)) return nullptr;
  return std::make_unique<Store>(*this, node, call, isa);
}

void PackFolder::make_room() const {
  struct File {
    std::filesystem::file_time_type used;
    std::int64_t bytes;
    core::Path path;
  };
  std::vector<File> files;
  std::int64_t total = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    // A process that died left its temporary file, whose name has more behind the suffix.
    if (at->path().filename().string().find(kSuffix) != 2 * sizeof(Digest)) continue;
    std::error_code gone;
    const auto bytes = static_cast<std::int64_t>(at->file_size(gone));
    const auto used = gone ? std::filesystem::file_time_type() : at->last_write_time(gone);
    if (gone) continue;
    files.push_back({used, bytes, at->path()});
    total += bytes;
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (total <= bytes_max_) break;
    if (std::filesystem::remove(file.path, failed)) total -= file.bytes;
  }
}

}  // namespace commensal::graph
