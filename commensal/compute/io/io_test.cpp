// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <zip.h>

#include <algorithm>
#include <commensal/compute/io/image.hpp>
#include <commensal/compute/io/npy.hpp>
#include <commensal/compute/io/resize.hpp>
#include <cstdlib>
#include <limits>

namespace commensal::io {
namespace {

using core::ErrorCode;
using tensor::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

core::Bytes npy(const std::string& dictionary, core::ByteView data, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  const int length_bytes = version == 1 ? 2 : 4;
  for (int i = 0; i < length_bytes; ++i) {
    text += static_cast<char>(dictionary.size() >> (8 * i) & 0xff);
  }
  text += dictionary;
  core::Bytes out(text.begin(), text.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

TEST(Npy, WhatIsWrittenIsRead) {
  for (const tensor::Shape& shape : {tensor::Shape{}, {6}, {2, 3}, {0, 4}, {1, 2, 3, 1}}) {
    std::vector<float> values(static_cast<std::size_t>(shape.elements()), 1.5f);
    const Tensor tensor = Tensor::of<float>(shape, values);
    const auto bytes = write_npy(tensor);
    ASSERT_TRUE(bytes);
    EXPECT_EQ((bytes->size() - tensor.bytes().size()) % 64, 0u);
    const auto read = read_npy(*bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->type(), tensor.type());
    EXPECT_TRUE(std::equal(read->data<float>().begin(), read->data<float>().end(), values.begin(),
                           values.end()));
  }
  const Tensor brain = Tensor::of<tensor::Bfloat16>({1}, std::vector<tensor::Bfloat16>(1));
  EXPECT_EQ(write_npy(brain).error().code, ErrorCode::kUnsupported);
}

TEST(Npy, ReadsVersionsAndOrders) {
  const std::uint8_t data[] = {1, 2, 3, 4, 5, 6};
  for (const int version : {1, 2, 3}) {
    const auto rows = read_npy(
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }\n", data, version));
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_THAT(rows->data<std::uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  }
  const auto columns =
      read_npy(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(columns) << columns.error().message;
  EXPECT_THAT(columns->data<std::uint8_t>(), ElementsAre(1, 3, 5, 2, 4, 6));
}

std::vector<std::string> strings_of(const Tensor& tensor) {
  return {tensor.strings().begin(), tensor.strings().end()};
}

TEST(Npy, StringsAreBytesOrCharacters) {
  const std::vector<std::string> texts = {"one", "", std::string("a\0b", 3), "\xff"};
  const auto written = write_npy(Tensor::of_strings({2, 2}, texts));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(std::string(core::as_text(*written)), HasSubstr("'|S3'"));
  const auto read = read_npy(*written);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(strings_of(*read), texts);
  EXPECT_EQ(read->shape(), (tensor::Shape{2, 2}));
  const std::uint32_t characters[] = {'a', 0xe9, 0x20ac, 0x1f600, 0, 0};
  const core::ByteView data{reinterpret_cast<const std::uint8_t*>(characters), 24};
  for (const char* order : {"False", "True"}) {
    const auto made = read_npy(
        npy(fmt::format("{{'descr': '<U3', 'fortran_order': {}, 'shape': (2,), }}", order), data));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_THAT(strings_of(*made), ElementsAre("a\xc3\xa9\xe2\x82\xac", "\xf0\x9f\x98\x80"));
  }
}

TEST(Npy, RefusesStringsThatItCannotHold) {
  const auto refused = [](const std::vector<std::string>& texts) {
    return write_npy(Tensor::of_strings({std::ssize(texts)}, texts)).error().message;
  };
  EXPECT_THAT(refused({std::string("a\0", 2)}), HasSubstr("end with a zero byte"));
  std::vector<std::string> uneven(1 << 16);
  uneven[0] = std::string(1 << 20, 'x');
  EXPECT_THAT(refused(uneven), HasSubstr("more than"));
  const std::uint32_t surrogate = 0xd800;
  EXPECT_FALSE(read_npy(npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }",
                            {reinterpret_cast<const std::uint8_t*>(&surrogate), 4})));
  EXPECT_FALSE(
      read_npy(npy("{'descr': '|S0', 'fortran_order': False, 'shape': (99999999999,), }", {})));
  const core::Bytes many((1 << 24) + 1);
  const auto read =
      read_npy(npy("{'descr': '|S1', 'fortran_order': False, 'shape': (16777217,), }", many));
  ASSERT_FALSE(read) << "a gigabyte of strings from a file of 16 MB";
  EXPECT_THAT(read.error().message, HasSubstr("expected at most"));
}

// The fault: 128 bytes took a gigabyte, and many seconds.
TEST(Npy, StringsOfNoBytesAreFew) {
  for (const char* type : {"|S0", "<U0"}) {
    const auto of = [&](std::int64_t count) {
      return read_npy(npy(
          fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, count),
          {}));
    };
    const auto few = of(3);
    ASSERT_TRUE(few) << few.error().message;
    EXPECT_THAT(strings_of(*few), ElementsAre("", "", ""));
    const auto many = of(1 << 24);
    ASSERT_FALSE(many);
    EXPECT_THAT(many.error().message, HasSubstr("of no bytes"));
  }
}

TEST(Npy, BadFilesAreOneLine) {
  const std::uint8_t data[] = {1, 2, 3, 4, 5, 6};
  const struct {
    const char* dictionary;
    const char* says;
  } cases[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "'>f4'"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "'|O'"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }", "structured"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4), }", "needs 8 bytes"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, -3), }", "negative"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, x), }", "bad shape"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }", "bad shape"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }", "elements"},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (6,), }", "bool"},
      {"{'descr': '|u1', 'shape': (6,), }", "fortran_order"},
      {"", "descr"},
  };
  for (const auto& row : cases) {
    const auto read = read_npy(npy(row.dictionary, data));
    ASSERT_FALSE(read.has_value()) << row.dictionary;
    EXPECT_THAT(read.error().message, HasSubstr(row.says));
  }
  const auto whole = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", data);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_npy(core::ByteView(whole).first(size))) << size;
  }
}

