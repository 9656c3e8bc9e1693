// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
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
  ~Memo() { forget(); }

  /// From now on keeps what is made while `budget` lasts, in bytes, which it gives back in the end;
  /// it outlives this. `bytes`: of what does not say itself, by bytes(), how many it has.
  void keep(std::atomic<std::int64_t>& budget, std::int64_t bytes) {
    budget_ = &budget;
    bytes_ = bytes;
  }
  /// Forgets, and keeps from now on what is made for the next run alone, by inference above all.
  void keep_for_a_run() {
    forget();
    is_for_a_run_ = true;
  }
  void forget() {
    kept_.clear();
    if (charged_ > 0) *budget_ += std::exchange(charged_, 0);
    is_for_a_run_ = false;
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
    if (is_for_a_run_ || has_room_for(*shared)) kept_.push_back({&kKind<Make>, shared});
    return Made(std::move(shared));
  }

 private:
  template <class Make>
  static constexpr char kKind = 0;  // its place

  template <class T>
  bool has_room_for(const T& made) {
    if (budget_ == nullptr) return false;
    std::int64_t bytes = bytes_ + static_cast<std::int64_t>(sizeof(T));
    if constexpr (requires { made.bytes(); }) bytes = made.bytes();
    if (bytes > *budget_) return false;
    *budget_ -= bytes;
    charged_ += bytes;
    return true;
  }

  struct Kept {
    const char* kind;
    std::shared_ptr<const void> made;
  };
  std::vector<Kept> kept_;
  std::atomic<std::int64_t>* budget_ = nullptr;
  std::int64_t bytes_ = 0, charged_ = 0;
  bool is_for_a_run_ = false;
};

}  // namespace commensal::kernels
