// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/address.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace commensal::provider {

/// For which gateways models lie in the cache: whoever has one used here, or fetched ahead, holds
/// it, and nobody else can have it removed. Until when answers of it that earn tickets may be
/// disputed, so that who has signed them needs it; and whose gateway has let go of it. Durable when
/// a call returns; of a model whose file is gone nothing is kept for long, but that it is let go
/// of, as it may be about to come. Errors: the store's. Thread-safety: one thread, the store's.
class Holdings {
 public:
  struct Holding {
    static constexpr std::string_view kRecord = "held model";

    std::uint64_t until_ms = 0;  // since 1970; 0: there are no such answers
    bool is_let_go = false;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("until_ms", self.until_ms);
      archive.field("is_let_go", self.is_let_go);
    }
  };
  struct Key {
    core::Digest model{};
    crypto::Address gateway;
    auto operator<=>(const Key&) const = default;
  };
  using IsThere = std::function<bool(const core::Digest& model)>;

  /// `store` outlives this object. `is_there`: the model's file is in the cache.
  Holdings(core::Store& store, IsThere is_there) : store_(store), is_there_(std::move(is_there)) {}

  /// Reads what is held; call once before the rest. Error: kDataLoss.
  core::Result<void> open();
  /// The file has come for this gateway, or was used for it.
  core::Result<void> use(const Key& key);
  /// It is asked for again: what was let go of is held once more.
  core::Result<void> take_back(const Key& key);
  /// An answer that may be disputed until then is about to be signed at `now_ms`. A little more is
  /// written at once, so that there need not be a write for each.
  core::Result<void> owe(const Key& key, std::uint64_t until_ms, std::uint64_t now_ms);
  /// The gateway lets go of it, perhaps while it is on its way here. False: it holds nothing, as
  /// there is no such file, or it is there for others alone. Of a file that nobody holds, one of an
  /// earlier release, any gateway may.
  core::Result<bool> let_go(const Key& key, bool is_coming);
  /// It holds nothing any more.
  core::Result<void> end(const Key& key);

  /// Null: nothing.
  const Holding* find(const Key& key) const;
  /// Whether the file is there, and another gateway holds it and has not let go of it.
  bool is_anothers(const Key& key) const;
  std::vector<Key> let_go() const;

 private:
  core::Result<void> put(const Key& key, const Holding& holding);
  core::Result<void> prune();

  core::Store& store_;
  const IsThere is_there_;
  std::map<Key, Holding> held_;
};

}  // namespace commensal::provider