class Files : public ::testing::Test {
 protected:
  Files() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) /
              fmt::format("commensal_io_{}_{}", info->name(), ::getpid());
    std::filesystem::create_directories(folder_);
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  core::Path folder_;
};

TEST_F(Files, NpzMembersAreReadByName) {
  const Tensor x = Tensor::of<float>({2}, std::vector<float>{1, 2});
  const core::Bytes bytes = *write_npy(x);
  const core::Path path = folder_ / "a.npz";
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  ASSERT_NE(archive, nullptr);
  zip_file_add(archive, "x.npy", zip_source_buffer(archive, bytes.data(), bytes.size(), 0), 0);
  ASSERT_EQ(zip_close(archive), 0);

  const auto read = read_npz_file(path, "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(read->data<float>(), ElementsAre(1, 2));
  const auto missing = read_npz_file(path, "y");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("it has: x.npy"));

  ASSERT_TRUE(core::write_file_atomically(path, core::as_bytes("no archive")));
  EXPECT_EQ(read_npz_file(path, "x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_npz_file(folder_ / "none.npz", "x").error().code, ErrorCode::kNotFound);
}

core::Bytes make_png(png_uint_32 width, png_uint_32 height, png_uint_32 format,
                     const core::Bytes& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  core::Bytes out(1 << 16);
  png_alloc_size_t size = out.size();
  EXPECT_NE(png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr), 0);
  out.resize(size);
  return out;
}

core::Bytes make_jpeg(int width, int height, int channels, const core::Bytes& pixels) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    const auto row_bytes = static_cast<std::size_t>(width * channels);
    JSAMPROW row = const_cast<JSAMPROW>(pixels.data() + info.next_scanline * row_bytes);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  core::Bytes out(data, data + size);
  std::free(data);
  return out;
}

TEST(Image, DecodesPng) {
  const core::Bytes pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7};
  const auto colour = decode_image(make_png(2, 2, PNG_FORMAT_RGB, pixels));
  ASSERT_TRUE(colour) << colour.error().message;
  EXPECT_EQ(colour->channels, 3);
  EXPECT_EQ(colour->pixels, pixels);
  const core::Bytes greys = {0, 100, 200};
  const auto grey = decode_image(make_png(3, 1, PNG_FORMAT_GRAY, greys));
  ASSERT_TRUE(grey);
  EXPECT_EQ(grey->channels, 1);
  EXPECT_EQ(grey->pixels, greys);
}

