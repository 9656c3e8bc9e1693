// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/gateway/hub.hpp>
#include <commensal/serve/gateway/model_file.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using store::testing::Fault;

core::Bytes digits() {
  return *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
}

class Hub : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) / (std::string("commensal_hub_") + test->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t files() const {
    std::error_code error;
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder_, error))
      ++count;
    return count;
  }

  const Account alice_{"alice", Role::kConsumer};
  const Account bob_{"bob", Role::kConsumer};
  const Account root_{"root", Role::kOperator};
  core::ManualClock clock_;
  core::Path folder_;
  store::MemoryStore store_;
};

TEST_F(Hub, KeepsWhatTheModelDeclares) {
  ModelHub hub(store_, folder_, clock_);
  clock_.advance_ms(1234);
  const core::Bytes bytes = digits();
  const auto pushed = hub.push(alice_, "alice/digits", bytes, {});
  ASSERT_TRUE(pushed) << pushed.error().message;
  ModelHub later(store_, folder_, clock_);
  const auto found = later.find(nullptr, "alice/digits");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->version, 1u);
  EXPECT_EQ(found->owner, "alice");
  EXPECT_EQ(found->created_ms, 1234);
  EXPECT_EQ(found->bytes, static_cast<std::int64_t>(bytes.size()));
  EXPECT_EQ(found->content, pushed->content);
  EXPECT_EQ(found->graph_root, pushed->graph_root);
  EXPECT_NE(found->graph_root, found->weight_root);
  ASSERT_EQ(found->inputs.size(), 1u);
  EXPECT_EQ(found->inputs[0].declared.text(), pushed->inputs[0].declared.text());
  EXPECT_EQ(found->outputs[0].name, pushed->outputs[0].name);
  EXPECT_EQ(*core::read_file(later.path_of(found->content)), bytes);
}

