// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/trade/pay/ledger/account.hpp>

/// A struct's `fields` read as EIP-712: the text of the type and the words of the value. So that
/// encoding and signature cannot drift apart, both come from the same list.
namespace commensal::ledger {

struct TypedWord {
  std::string_view type;
  Digest word{};
};

inline Digest word_of_integer(std::uint64_t high, std::uint64_t low) {
  Digest word{};
  for (std::size_t i = 0; i < 8; ++i) {
    word[31 - i] = static_cast<std::uint8_t>(low >> (8 * i));
    word[23 - i] = static_cast<std::uint8_t>(high >> (8 * i));
  }
  return word;
}

inline TypedWord typed(std::uint8_t value) { return {"uint8", word_of_integer(0, value)}; }
inline TypedWord typed(std::uint32_t value) { return {"uint32", word_of_integer(0, value)}; }
inline TypedWord typed(std::uint64_t value) { return {"uint64", word_of_integer(0, value)}; }
inline TypedWord typed(const Digest& value) { return {"bytes32", value}; }
inline TypedWord typed(const Amount& value) {
  return {"uint128", word_of_integer(value.high(), value.low())};
}
inline TypedWord typed(const Address& value) {
  TypedWord made{"address", {}};
  std::copy(value.bytes.begin(), value.bytes.end(), made.word.end() - 20);
  return made;
}
template <protocol::NamedEnum E>
TypedWord typed(E value) {
  return {"uint8", word_of_integer(0, static_cast<std::uint8_t>(value))};
}
/// Evidence is signed by the hash of its one encoding.
template <class T>
requires(!protocol::NamedEnum<T>) TypedWord typed(const T& value) {
  protocol::Writer writer;
  write(writer, value);
  return {"bytes32", crypto::tagged_hash("commensal/ledger/evidence/v1", writer.written())};
}

/// The archive that collects them.
class TypedFields {
 public:
  template <class T>
  void field(std::string_view name, const T& value) {
    const TypedWord made = typed(value);
    if (!members_.empty()) members_ += ',';
    members_.append(made.type).append(1, ' ');
    bool upper = false;
    for (const char letter : name) {  // snake_case to camelCase
      if (letter != '_') {
        const bool raise = upper && letter >= 'a' && letter <= 'z';
        members_ += raise ? static_cast<char>(letter - 'a' + 'A') : letter;
      }
      upper = letter == '_';
    }
    words_.push_back(made.word);
  }
  const std::string& members() const { return members_; }
  const std::vector<Digest>& words() const { return words_; }

 private:
  std::string members_;
  std::vector<Digest> words_;
};

}  // namespace commensal::ledger
