// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/rpc/stream.hpp>
#include <vector>

namespace commensal::gateway::testing {

/// A provider's stream that remembers what the gateway said to it.
class Heard final : public rpc::ProviderStream {
 public:
  void send(rpc::ToProvider message) override { words_.push_back(std::move(message)); }
  void close() override { is_closed_ = true; }

  bool is_closed() const { return is_closed_; }
  rpc::Challenge challenge() const { return all<rpc::Challenge>().at(0); }
  /// All words of this kind, in order.
  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const rpc::ToProvider& word : words_) {
      if (const Kind* const one = std::get_if<Kind>(&word)) found.push_back(*one);
    }
    return found;
  }

 private:
  std::vector<rpc::ToProvider> words_;
  bool is_closed_ = false;
};

}  // namespace commensal::gateway::testing
