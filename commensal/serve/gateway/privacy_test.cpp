// SPDX-License-Identifier: Apache-2.0
// Whose word counts on who may see private data, and for how long.
#include <gmock/gmock.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/privacy.hpp>

namespace commensal::gateway {
namespace {

using protocol::PrivacyStatement;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Privacy : public ::testing::Test {
 protected:
  static constexpr std::int64_t kNowMs = 1'000;

  PrivacyStatement statement(const std::string& privacy_class, std::uint64_t until_ms,
                             const crypto::SecretKey& signer) {
    PrivacyStatement made;
    made.provider = provider_.address();
    made.privacy_class = privacy_class;
    made.valid_until_ms = until_ms;
    return protocol::sign_statement(signer, made);
  }
  PrivacyClasses classes_of(const std::vector<PrivacyStatement>& shown) {
    ignored_.clear();
    return auditors_.classes_of(shown, provider_.address(), kNowMs, [this](const core::Error& why) {
      ignored_.push_back(why.message);
    });
  }

  core::CounterRng rng_{3};
  const crypto::SecretKey provider_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey auditor_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey other_ = crypto::SecretKey::generate(rng_);
  const PrivacyAuditors auditors_{
      {{"medical", {auditor_.address()}}, {"legal", {auditor_.address(), other_.address()}}}};
  std::vector<std::string> ignored_;
};

TEST_F(Privacy, AStatementHoldsByWhomIsBelievedAboutItsClass) {
  const auto classes =
      classes_of({statement("medical", 2'000, auditor_), statement("legal", 3'000, other_),
                  statement("legal", 2'500, auditor_)});
  EXPECT_TRUE(ignored_.empty());
  EXPECT_EQ(classes, (PrivacyClasses{{"medical", 2'000}, {"legal", 3'000}}));
}

TEST_F(Privacy, WhatDoesNotHoldIsIgnoredWithALineEach) {
  PrivacyStatement bent = statement("medical", 2'000, auditor_);
  bent.valid_until_ms = 9'000;
  PrivacyStatement anothers = statement("medical", 2'000, auditor_);
  anothers.provider = other_.address();
  const auto classes = classes_of({statement("medical", 2'000, other_),  // not about this class
                                   statement("unknown", 2'000, auditor_), bent, anothers,
                                   statement("medical", 1'000, auditor_),  // ends now
                                   statement("legal", 1'001, auditor_)});
  EXPECT_EQ(classes, (PrivacyClasses{{"legal", 1'001}}));
  EXPECT_THAT(ignored_,
              ElementsAre(HasSubstr("is no auditor of this class here"),
                          HasSubstr("is no auditor of this class here"), HasSubstr("recovers to"),
                          HasSubstr("it is for 0x"), HasSubstr("it has ended")));
  for (const std::string& line : ignored_) {
    EXPECT_THAT(line, HasSubstr(crypto::to_text(provider_.address())));
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
}

TEST_F(Privacy, EachEndsAtItsTime) {
  const PrivacyClasses classes{{"medical", 2'000}, {"legal", 3'000}};
  EXPECT_EQ(why_not_shown(classes, "", 9'000), "");
  EXPECT_EQ(why_not_shown(classes, "medical", 1'999), "");
  EXPECT_THAT(why_not_shown(classes, "medical", 2'000), HasSubstr("'medical' any more"));
  EXPECT_THAT(why_not_shown(classes, "tax", 0), HasSubstr("no statement of class 'tax'"));
  EXPECT_EQ(still_held(classes, 2'000), (PrivacyClasses{{"legal", 3'000}}));
  EXPECT_EQ(still_held(std::nullopt, 0), PrivacyClasses());
}

TEST_F(Privacy, AClassThatNobodyVouchesForIsARequestsFault) {
  EXPECT_TRUE(auditors_.check(""));
  EXPECT_TRUE(auditors_.check("medical"));
  EXPECT_EQ(auditors_.check("tax").error().message,
            "unknown privacy class 'tax': this gateway has auditors for 'legal', 'medical'");
  EXPECT_EQ(auditors_.check("tax").error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_THAT(auditors_.check("a\nb").error().message, HasSubstr("expected 1 to 32"));
  EXPECT_THAT(PrivacyAuditors({}).check("tax").error().message, HasSubstr("auditors for none"));
}

TEST_F(Privacy, ARequestIsOfItsModelsClassOrOfItsOwn) {
  EXPECT_EQ(auditors_.class_for("a/m", "", ""), "");
  EXPECT_EQ(auditors_.class_for("a/m", "", "legal"), "legal");
  EXPECT_EQ(auditors_.class_for("a/m", "medical", ""), "medical");
  EXPECT_EQ(auditors_.class_for("a/m", "medical", "medical"), "medical");
  const auto other = auditors_.class_for("a/m", "medical", "legal");
  EXPECT_EQ(other.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(other.error().message,
            "'a/m' is served to the privacy class 'medical', the request names 'legal'");
  EXPECT_EQ(auditors_.class_for("a/m", "", "tax").error().code, core::ErrorCode::kInvalidArgument);
}

// It is not the fault of who asks.
TEST_F(Privacy, AModelOfAClassThatNobodyVouchesForHasNoProvider) {
  EXPECT_EQ(auditors_.why_not_served(""), "");
  EXPECT_EQ(auditors_.why_not_served("medical"), "");
  const std::string why =
      "it is of the privacy class 'tax', about which this gateway believes no auditor";
  EXPECT_EQ(auditors_.why_not_served("tax"), why);
  for (const char* asked : {"", "tax"}) {
    const auto refused = auditors_.class_for("a/m", "tax", asked);
    EXPECT_EQ(refused.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(refused.error().message, "no provider for 'a/m': " + why);
  }
}

}  // namespace
}  // namespace commensal::gateway
