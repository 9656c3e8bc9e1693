// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/front_matter.hpp>
#include <sstream>

namespace commensal::gateway {
namespace {

using core::ErrorCode;

/// Ends the parser's work: it knows no other way. Caught below.
struct YamlRefused {
  int line = 0;
  std::string why;
};

/// Builds the tree of what the parser comes across. No alias is followed, so that none multiplies.
class YamlTree final : public YAML::EventHandler {
 public:
  using Mark = YAML::Mark;

  YamlValue take() { return std::move(root_); }

  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const Mark& mark, YAML::anchor_t) override { refuse(mark, kAnchors); }
  void OnNull(const Mark& mark, YAML::anchor_t anchor) override { add(mark, anchor); }
  void OnScalar(const Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    if (is_key_due()) {
      check(mark, anchor);
      open_.back()->members.emplace_back(text, YamlValue());
      is_keyed_.back() = true;
      return;
    }
    YamlValue& made = add(mark, anchor);
    made.kind = YamlValue::Kind::kText;
    made.text = text;
  }
  void OnSequenceStart(const Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, anchor, YamlValue::Kind::kList);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, anchor, YamlValue::Kind::kMap);
  }
  void OnMapEnd() override { end(); }

 private:
  static constexpr const char* kAnchors = "anchors (&) and aliases (*) are not taken here";

  [[noreturn]] static void refuse(const Mark& mark, std::string why) {
    throw YamlRefused{mark.line, std::move(why)};
  }
  bool is_key_due() const {
    return !open_.empty() && open_.back()->kind == YamlValue::Kind::kMap && !is_keyed_.back();
  }
  void check(const Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) refuse(mark, kAnchors);
    if (++values_ > limits::kCardValuesMax)
      refuse(mark, fmt::format("there are more than {} values", limits::kCardValuesMax));
  }
  YamlValue& add(const Mark& mark, YAML::anchor_t anchor) {
    check(mark, anchor);
    if (open_.empty()) return root_ = YamlValue();
    if (is_key_due()) refuse(mark, "a key is expected to be a text");
    YamlValue& within = *open_.back();
    if (within.kind == YamlValue::Kind::kList) return within.items.emplace_back();
    is_keyed_.back() = false;
    return within.members.back().second;
  }
  void begin(const Mark& mark, YAML::anchor_t anchor, YamlValue::Kind kind) {
    if (open_.size() >= limits::kCardDepthMax)
      refuse(mark, fmt::format("lists in lists, more than {} deep", limits::kCardDepthMax));
    YamlValue& made = add(mark, anchor);
    made.kind = kind;
    open_.push_back(&made);  // what holds it gets no other value until it ends
    is_keyed_.push_back(false);
  }
  void end() {
    open_.pop_back();
    is_keyed_.pop_back();
  }

  YamlValue root_;
  std::vector<YamlValue*> open_;
  std::vector<bool> is_keyed_;  // of each of them: a key waits for its value
  std::size_t values_ = 0;
};

tl::unexpected<core::Error> refused_line(int line, std::string_view why) {
  return core::fail(ErrorCode::kInvalidArgument, "line {} of the card's front matter: {}", line,
                    protocol::one_line(why));
}

/// `line_offset`: of its first line in the file.
core::Result<YamlValue> yaml_tree(std::string_view text, int line_offset) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    YamlTree tree;
    parser.HandleNextDocument(tree);
    return tree.take();
  } catch (const YamlRefused& refused) {
    return refused_line(refused.line + 1 + line_offset, refused.why);
  } catch (const YAML::Exception& error) {
    return refused_line(error.mark.line + 1 + line_offset, "no YAML: " + error.msg);
  }
}

/// The next line without its end, which is taken away.
std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

core::Result<FrontMatter> split_front_matter(std::string_view source) {
  constexpr std::string_view kFence = "---";
  std::string_view rest = source;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);  // a byte order mark
  const std::string_view whole = rest;
  if (next_line(rest) != kFence) return FrontMatter{{}, whole};
  const std::string_view head = rest;
  for (int number = 2; !rest.empty(); ++number) {
    const auto at = static_cast<std::size_t>(rest.data() - head.data());
    const std::string_view line = next_line(rest);
    if (line == kFence) {
      COMMENSAL_ASSIGN(YamlValue tree, yaml_tree(head.substr(0, at), 1));
      const bool is_map = tree.kind == YamlValue::Kind::kMap;
      if (!is_map && tree.kind != YamlValue::Kind::kNothing)
        return refused_line(2, "expected 'key: value'");
      return FrontMatter{std::move(tree), rest};
    }
    if (line.size() > limits::kCardLineBytesMax)
      return refused_line(number, fmt::format("it has {} bytes, at most {} are read: give each "
                                              "item of a list a line",
                                              line.size(), limits::kCardLineBytesMax));
  }
  return core::fail(ErrorCode::kInvalidArgument,
                    "the card's front matter begins with '---' and no line '---' ends it");
}

}  // namespace commensal::gateway