// The fault: of a file that had lost a bit the push reported success, and left it so.
TEST_F(Hub, PushingAgainMendsTheFile) {
  ModelHub hub(store_, folder_, clock_);
  const core::Bytes bytes = digits();
  const core::Digest content = hub.push(alice_, "alice/digits", bytes, {})->content;
  const core::Path path = hub.path_of(content);
  EXPECT_TRUE(check_model_file(path, content));
  core::Bytes flipped = bytes;
  flipped[flipped.size() / 2] ^= 1;
  for (const core::ByteView damaged : {core::ByteView(flipped), core::ByteView(bytes).first(100)}) {
    ASSERT_TRUE(core::write_file_atomically(path, damaged));
    EXPECT_EQ(check_model_file(path, content).error().message,
              "'" + path.string() + "' is damaged");
    EXPECT_EQ(hub.push(alice_, "alice/digits", bytes, {})->version, 1u);
    EXPECT_EQ(*core::read_file(path), bytes);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(check_model_file(path, content).error().message,
            "'" + path.string() + "' is missing or cannot be read");
  ASSERT_TRUE(hub.push(alice_, "alice/digits", bytes, {}));
  EXPECT_TRUE(check_model_file(path, content));
}

// The fault: one timer for all files, so that who lied of one kept a damaged one from being named.
TEST(DoubtsOf, AreOfEachFileAndTakeLittleTime) {
  const core::Digest liars{1}, damaged{2};
  for (const std::int64_t took_ms : {100, 2'000}) {
    Doubts doubts;
    EXPECT_TRUE(doubts.begin(liars, 0));
    EXPECT_FALSE(doubts.begin(damaged, took_ms / 2)) << "one at a time";
    doubts.end(took_ms, took_ms);
    EXPECT_FALSE(doubts.begin(damaged, 10 * took_ms - 1)) << "a tenth of the time";
    EXPECT_FALSE(doubts.begin(liars, 10 * took_ms)) << "not again, and who is next has a turn";
    EXPECT_TRUE(doubts.begin(damaged, 10 * took_ms));
    doubts.end(1, 10 * took_ms + 1);
    EXPECT_FALSE(doubts.begin(liars, 10 * took_ms + 9'999));
    EXPECT_TRUE(doubts.begin(liars, 10 * took_ms + 10'000));
  }
}

TEST_F(Hub, AModelsFileIsItsOwnersAlone) {
  ModelHub hub(store_, folder_, clock_);
  const auto pushed = hub.push(alice_, "alice/digits", digits(), {});
  ASSERT_TRUE(pushed);
  EXPECT_EQ(std::filesystem::status(hub.path_of(pushed->content)).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(Hub, CountsVersionsAndKeepsThemAll) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(hub.push(alice_, "alice/digits", digits(), {}));
  EXPECT_EQ(hub.push(alice_, "alice/digits", digits(), {})->version, 1u);
  const PushOptions hidden{.is_private = true, .allowed_providers = {crypto::Address{}}};
  EXPECT_EQ(hub.push(alice_, "alice/digits", digits(), hidden)->version, 2u);
  EXPECT_EQ(hub.push(alice_, "alice/digits2", digits(), {})->version, 1u);
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(hub.find(&alice_, "alice/digits")->is_private);
  EXPECT_FALSE(hub.find(&alice_, "alice/digits", 1)->is_private);
  EXPECT_EQ(hub.find(&alice_, "alice/digits")->allowed_providers.size(), 1u);
  EXPECT_EQ(hub.find(&alice_, "alice/digits", 3).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(hub.list(&alice_)->size(), 2u);
  EXPECT_EQ((*hub.list(&alice_))[0]->version, 2u);
}

// All versions are read and written at once where the providers change or the model goes.
TEST_F(Hub, BoundsTheVersionsOfAModel) {
  ModelHub hub(store_, folder_, clock_);
  const auto file = hub.stage(digits());
  ASSERT_TRUE(file);
  PushOptions options{.is_private = true, .allowed_providers = {}};
  for (std::size_t i = 0; i < limits::kModelVersionsMax; ++i) {
    options.allowed_providers = {crypto::Address{{static_cast<std::uint8_t>(i % 2)}}};
    ASSERT_TRUE(hub.push(alice_, "alice/digits", *file, options)) << i;
  }
  options.allowed_providers = {};
  EXPECT_EQ(hub.push(alice_, "alice/digits", *file, options).error().message,
            "'alice/digits' has 1000 versions, the most that are kept: delete the model first");
  ASSERT_TRUE(hub.remove(alice_, "alice/digits"));
  EXPECT_TRUE(hub.push(alice_, "alice/digits", *file, options));
}

TEST_F(Hub, BoundsWhatOneOwnerHasDeletedModelsIncluded) {
  const core::Bytes bytes = digits();
  const auto size = static_cast<std::int64_t>(bytes.size());
  const ModelBounds bounds{.models_max = 2, .bytes_max = 3 * size};
  ModelHub hub(store_, folder_, clock_, bounds);
  ASSERT_TRUE(hub.push(alice_, "alice/a", bytes, {}));
  ASSERT_TRUE(hub.push(alice_, "alice/b", bytes, {}));
  EXPECT_EQ(hub.push(alice_, "alice/c", bytes, {}).error().code, ErrorCode::kResourceExhausted);
  ASSERT_TRUE(hub.remove(alice_, "alice/a"));
  ModelHub later(store_, folder_, clock_, bounds);
  EXPECT_EQ(later.push(alice_, "alice/c", bytes, {}).error().code, ErrorCode::kResourceExhausted);
  ASSERT_TRUE(later.reserve(alice_, "alice/a", size));
  EXPECT_EQ(later.reserve(alice_, "alice/a", 1).error().code, ErrorCode::kResourceExhausted);
  later.release(alice_, size);
  ASSERT_TRUE(later.push(alice_, "alice/a", bytes, {}));
  EXPECT_EQ(later.reserve(alice_, "alice/a", 1).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(later.push(bob_, "bob/a", bytes, {}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(later.push(root_, fmt::format("root/{}", i), bytes, {}));
  }
}

TEST_F(Hub, APrivateModelDoesNotExistForOthers) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(
      hub.push(alice_, "alice/secret", digits(), {.is_private = true, .allowed_providers = {}}));
  EXPECT_TRUE(hub.find(&alice_, "alice/secret"));
  EXPECT_TRUE(hub.find(&root_, "alice/secret"));
  for (const Account* asker : {static_cast<const Account*>(nullptr), &bob_}) {
    const core::Error hidden = hub.find(asker, "alice/secret").error();
    const core::Error missing = hub.find(asker, "alice/nobody").error();
    EXPECT_EQ(hidden.code, ErrorCode::kNotFound);
    EXPECT_EQ(hidden.message, "unknown model 'alice/secret'");
    EXPECT_EQ(missing.message, "unknown model 'alice/nobody'");
    EXPECT_TRUE(hub.list(asker)->empty());
  }
  EXPECT_EQ(hub.list(&root_)->size(), 1u);
}

TEST_F(Hub, APrivateModelIsForThoseItWasGrantedTo) {
  const Account carol{"carol", Role::kConsumer};
  ModelHub hub(store_, folder_, clock_);
  const core::Bytes bytes = digits();
  for (const char* name : {"alice/secret", "alice/other"})
    ASSERT_TRUE(hub.push(alice_, name, bytes, {.is_private = true, .allowed_providers = {}}));
  ASSERT_TRUE(hub.push(alice_, "alice/open", bytes, {}));
  ASSERT_TRUE(hub.repository().set_alias("short", "alice/secret"));
  ASSERT_TRUE(hub.grant(alice_, "alice/secret", "bob", false));
  EXPECT_EQ(*hub.grant(root_, "short", "carol", true), "alice/secret");
  ModelHub later(store_, folder_, clock_);
  for (ModelHub* const one : {&hub, &later}) {
    for (const std::uint32_t version : {0u, 1u}) {
      EXPECT_TRUE(one->find(&bob_, "alice/secret", version));
      EXPECT_TRUE(one->find(&bob_, "short", version));
    }
    EXPECT_FALSE(one->find(nullptr, "alice/secret"));
    EXPECT_FALSE(one->find(&bob_, "alice/other"));
    EXPECT_EQ(one->list(&bob_)->size(), 2u);
    EXPECT_EQ(one->find_file(&bob_, "alice/secret").error().code, ErrorCode::kPermissionDenied);
    for (const Account* const asker : {&alice_, &root_, &carol})
      EXPECT_TRUE(one->find_file(asker, "alice/secret")) << asker->name;
    EXPECT_TRUE(one->find_file(nullptr, "alice/open"));
    EXPECT_EQ(one->find_file(nullptr, "alice/secret").error().code, ErrorCode::kNotFound);
    EXPECT_EQ(one->grants(alice_, "alice/secret")->size(), 2u);
  }
  // Who may use it may not change it, nor share it.
  EXPECT_EQ(hub.grant(bob_, "alice/secret", "eve", false).error().code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(hub.remove(bob_, "alice/secret").error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(hub.grants(bob_, "alice/other").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(hub.grant(alice_, "alice/open", "bob", false).error().code,
            ErrorCode::kInvalidArgument);
  ASSERT_TRUE(hub.revoke(alice_, "alice/secret", "bob"));
  EXPECT_FALSE(hub.find(&bob_, "alice/secret"));
  EXPECT_EQ(hub.revoke(alice_, "alice/secret", "bob").error().code, ErrorCode::kNotFound);
  // What comes later under a name that was given up is nobody else's.
  ASSERT_TRUE(hub.remove(alice_, "alice/secret"));
  ASSERT_TRUE(
      hub.push(alice_, "alice/secret", bytes, {.is_private = true, .allowed_providers = {}}));
  EXPECT_FALSE(hub.find(&carol, "alice/secret"));
  EXPECT_FALSE(ModelHub(store_, folder_, clock_).find(&carol, "alice/secret"));
}

TEST_F(Hub, GrantsSoManyAndNoMore) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(
      hub.push(alice_, "alice/secret", digits(), {.is_private = true, .allowed_providers = {}}));
  for (std::size_t i = 0; i < limits::kModelGrantsMax; ++i)
    ASSERT_TRUE(hub.grant(alice_, "alice/secret", fmt::format("a{}", i), false)) << i;
  EXPECT_EQ(hub.grant(alice_, "alice/secret", "more", false).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_TRUE(hub.grant(alice_, "alice/secret", "a0", true));
}

// The fault: by its alias a model was found, but none of its versions.
TEST_F(Hub, AModelIsChangedAndRemovedByItsAliasToo) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(
      hub.push(alice_, "alice/secret", digits(), {.is_private = true, .allowed_providers = {}}));
  ASSERT_TRUE(hub.repository().set_alias("short", "alice/secret"));
  ASSERT_TRUE(hub.allow(alice_, "short", {crypto::Address{}}));
  EXPECT_EQ(hub.find(&alice_, "alice/secret")->allowed_providers.size(), 1u);
  const auto removed = hub.remove(alice_, "short");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(*removed, 1u);
  EXPECT_FALSE(hub.find(&alice_, "alice/secret"));
}

TEST_F(Hub, RefusesWhatMayNotBePushed) {
  ModelHub hub(store_, folder_, clock_);
  EXPECT_EQ(hub.push(bob_, "alice/digits", digits(), {}).error().code,
            ErrorCode::kPermissionDenied);
  for (const char* name : {"digits", "alice/", "alice/.x", "alice/a/b", "alice/ü", "", "/"})
    EXPECT_EQ(hub.push(alice_, name, digits(), {}).error().code, ErrorCode::kInvalidArgument)
        << name;
  const PushOptions open_list{.is_private = false, .allowed_providers = {crypto::Address{}}};
  EXPECT_EQ(hub.push(alice_, "alice/digits", digits(), open_list).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Hub, RemovedModelsAreGoneButTheirNumbersAndFilesStay) {
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(hub.push(alice_, "alice/digits", digits(), {}));
  ASSERT_TRUE(hub.push(alice_, "alice/digits2", digits(), {}));
  const PushOptions hidden{.is_private = true, .allowed_providers = {}};
  const auto last = hub.push(alice_, "alice/digits", digits(), hidden);
  EXPECT_EQ(hub.remove(bob_, "alice/digits2").error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(hub.remove(bob_, "alice/digits").error().code, ErrorCode::kNotFound);  // hidden
  EXPECT_EQ(*hub.remove(alice_, "alice/digits"), 2u);
  ModelHub later(store_, folder_, clock_);
  EXPECT_EQ(later.find(&alice_, "alice/digits").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(later.find(&alice_, "alice/digits", 1).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(core::read_file(later.path_of(last->content)));
  EXPECT_EQ(*later.remove(root_, "alice/digits2"), 1u);
  EXPECT_TRUE(later.list(&root_)->empty());
  EXPECT_EQ(later.push(alice_, "alice/digits", digits(), {})->version, 3u);
  EXPECT_EQ(*later.first_version("alice/digits"), 3u);
}

TEST_F(Hub, AListOfProvidersIsChangedByOwnersAndOperators) {
  const std::vector<crypto::Address> none, one = {crypto::Address{}};
  ModelHub hub(store_, folder_, clock_);
  ASSERT_TRUE(hub.push(alice_, "alice/open", digits(), {}));
  ASSERT_TRUE(hub.push(alice_, "alice/secret", digits(), {true, none}));
  EXPECT_EQ(hub.allow(alice_, "alice/secret", one)->allowed_providers, one);
  EXPECT_EQ(ModelHub(store_, folder_, clock_).find(&alice_, "alice/secret")->allowed_providers,
            one);
  EXPECT_EQ(hub.allow(root_, "alice/secret", none)->allowed_providers, none);
  EXPECT_EQ(hub.allow(bob_, "alice/secret", one).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(hub.allow(bob_, "alice/open", one).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(hub.allow(alice_, "alice/open", one).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(hub.allow(alice_, "alice/open", none).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(hub.find(&alice_, "alice/secret")->version, 1u);
}

TEST_F(Hub, RegistersNothingOfABrokenModel) {
  ModelHub hub(store_, folder_, clock_);
  const core::Bytes whole = digits();
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
    const auto pushed = hub.push(alice_, "alice/digits", core::ByteView(whole).first(size), {});
    ASSERT_FALSE(pushed) << size;
    EXPECT_EQ(pushed.error().message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(hub.list(&root_)->empty());
  EXPECT_EQ(files(), 0u);
}

TEST_F(Hub, ListsInPagesWhatTheStoreHas) {
  ModelHub hub(store_, folder_, clock_);
  const ModelFile file = *hub.stage(digits());
  const std::size_t count = limits::kModelsListedMax + 3;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(hub.push(root_, fmt::format("root/{:05}", i), file, {}));
  }
  ASSERT_TRUE(
      hub.push(root_, "root/00001", digits(), {.is_private = true, .allowed_providers = {}}));
  ASSERT_TRUE(hub.remove(root_, "root/00002"));
  ModelHub later(store_, folder_, clock_);
  for (ModelHub* const one : {&hub, &later}) {
    const auto first = *one->list(nullptr);
    ASSERT_EQ(first.size(), limits::kModelsListedMax);
    EXPECT_EQ(first[1]->name, "root/00003");
    const auto rest = *one->list(nullptr, first.back()->name);
    EXPECT_EQ(rest.size(), 1u);
    EXPECT_EQ((*one->list(&root_, "root/00000"))[0]->version, 2u);
  }
}

// By another release, that is: jobs name the root.
TEST_F(Hub, AFileThatHasBecomeAnotherGraphIsAnotherVersion) {
  ModelHub hub(store_, folder_, clock_);
  ModelFile file = *hub.stage(digits());
  ASSERT_TRUE(hub.push(alice_, "alice/digits", file, {}));
  EXPECT_EQ(hub.push(alice_, "alice/digits", file, {})->version, 1u);
  file.graph_root[0] ^= 1;
  EXPECT_EQ(hub.push(alice_, "alice/digits", file, {})->version, 2u);
}

TEST_F(Hub, AKillLeavesAModelWholeOrAbsent) {
  for (const Fault fault :
       {Fault::kFailBefore, Fault::kFailAfter, Fault::kCrashBefore, Fault::kCrashAfter}) {
    store::MemoryStore disk;
    store::testing::FaultStore breaking(disk, 0, fault);
    EXPECT_FALSE(ModelHub(breaking, folder_, clock_).push(alice_, "alice/digits", digits(), {}));
    ModelHub hub(disk, folder_, clock_);
    const auto models = hub.list(&root_);
    for (const ModelPtr& version : *models)
      EXPECT_EQ(core::read_file(hub.path_of(version->content))->size(),
                static_cast<std::size_t>(version->bytes));
    // Whoever got no answer pushes again, and there is one version of it.
    EXPECT_EQ(hub.push(alice_, "alice/digits", digits(), {})->version, 1u);
  }
}

}  // namespace
}  // namespace commensal::gateway
