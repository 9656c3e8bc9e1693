// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/chacha20.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/state_rows.hpp>
#include <utility>

namespace commensal::ledger {
namespace {

using core::Bytes;
using core::ByteView;
using core::ErrorCode;
using core::fail;
using core::Result;

using RowHash = std::array<std::uint16_t, 1024>;

RowHash hash_of(ByteView key, ByteView value) {
  protocol::Writer row;
  row.bytes(key);
  row.bytes(value);
  std::array<std::uint8_t, 2 * std::tuple_size_v<RowHash>> stream;
  crypto::ChaCha20(crypto::tagged_hash("commensal/ledger/row/v1", row.written()), {}).fill(stream);
  RowHash hash;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<std::uint16_t>(stream[2 * i] << 8 | stream[2 * i + 1]);
  }
  return hash;
}

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

/// Rows one by one into a state.
class Loading {
 public:
  Result<void> row(ByteView key, ByteView value) {
    if (key.empty()) {
      COMMENSAL_ASSIGN(root_, decode_root(value));
      return {};
    }
    COMMENSAL_TRY(read_row(made_.state, key, value));
    made_.sum.add(key, value);
    return {};
  }
  Result<StoredState> finish() && {
    if (made_.sum != root_.sum) {
      return fail(ErrorCode::kDataLoss, "ledger: the rows of its state are not those written");
    }
    made_.state.scalars = root_.scalars;
    return std::move(made_);
  }

 private:
  StoredState made_;
  Root root_;
};

}  // namespace

void RowSum::add(ByteView key, ByteView value) {
  const RowHash hash = hash_of(key, value);
  for (std::size_t i = 0; i < hash.size(); ++i) {
    numbers_[i] = static_cast<std::uint16_t>(numbers_[i] + hash[i]);
  }
}

void RowSum::remove(ByteView key, ByteView value) {
  const RowHash hash = hash_of(key, value);
  for (std::size_t i = 0; i < hash.size(); ++i) {
    numbers_[i] = static_cast<std::uint16_t>(numbers_[i] - hash[i]);
  }
}

Bytes encode_root(const Root& root) { return bytes_of(root); }

Result<Root> decode_root(ByteView bytes) {
  Root root;
  COMMENSAL_TRY(read_part(bytes, "the state", root));
  return root;
}

Digest root_digest(const Root& root) {
  return crypto::tagged_hash("commensal/ledger/root/v1", encode_root(root));
}

StoredState with_sum(State state) {
  StoredState made{std::move(state), {}};
  std::uint8_t number = 0;
  std::as_const(made.state).each_table([&](const auto& table) {
    for (const auto& [key, value] : table.rows()) {
      made.sum.add(row_key(number, key), bytes_of(value));
    }
    ++number;
  });
  return made;
}

Digest state_root(const State& state) { return root_digest({state.scalars, with_sum(state).sum}); }

std::vector<RowChange> changes_of(const State& state) {
  std::vector<RowChange> changes;
  const auto encoded = [](const auto& value) { return std::optional(bytes_of(value)); };
  std::uint8_t number = 0;
  state.each_table([&](const auto& table) {
    for (const auto& [key, before] : table.unwritten()) {
      const auto* const now = table.find(key);
      if (now == nullptr && !before) continue;
      changes.push_back({row_key(number, key), before ? encoded(*before) : std::nullopt,
                         now != nullptr ? encoded(*now) : std::nullopt});
    }
    ++number;
  });
  return changes;
}

std::vector<RowChange> take_changes(State& state) {
  std::vector<RowChange> changes = changes_of(state);
  state.each_table([](auto& table) { table.take_unwritten(); });
  return changes;
}

void add_to(RowSum& sum, const std::vector<RowChange>& changes) {
  for (const RowChange& change : changes) {
    if (change.before) sum.remove(change.key, *change.before);
    if (change.now) sum.add(change.key, *change.now);
  }
}

Result<Rows> read_rows(core::Store& store) {
  Rows rows;
  COMMENSAL_TRY(store.scan(kStateSpace, {}, [&](ByteView key, ByteView value) {
    rows[Bytes(key.begin(), key.end())].assign(value.begin(), value.end());
    return true;
  }));
  return rows;
}

Result<StoredState> state_of(const Rows& rows) {
  Loading loading;
  for (const auto& [key, value] : rows) COMMENSAL_TRY(loading.row(key, value));
  return std::move(loading).finish();
}

Result<StoredState> read_state(core::Store& store) {
  Loading loading;
  Result<void> status;
  COMMENSAL_TRY(store.scan(kStateSpace, {}, [&](ByteView key, ByteView value) {
    status = loading.row(key, value);
    return status.has_value();
  }));
  COMMENSAL_TRY(status);
  return std::move(loading).finish();
}

}  // namespace commensal::ledger
