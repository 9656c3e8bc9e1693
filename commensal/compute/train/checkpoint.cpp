// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/compute/train/checkpoint.hpp>
#include <cstring>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;

namespace {

constexpr std::string_view kMagic = "commensal checkpoint 3, numerics ";
constexpr std::size_t kDigestBytes = 32;

void put(core::Bytes& to, core::ByteView bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void put(core::Bytes& to, std::int64_t value) {
  for (int shift = 0; shift < 64; shift += 8)
    to.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> shift));
}

/// Reads what put() wrote. The hash was right, so that only a writer's bug leads beyond the end:
/// it is told, not believed.
class Reader {
 public:
  explicit Reader(core::ByteView bytes) : bytes_(bytes) {}

  core::ByteView take(std::int64_t count) {
    if (count < 0 || static_cast<std::uint64_t>(count) > bytes_.size()) {
      is_short_ = true;
      return {};
    }
    const auto made = bytes_.first(static_cast<std::size_t>(count));
    bytes_ = bytes_.subspan(made.size());
    return made;
  }
  std::int64_t number() {
    std::uint64_t value = 0;
    const auto from = take(8);
    for (std::size_t i = 0; i < from.size(); ++i) value |= std::uint64_t{from[i]} << (8 * i);
    return static_cast<std::int64_t>(value);
  }
  bool is_short() const { return is_short_; }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  core::ByteView bytes_;
  bool is_short_ = false;
};

Result<Checkpoint::Entry> read_entry(Reader& reader) {
  Checkpoint::Entry entry;
  entry.name = std::string(core::as_text(reader.take(reader.number())));
  COMMENSAL_ASSIGN(const DType dtype, tensor::dtype_from_onnx(static_cast<int>(reader.number())));
  std::vector<std::int64_t> dims;
  const std::int64_t rank = reader.number();
  for (std::int64_t d = 0; d < rank && !reader.is_short(); ++d) dims.push_back(reader.number());
  COMMENSAL_ASSIGN(const auto shape, tensor::Shape::of(dims));
  const tensor::TensorType type{dtype, shape};
  const auto bytes = reader.take(type.bytes());
  if (reader.is_short()) return fail(ErrorCode::kDataLoss, "its values end too early");
  entry.value = tensor::Tensor::copy_of(type, bytes);
  return entry;
}

}  // namespace

core::Bytes encode(const Checkpoint& checkpoint) {
  core::Bytes made;
  put(made, core::as_bytes(fmt::format("{}{}\n", kMagic, kernels::kNumericsVersion)));
  put(made, checkpoint.training);
  put(made, checkpoint.step);
  put(made, checkpoint.confirmed);
  put(made, static_cast<std::int64_t>(checkpoint.state.size()));
  for (const auto& [name, value] : checkpoint.state) {
    put(made, static_cast<std::int64_t>(name.size()));
    put(made, core::as_bytes(name));
    put(made, static_cast<std::int64_t>(value.dtype()));
    put(made, static_cast<std::int64_t>(value.shape().rank()));
    for (const std::int64_t dim : value.shape().dims()) put(made, dim);
    put(made, value.bytes());
  }
  put(made, static_cast<std::int64_t>(checkpoint.losses.size()));
  put(made, {reinterpret_cast<const std::uint8_t*>(checkpoint.losses.data()),
             checkpoint.losses.size() * sizeof(float)});
  put(made, static_cast<std::int64_t>(checkpoint.held_out.size()));
  for (const Checkpoint::HeldOut& each : checkpoint.held_out) {
    put(made, each.step);
    put(made, std::bit_cast<std::int64_t>(each.loss));
    put(made, std::bit_cast<std::int64_t>(each.accuracy));
  }
  put(made, crypto::sha256(made));
  return made;
}

Result<Checkpoint> decode(core::ByteView bytes) {
  const std::string_view text = core::as_text(bytes);
  if (!text.starts_with(kMagic)) return fail(ErrorCode::kInvalidArgument, "this is no checkpoint");
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos || bytes.size() < line + 1 + kDigestBytes)
    return fail(ErrorCode::kDataLoss, "the checkpoint is cut off");
  const std::string_view version = text.substr(kMagic.size(), line - kMagic.size());
  if (version != std::to_string(kernels::kNumericsVersion)) {
    return fail(ErrorCode::kFailedPrecondition,
                "the checkpoint is of numerics version {}, this program has {}",
                version.substr(0, 9), kernels::kNumericsVersion);
  }
  const auto body = bytes.first(bytes.size() - kDigestBytes);
  if (!std::ranges::equal(crypto::sha256(body), bytes.last(kDigestBytes)))
    return fail(ErrorCode::kDataLoss, "the checkpoint is cut off or was changed");
  Reader reader(body.subspan(line + 1));
  Checkpoint made;
  const auto training = reader.take(static_cast<std::int64_t>(made.training.size()));
  std::ranges::copy(training, made.training.begin());
  made.step = reader.number();
  made.confirmed = reader.number();
  if (made.confirmed < 0 || made.confirmed > made.step)
    return fail(ErrorCode::kDataLoss, "{} of its {} steps are confirmed", made.confirmed,
                made.step);
  const std::int64_t entries = reader.number();
  for (std::int64_t i = 0; i < entries && !reader.is_short(); ++i) {
    COMMENSAL_ASSIGN(auto entry, read_entry(reader));
    made.state.push_back(std::move(entry));
  }
  const std::int64_t losses = reader.number();
  if (losses != made.step)
    return fail(ErrorCode::kDataLoss, "it has {} losses of {} steps", losses, made.step);
  if (losses < 0 || static_cast<std::uint64_t>(losses) > body.size() / sizeof(float))
    return fail(ErrorCode::kDataLoss, "the checkpoint's parts do not fit");
  const auto all = reader.take(losses * static_cast<std::int64_t>(sizeof(float)));
  const std::int64_t held_out = reader.number();
  for (std::int64_t i = 0; i < held_out && !reader.is_short(); ++i) {
    Checkpoint::HeldOut& each = made.held_out.emplace_back();
    each.step = reader.number();
    each.loss = std::bit_cast<double>(reader.number());
    each.accuracy = std::bit_cast<double>(reader.number());
  }
  if (reader.is_short() || !reader.is_at_end())
    return fail(ErrorCode::kDataLoss, "the checkpoint's parts do not fit");
  made.losses.resize(all.size() / sizeof(float));
  if (!all.empty()) std::memcpy(made.losses.data(), all.data(), all.size());
  return made;
}

}  // namespace commensal::train
