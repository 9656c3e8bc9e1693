// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace commensal::kernels {

/// What a kernel has read out of a call's types, attributes and those elements that shape or steer
/// it (columns of its row): made once for all runs of a node in which none of these change.
/// Whatever depends on other elements, on threads or on memory has no place here.
/// Thread-safety: one thread.
class Memo {
 public:
  Memo() = default;
  /// A copy is of another call, about which nothing is known.
  Memo(const Memo&) {}
  Memo& operator=(const Memo&) = delete;

  /// From now on keeps what is made while `budget` lasts, in bytes; it outlives this. `bytes`: of
  /// what does not say itself, by bytes(), how many it has on the heap.
  void keep(std::int64_t& budget, std::int64_t bytes) {
    budget_ = &budget;
    bytes_ = bytes;
  }

  /// What make(), a core::Result<T>, gives or gave before. Each `make` once a call: its type tells
  /// one from another.
  template <class Make>
  auto of(const Make& make) {
    static_assert(std::is_class_v<Make>, "functions of one type cannot be told apart");
    using T = typename decltype(make())::value_type;
    using Made = core::Result<std::shared_ptr<const T>>;
    for (const Kept& kept : kept_) {
      if (kept.kind == &kKind<Make>) return Made(std::static_pointer_cast<const T>(kept.made));
    }
    auto made = make();
    if (!made) return Made(tl::unexpected(std::move(made.error())));
    auto shared = std::make_shared<const T>(*std::move(made));
    if (budget_ != nullptr) {
      std::int64_t bytes = bytes_ + static_cast<std::int64_t>(sizeof(T));
      if constexpr (requires { shared->bytes(); }) bytes = shared->bytes();
      if (bytes <= *budget_) {
        *budget_ -= bytes;
        kept_.push_back({&kKind<Make>, shared});
      }
    }
    return Made(std::move(shared));
  }

 private:
  template <class Make>
  static constexpr char kKind = 0;  // its place
  struct Kept {
    const char* kind;
    std::shared_ptr<const void> made;
  };
  std::vector<Kept> kept_;
  std::int64_t* budget_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace commensal::kernels
