/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of commensal/compute/session.h, and what it refuses, from C89. */
#include <commensal/compute/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static commensal_error error;

static void expect(int good, const char *what, int line) {
  if (good) return;
  fprintf(stderr, "abi.c:%d: %s (last error: %s)\n", line, what, error.message);
  ++failures;
}
#define EXPECT(condition) expect(condition, #condition, __LINE__)

static void *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  long size;
  void *made;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(1);
  size = ftell(file);
  rewind(file);
  made = malloc((size_t)size);
  if (made == NULL || fread(made, 1, (size_t)size, file) != (size_t)size) exit(1);
  fclose(file);
  *bytes = (size_t)size;
  return made;
}

static void check_model(const commensal_model *model) {
  commensal_port port;
  EXPECT(commensal_model_input_count(model) == 1);
  EXPECT(commensal_model_output_count(model) == 1);
  EXPECT(commensal_model_input(model, 0, &port, &error) == COMMENSAL_OK);
  EXPECT(error.status == COMMENSAL_OK && error.message[0] == '\0');
  EXPECT(strcmp(port.name, "image") == 0);
  EXPECT(strcmp(port.text, "float32[-1,1,8,8]") == 0);
  EXPECT(port.dtype == COMMENSAL_FLOAT32 && port.rank == 4);
  EXPECT(port.dims[0] == -1 && port.dims[3] == 8);
  EXPECT(commensal_model_output(model, 0, &port, NULL) == COMMENSAL_OK);
  EXPECT(strcmp(port.name, "logits") == 0);
  EXPECT(commensal_model_input(model, 1, &port, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(strcmp(error.message, "index 1 of 1, counted from 0") == 0);
  EXPECT(commensal_model_output(model, 0, NULL, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(strcmp(commensal_model_batching_objection(model), "") == 0);
}

/* The logits of a picture, by a session with these options. */
static void classify(const commensal_model *model, const commensal_options *options,
                     float logits[10]) {
  static const int64_t kDims[] = {1, 1, 8, 8};
  float pixels[64];
  commensal_tensor picture, answer;
  commensal_session *session = NULL;
  commensal_outputs *outputs = NULL;
  int i;
  for (i = 0; i < 64; ++i) pixels[i] = (float)(i % 17);
  picture.dtype = COMMENSAL_FLOAT32;
  picture.rank = 4;
  picture.dims = kDims;
  picture.data = pixels;
  picture.bytes = sizeof(pixels);
  EXPECT(commensal_session_create(model, options, &session, &error) == COMMENSAL_OK);
  EXPECT(commensal_session_run(session, &picture, 1, &outputs, &error) == COMMENSAL_OK);
  EXPECT(commensal_outputs_count(outputs) == 1);
  EXPECT(commensal_outputs_get(outputs, 1, &answer, &error) == COMMENSAL_INVALID_ARGUMENT);
  commensal_session_free(session); /* outputs live on */
  EXPECT(commensal_outputs_get(outputs, 0, &answer, &error) == COMMENSAL_OK);
  EXPECT(answer.dtype == COMMENSAL_FLOAT32 && answer.rank == 2);
  EXPECT(answer.dims[0] == 1 && answer.dims[1] == 10 && answer.bytes == 10 * sizeof(float));
  memcpy(logits, answer.data, answer.bytes);
  commensal_outputs_free(outputs);
}

static void check_refusals(const commensal_model *model) {
  static const int64_t kDims[] = {1, 1, 8, 8};
  float pixels[64] = {0};
  commensal_tensor picture;
  commensal_session *session = NULL;
  commensal_outputs *outputs = NULL;
  commensal_model *none = NULL;
  commensal_options options = COMMENSAL_OPTIONS_INIT;
  EXPECT(commensal_model_load("/nowhere.onnx", &none, &error) == COMMENSAL_NOT_FOUND);
  EXPECT(strstr(error.message, "/nowhere.onnx") != NULL && none == NULL);
  EXPECT(commensal_model_load(NULL, &none, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(commensal_model_parse("nonsense", 8, &none, NULL) == COMMENSAL_INVALID_ARGUMENT);
  options.size = 3;
  EXPECT(commensal_session_create(model, &options, &session, &error) ==
         COMMENSAL_INVALID_ARGUMENT);
  options.size = sizeof(options);
  options.threads = -1;
  EXPECT(commensal_session_create(model, &options, &session, &error) ==
         COMMENSAL_INVALID_ARGUMENT);
  EXPECT(commensal_session_create(NULL, NULL, &session, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(commensal_session_create(model, NULL, &session, &error) == COMMENSAL_OK);
  picture.dtype = COMMENSAL_FLOAT32;
  picture.rank = 4;
  picture.dims = kDims;
  picture.data = pixels;
  picture.bytes = 255;
  EXPECT(commensal_session_run(session, &picture, 1, &outputs, &error) ==
         COMMENSAL_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "expected 256") != NULL && outputs == NULL);
  picture.bytes = sizeof(pixels);
  picture.rank = 1000000;
  EXPECT(commensal_session_run(session, &picture, 1, &outputs, &error) ==
         COMMENSAL_INVALID_ARGUMENT);
  EXPECT(commensal_session_run(session, NULL, 1, &outputs, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(commensal_session_run(session, NULL, 0, &outputs, &error) == COMMENSAL_INVALID_ARGUMENT);
  EXPECT(strcmp(error.message, "0 inputs, expected 1: image float32[-1,1,8,8]") == 0);
  commensal_session_free(session);
}

int main(int argc, char **argv) {
  commensal_options options = COMMENSAL_OPTIONS_INIT;
  commensal_model *model = NULL, *parsed = NULL;
  float expected[10], got[10];
  size_t bytes = 0;
  void *text;
  if (argc != 2) return 2;
  EXPECT(commensal_abi_version() == COMMENSAL_ABI_VERSION);
  EXPECT(strlen(commensal_version()) > 0 && commensal_numerics_version() >= 1);
  EXPECT(strcmp(commensal_dtype_name(COMMENSAL_INT64), "int64") == 0);
  EXPECT(commensal_dtype_size(COMMENSAL_INT64) == 8 && commensal_dtype_size(8) == 0);

  EXPECT(commensal_model_load(argv[1], &model, &error) == COMMENSAL_OK);
  if (model == NULL) return 1;
  check_model(model);
  check_refusals(model);
  options.reference = 1;
  classify(model, &options, expected);
  classify(model, NULL, got);
  EXPECT(memcmp(expected, got, sizeof(got)) == 0);

  text = read_file(argv[1], &bytes);
  EXPECT(commensal_model_parse(text, bytes, &parsed, &error) == COMMENSAL_OK);
  options.reference = 0;
  options.threads = 3;
  classify(parsed, &options, got);
  EXPECT(memcmp(expected, got, sizeof(got)) == 0);
  commensal_model_free(parsed);
  free(text);

  commensal_model_free(model);
  commensal_model_free(NULL);
  commensal_session_free(NULL);
  commensal_outputs_free(NULL);
  return failures == 0 ? 0 : 1;
}