TEST(Image, DecodesJpeg) {
  const core::Bytes grey(8 * 16, 77);
  const auto image = decode_image(make_jpeg(8, 16, 1, grey));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->width, 8);
  EXPECT_EQ(image->height, 16);
  EXPECT_EQ(image->pixels, grey);
  const auto colour = decode_image(make_jpeg(4, 4, 3, core::Bytes(48, 128)));
  ASSERT_TRUE(colour);
  EXPECT_EQ(colour->channels, 3);
}

TEST(Image, DamagedFilesAreOneLine) {
  core::Bytes noise(64 * 64);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<std::uint8_t>(i * i % 251);
  for (const core::Bytes& whole :
       {make_png(64, 64, PNG_FORMAT_GRAY, noise), make_jpeg(64, 64, 1, noise)}) {
    ASSERT_TRUE(decode_image(whole));
    for (std::size_t size = 0; size + 16 < whole.size(); size += 1 + size / 16) {
      const auto image = decode_image(core::ByteView(whole).first(size));
      ASSERT_FALSE(image.has_value()) << size;
      EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(image.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_EQ(decode_image(core::as_bytes("GIF89a")).error().message,
            "neither JPEG nor PNG nor PGM nor PPM");
}

TEST(Image, AbsurdSizesAreRefusedBeforeTheyAreDecoded) {
  core::Bytes jpeg = make_jpeg(8, 8, 1, core::Bytes(64, 1));
  // The frame header: marker, length (2), precision (1), height (2), width (2).
  const std::uint8_t marker[] = {0xff, 0xc0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), std::begin(marker), std::end(marker));
  ASSERT_NE(frame, jpeg.end());
  std::fill(frame + 5, frame + 9, 0xfe);
  const auto image = decode_image(jpeg);
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, ErrorCode::kResourceExhausted);
  EXPECT_LT(image.error().message.size(), 200u);
}

TEST(Resize, KeepsConstantsAndInterpolatesBetweenCentres) {
  const Plane ramp{4, 1, {0, 10, 20, 30}};
  EXPECT_THAT(resize_bilinear(ramp, 4, 1).values, ElementsAre(0, 10, 20, 30));
  EXPECT_THAT(resize_bilinear(ramp, 2, 1).values, ElementsAre(5, 25));
  EXPECT_THAT(resize_bilinear(ramp, 8, 1).values,
              ElementsAre(0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30));
  EXPECT_THAT(resize_bilinear({2, 2, {7, 7, 7, 7}}, 3, 2).values, ::testing::Each(7.0f));
}

TEST(Image, ReadsPgmAndPpmWithTheNumbersOfTheFile) {
  const struct {
    std::string_view text;
    int channels;
    core::Bytes pixels;
  } good[] = {
      {"P2\n# by hand\n2 1\n16\n 0 16\n", 1, {0, 16}},
      {"P5 2 1 255\n\x01\xff", 1, {1, 255}},
      {"P3 1 1 9 1 2 3", 3, {1, 2, 3}},
      {"P6 1 1 255 abc", 3, {'a', 'b', 'c'}},
  };
  for (const auto& row : good) {
    const auto image = decode_image(core::as_bytes(row.text));
    ASSERT_TRUE(image) << row.text << ": " << image.error().message;
    EXPECT_EQ(image->channels, row.channels) << row.text;
    EXPECT_EQ(image->pixels, row.pixels) << row.text;
  }
  const std::pair<std::string_view, std::string_view> bad[] = {
      {"P2", "its width"},
      {"P2 2 1 0 1 1", "its white"},
      {"P5 2 1 65535 1234", "white"},
      {"P2 2 1 16 3", "missing"},
      {"P2 2 1 16 3 17", "brighter"},
      {"P5 2 1 255 a", "cut short"},
      {"P2 0 1 16", "an image of 0"},
      {"P2 99999999999999999999 1 1 1", "an image of"},
  };
  for (const auto& [text, says] : bad) {
    const auto image = decode_image(core::as_bytes(text));
    ASSERT_FALSE(image) << text;
    EXPECT_THAT(image.error().message, ::testing::HasSubstr(std::string(says))) << text;
  }
}

PictureRule rule_of(Resize resize, bool convert, float mean = 0, float scale = 1) {
  return {resize, convert, {mean, mean, mean}, {scale, scale, scale}};
}

TEST(ImageTensor, NormalisesIntoPlanes) {
  const Image image{2, 1, 3, {255, 0, 127, 127, 127, 127}};
  const auto rgb = image_tensor(image, {1, 3, 1, 2}, rule_of(Resize::kRefuse, false, 127, 128));
  ASSERT_TRUE(rgb) << rgb.error().message;
  EXPECT_THAT(rgb->data<float>(), ElementsAre(1, 0, -127.0f / 128, 0, 0, 0));
  const auto luma = image_tensor(image, {1, 1, 1, 2}, rule_of(Resize::kRefuse, true));
  ASSERT_TRUE(luma);
  EXPECT_FLOAT_EQ(luma->data<float>()[0], 0.299f * 255 + 0.114f * 127);
  const PictureRule plain = rule_of(Resize::kStretch, true);
  EXPECT_FALSE(image_tensor(image, {2, 3, 1, 2}, plain));
  EXPECT_FALSE(image_tensor(image, {1, 4, 1, 2}, plain));
  EXPECT_FALSE(image_tensor(image, {3, 1, 2}, plain));
  EXPECT_FALSE(image_tensor(image, {1, 3, 1, 2}, rule_of(Resize::kStretch, true, 0, 0)));
}

TEST(ImageTensor, HasAMeanAndAScaleForEveryChannel) {
  const Image image{1, 1, 3, {10, 20, 30}};
  const auto rgb =
      image_tensor(image, {1, 3, 1, 1}, {Resize::kRefuse, false, {1, 2, 3}, {9, 18, 27}});
  ASSERT_TRUE(rgb) << rgb.error().message;
  EXPECT_THAT(rgb->data<float>(), ElementsAre(1, 1, 1));
}

TEST(ImageTensor, NeverSquashesOrRecoloursUnasked) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Image wide{4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  const Image colour{2, 2, 3, core::Bytes(12, 9)};
  const struct {
    const Image& image;
    tensor::Shape shape;
    PictureRule rule;
    std::string says;  // empty: it is taken
  } cases[] = {
      {wide, {1, 1, 1, 2}, {}, ""},
      {wide, {1, 1, 2, 2}, {}, "the picture is 4 x 2, the model wants 2 x 2: stretch, crop or pad"},
      {wide, {1, 1, 2, 2}, rule_of(Resize::kStretch, false), ""},
      {wide, {1, 3, 1, 2}, {}, "the picture is grey, the model wants colour"},
      {wide, {1, 3, 1, 2}, rule_of(Resize::kRefuse, true), ""},
      {colour, {1, 1, 2, 2}, {}, "the picture is coloured, the model wants grey"},
      {wide, {1, 1, 1, 2}, rule_of(Resize::kRefuse, false, kNan), "a mean of nan"},
      {wide, {1, 1, 1, 2}, rule_of(Resize::kRefuse, false, 0, kNan), "divided by nan"},
  };
  for (const auto& row : cases) {
    const auto made = image_tensor(row.image, row.shape, row.rule);
    EXPECT_EQ(made.has_value(), row.says.empty()) << row.says;
    if (made.has_value()) continue;
    EXPECT_THAT(made.error().message, ::testing::HasSubstr(row.says));
  }
}

TEST(ImageTensor, CropsTheMiddleOrPadsWithBlack) {
  const Image wide{4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  const auto cropped = image_tensor(wide, {1, 1, 2, 2}, rule_of(Resize::kCrop, false));
  ASSERT_TRUE(cropped) << cropped.error().message;
  EXPECT_THAT(cropped->data<float>(), ElementsAre(2, 3, 6, 7));
  const auto padded = image_tensor(wide, {1, 1, 4, 4}, rule_of(Resize::kPad, false));
  ASSERT_TRUE(padded) << padded.error().message;
  EXPECT_THAT(padded->data<float>(), ElementsAre(0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0));
}

}  // namespace
}  // namespace commensal::io
