// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>

namespace commensal::ledger {
namespace {

using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using core::fail;
using core::Result;

Digest hash_of(ByteView key, ByteView value) {
  protocol::Writer row;
  row.bytes(key);
  row.bytes(value);
  return crypto::tagged_hash("commensal/ledger/row/v1", row.written());
}

/// What lies under the empty key.
struct Root {
  State::Scalars scalars;
  RowSum sum;

  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("scalars", self.scalars);
    archive.field("sum", self.sum);
  }
};

template <class Part>
Bytes bytes_of(const Part& part) {
  protocol::Writer writer;
  write(writer, part);
  return std::move(writer).take();
}

template <class Key>
Bytes row_key(std::uint8_t table, const Key& key) {
  protocol::Writer writer;
  writer.u8(table);
  write(writer, key);
  return std::move(writer).take();
}

template <class Part>
Result<void> read_part(ByteView bytes, std::string_view what, Part& part) {
  protocol::Reader reader(bytes, what);
  read(reader, part);
  if (const auto done = reader.finish(); !done) {
    return fail(ErrorCode::kDataLoss, "ledger: {}", done.error().message);
  }
  return {};
}

Result<void> read_row(State& state, ByteView key, ByteView value) {
  Result<void> done =
      fail(ErrorCode::kDataLoss, "ledger: a row of table {}, which is none", key[0]);
  std::uint8_t number = 0;
  state.each_table([&]<class Key, class Value>(Table<Key, Value>& table) {
    if (number++ != key[0]) return;
    Key at{};
    Value row{};
    done = read_part(key.subspan(1), "a row's key", at);
    if (done) done = read_part(value, "a row", row);
    if (done) table.load(at, std::move(row));
  });
  return done;
}

}  // namespace

void RowSum::add(ByteView key, ByteView value) {
  const Digest hash = hash_of(key, value);
  unsigned carry = 0;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    carry += unsigned{sum_[i]} + hash[i];
    sum_[i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
}

void RowSum::remove(ByteView key, ByteView value) {
  const Digest hash = hash_of(key, value);
  int borrow = 0;
  for (std::size_t i = 0; i < sum_.size(); ++i) {
    borrow += int{sum_[i]} - int{hash[i]};
    sum_[i] = static_cast<std::uint8_t>(borrow);
    borrow >>= 8;
  }
}

core::Store::Batch take_writes(State& state, RowSum& sum) {
  core::Store::Batch batch;
  std::uint8_t number = 0;
  state.each_table([&](auto& table) {
    for (const auto& [key, before] : table.take_unwritten()) {
      const Bytes at = row_key(number, key);
      if (before) sum.remove(at, bytes_of(*before));
      const auto* const now = table.find(key);
      if (now != nullptr) sum.add(at, bytes_of(*now));
      if (now != nullptr || before) {
        batch.push_back({std::string(kStateSpace), at,
                         now != nullptr ? std::optional(bytes_of(*now)) : std::nullopt});
      }
    }
    ++number;
  });
  batch.push_back({std::string(kStateSpace), {}, bytes_of(Root{state.scalars, sum})});
  return batch;
}

Result<StoredState> read_state(core::Store& store) {
  StoredState made;
  std::optional<Root> root;
  Result<void> status;
  COMMENSAL_TRY(store.scan(kStateSpace, {}, [&](ByteView key, ByteView value) {
    if (key.empty()) {
      status = read_part(value, "the state", root.emplace());
    } else {
      status = read_row(made.state, key, value);
      made.sum.add(key, value);
    }
    return status.has_value();
  }));
  COMMENSAL_TRY(status);
  if (made.sum != (root ? root->sum : RowSum{})) {
    return fail(ErrorCode::kDataLoss, "ledger: the rows of its state are not those written");
  }
  if (root) made.state.scalars = root->scalars;
  return made;
}

}  // namespace commensal::ledger
