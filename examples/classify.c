/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a digit, in C89: classify models/digits/digits.onnx examples/three.pgm */
#include <commensal/compute/session.h>
#include <stdio.h>

static int read_picture(const char *path, float pixels[64]) {
  int width = 0, height = 0, white = 0, i, good;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  good = fscanf(file, "P2 %d %d %d", &width, &height, &white) == 3 && width == 8 && height == 8;
  for (i = 0; good && i < 64; ++i) good = fscanf(file, "%f", &pixels[i]) == 1;
  fclose(file);
  return good;
}

static int print_answer(const commensal_outputs *outputs, commensal_error *error) {
  commensal_tensor logits;
  const float *values;
  size_t i, best = 0, count;
  if (commensal_outputs_get(outputs, 0, &logits, error) != COMMENSAL_OK) return 0;
  values = (const float *)logits.data;
  count = logits.bytes / sizeof(float);
  for (i = 0; i < count; ++i) {
    printf("%.9g ", values[i]);
    if (values[i] > values[best]) best = i;
  }
  printf("\nThis is a %d.\n", (int)best);
  return 1;
}

int main(int argc, char **argv) {
  static const int64_t kDims[] = {1, 1, 8, 8};
  float pixels[64];
  commensal_error error;
  commensal_options options = COMMENSAL_OPTIONS_INIT;
  commensal_tensor picture;
  commensal_model *model = NULL;
  commensal_session *session = NULL;
  commensal_outputs *outputs = NULL;
  int good;

  if (argc != 3) return fprintf(stderr, "usage: classify MODEL.onnx PICTURE.pgm\n"), 2;
  if (!read_picture(argv[2], pixels)) {
    return fprintf(stderr, "%s: expected a plain PGM of 8 x 8 pixels\n", argv[2]), 1;
  }
  picture.dtype = COMMENSAL_FLOAT32;
  picture.rank = 4;
  picture.dims = kDims;
  picture.data = pixels;
  picture.bytes = sizeof(pixels);
  options.threads = 2;
  good = commensal_model_load(argv[1], &model, &error) == COMMENSAL_OK &&
         commensal_session_create(model, &options, &session, &error) == COMMENSAL_OK &&
         commensal_session_run(session, &picture, 1, &outputs, &error) == COMMENSAL_OK &&
         print_answer(outputs, &error);
  if (!good) fprintf(stderr, "%s\n", error.message);
  commensal_outputs_free(outputs);
  commensal_session_free(session);
  commensal_model_free(model);
  return good ? 0 : 1;
}
