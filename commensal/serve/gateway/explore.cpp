// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_cards.hpp>
#include <commensal/serve/gateway/explore.hpp>
#include <iterator>

namespace commensal::gateway {
namespace {

/// Of ASCII: other letters are looked for as they are.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_case(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), lower);
  return made;
}

constexpr std::int64_t kLook = 256;  // work at a model, whatever is looked for, seen or not

/// All that is looked through, a line each.
std::string searched(const ModelVersion& model, const CardHead* card) {
  std::string text = model.name;
  if (card == nullptr) return lower_case(text);
  for (const std::string* one :
       {&card->task, &card->modality, &card->license, &card->parent, &card->summary})
    text += '\n' + *one;
  for (const std::string& tag : card->tags) text += '\n' + tag;
  return lower_case(text);
}

}  // namespace

std::string Explored::Place::text() const { return fmt::format("{}.{}", rank, name); }

core::Result<Explored::Place> Explored::Place::parse(std::string_view text) {
  Place place;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, place.rank);
  if (error != std::errc() || stop == end || *stop != '.')
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "after: expected what the answer before named as 'next'");
  place.name = std::string(stop + 1, end);
  return place;
}

core::Result<void> Explored::look_for(std::string_view query) {
  if (query.size() > limits::kExploreQueryBytesMax)
    return core::fail(core::ErrorCode::kInvalidArgument, "query: at most {} bytes",
                      limits::kExploreQueryBytesMax);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find(' '), query.size());
    if (end > 0) words.push_back(lower_case(query.substr(0, end)));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  if (words.size() > limits::kExploreWordsMax)
    return core::fail(core::ErrorCode::kInvalidArgument, "query: at most {} words",
                      limits::kExploreWordsMax);
  return {};
}

Exploration::Exploration(Explored wanted) : wanted_(std::move(wanted)) {
  if (wanted_.sort == Explored::Sort::kName && wanted_.after) seen_ = wanted_.after->name;
}

bool Exploration::is_wanted(const ModelVersion& model, const CardHead* card) {
  if (!wanted_.task.empty() && (card == nullptr || card->task != wanted_.task)) return false;
  if (!wanted_.modality.empty() && (card == nullptr || card->modality != wanted_.modality))
    return false;
  if (wanted_.words.empty()) return true;
  const std::string text = searched(model, card);
  work_ += std::ssize(text);
  return std::ranges::all_of(wanted_.words, [&](const std::string& word) {
    work_ += std::ssize(text) * std::ssize(word) / 4;  // at worst so often a letter is compared
    return text.find(word) != std::string::npos;
  });
}

/// The last of too many goes.
void Exploration::add(Explored::Place place, Found found) {
  if (wanted_.after && place <= *wanted_.after) return;
  found_.emplace(std::move(place), std::move(found));
  if (found_.size() <= wanted_.count) return;
  found_.erase(std::prev(found_.end()));
  has_more_ = true;
}

/// Passes by what the asker may not see itself, instead of having the hub do it: that is work too,
/// and there may be much of it.
core::Result<bool> Exploration::step(ModelHub& hub, const Account* asker, const Served& served) {
  using Sort = Explored::Sort;
  const Account everything{.name = "", .role = Role::kOperator};
  work_ = 0;
  bool is_over = true;
  COMMENSAL_TRY(hub.visit(&everything, seen_, [&](const ModelPtr& model, const CardHeadPtr& card) {
    if (work_ >= limits::kExploreWorkMax) return is_over = false;
    seen_ = model->name;
    work_ += kLook;
    if (model->is_private && !hub.find(asker, model->name)) return true;
    if (!is_wanted(*model, card.get())) return true;
    Found found{model, card, served(model->name)};
    const std::uint64_t rank =
        wanted_.sort == Sort::kName ? 0
        : wanted_.sort == Sort::kUsed
            ? found.served
            : static_cast<std::uint64_t>(std::max<std::int64_t>(model->created_ms, 0));
    add({rank, model->name}, std::move(found));
    return wanted_.sort != Sort::kName || !has_more_;
  }));
  return is_over;
}

}  // namespace commensal::gateway
