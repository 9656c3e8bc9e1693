// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/hub.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::gateway {

/// Which models are looked for.
struct Explored {
  enum class Sort : std::uint8_t { kName, kNewest, kUsed };

  /// Where a model stands in a list: the greatest rank first, then by name.
  struct Place {
    std::uint64_t rank = 0;  // none by name; of the newest its time, of the used its answers
    std::string name;

    bool operator==(const Place&) const = default;
    std::strong_ordering operator<=>(const Place& other) const {
      if (rank != other.rank) return other.rank <=> rank;
      return name <=> other.name;
    }
    /// "RANK.NAME", for who asks for what follows. Error: kInvalidArgument.
    std::string text() const;
    static core::Result<Place> parse(std::string_view text);
  };

  std::vector<std::string> words;  // all of them in name, task, licence, tags or summary, any case
  std::string task;                // "": any
  std::string modality;            // likewise
  Sort sort = Sort::kName;
  std::size_t count = 20;      // at least 1
  std::optional<Place> after;  // those behind it

  /// Words of a text. Error: kInvalidArgument (limits::kExploreQueryBytesMax, kExploreWordsMax).
  core::Result<void> look_for(std::string_view query);
};

/// One search through a hub's models, a little at a time, so that nobody waits for it. What changes
/// meanwhile it may see or not. Thread-safety: one thread at a time; step() on the hub's.
class Exploration {
 public:
  struct Found {
    ModelPtr model;
    CardHeadPtr card;  // null: none
    std::uint64_t served = 0;
  };
  using Served = std::function<std::uint64_t(const std::string& model)>;

  explicit Exploration(Explored wanted);

  /// Looks at the next models, limits::kExploreWorkMax of work; whether it has seen all it needs.
  core::Result<bool> step(ModelHub& hub, const Account* asker, const Served& served);
  /// In their order, at most as many as were wanted; then where others follow.
  const std::map<Explored::Place, Found>& found() const { return found_; }
  bool has_more() const { return has_more_; }

 private:
  bool is_wanted(const ModelVersion& model, const CardHead* card);
  void add(Explored::Place place, Found found);

  Explored wanted_;
  std::string seen_;  // the last model's name
  std::map<Explored::Place, Found> found_;
  bool has_more_ = false;
  std::int64_t work_ = 0;
};

}  // namespace commensal::gateway
