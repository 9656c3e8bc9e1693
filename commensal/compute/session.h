/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMENSAL_COMPUTE_SESSION_H
#define COMMENSAL_COMPUTE_SESSION_H

/* Commensal as a library, for C and for bindings: load an ONNX model, look at it, run it. The same
 * model and inputs give the same output bits on every instruction set and number of threads.
 * C++ has commensal/compute/session.hpp. C89, but for <stdint.h>.
 *
 * Every function that can fail returns a status, leaves its results alone where it is not
 * COMMENSAL_OK, and writes one line that says what was expected into *error, unless error is NULL.
 * Handles are made by the library and given back by the matching free, which takes NULL. Strings
 * end with a zero and belong to the handle they were asked of. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with every change that a program must be compiled anew for; commensal_abi_version() is that
 * of the library a program runs with. */
#define COMMENSAL_ABI_VERSION 1
int32_t commensal_abi_version(void);
const char *commensal_version(void);       /* "0.1.0" */
int32_t commensal_numerics_version(void);  /* as long as it stays the same, so do all bits */

typedef enum commensal_status {
  COMMENSAL_OK = 0,
  COMMENSAL_INVALID_ARGUMENT = 1,   /* the model, an input or an option is not what was expected */
  COMMENSAL_NOT_FOUND = 2,          /* no such file */
  COMMENSAL_PERMISSION_DENIED = 3,  /* a file that may not be read */
  COMMENSAL_RESOURCE_EXHAUSTED = 4, /* memory, or a bound on what is read */
  COMMENSAL_UNSUPPORTED = 5,        /* an operator or type that this version does not know */
  COMMENSAL_INTERNAL = 6            /* a bug of the library */
} commensal_status;

/* The caller's; a longer message is cut. */
#define COMMENSAL_MESSAGE_BYTES 1024
typedef struct commensal_error {
  int32_t status;
  char message[COMMENSAL_MESSAGE_BYTES];
} commensal_error;

/* Element types; the numbers are those of ONNX. */
typedef enum commensal_dtype {
  COMMENSAL_UNDEFINED = 0,
  COMMENSAL_FLOAT32 = 1,
  COMMENSAL_UINT8 = 2,
  COMMENSAL_INT8 = 3,
  COMMENSAL_UINT16 = 4,
  COMMENSAL_INT16 = 5,
  COMMENSAL_INT32 = 6,
  COMMENSAL_INT64 = 7,
  COMMENSAL_BOOL = 9, /* one byte, 0 or 1 */
  COMMENSAL_FLOAT16 = 10,
  COMMENSAL_FLOAT64 = 11,
  COMMENSAL_UINT32 = 12,
  COMMENSAL_UINT64 = 13,
  COMMENSAL_BFLOAT16 = 16,
  COMMENSAL_FLOAT8E4M3FN = 17, /* from here on one byte an element */
  COMMENSAL_FLOAT8E4M3FNUZ = 18,
  COMMENSAL_FLOAT8E5M2 = 19,
  COMMENSAL_FLOAT8E5M2FNUZ = 20,
  COMMENSAL_UINT4 = 21, /* of the formats of 4 bits the high half of the byte is 0 */
  COMMENSAL_INT4 = 22,
  COMMENSAL_FLOAT4E2M1 = 23,
  COMMENSAL_FLOAT8E8M0 = 24
} commensal_dtype;
const char *commensal_dtype_name(int32_t dtype); /* "float32" */
size_t commensal_dtype_size(int32_t dtype);      /* bytes per element, 0: no such type */

/* Elements somewhere else: as an input in the caller's memory, which commensal_session_run reads
 * in place; as an output in that of a commensal_outputs. */
typedef struct commensal_tensor {
  int32_t dtype;       /* a commensal_dtype */
  int32_t rank;        /* 0: a scalar */
  const int64_t *dims; /* rank of them, outermost first */
  const void *data;    /* row-major, aligned for the type */
  size_t bytes;        /* of data */
} commensal_tensor;

/* What a model declares of an input or output; it belongs to the model. */
typedef struct commensal_port {
  const char *name;
  const char *text;    /* "float32[-1,1,8,8]" */
  int32_t dtype;       /* COMMENSAL_UNDEFINED: the model does not say */
  int32_t rank;        /* -1: not even the rank is declared */
  const int64_t *dims; /* -1: free */
} commensal_port;

/* A model that was read and checked; any thread may use it. */
typedef struct commensal_model commensal_model;

commensal_status commensal_model_load(const char *path, commensal_model **model,
                                      commensal_error *error);
/* From memory, which must stay as it is until the model and all sessions of it are freed. */
commensal_status commensal_model_parse(const void *onnx, size_t bytes, commensal_model **model,
                                       commensal_error *error);
void commensal_model_free(commensal_model *model);

size_t commensal_model_input_count(const commensal_model *model);
size_t commensal_model_output_count(const commensal_model *model);
commensal_status commensal_model_input(const commensal_model *model, size_t index,
                                       commensal_port *port, commensal_error *error);
commensal_status commensal_model_output(const commensal_model *model, size_t index,
                                        commensal_port *port, commensal_error *error);
/* "" where requests may be joined along axis 0 and their outputs cut apart again, without a changed
 * bit; else one line that names the node which mixes them. */
const char *commensal_model_batching_objection(const commensal_model *model);

/* None of these changes a bit of any output. Start from COMMENSAL_OPTIONS_INIT: later versions may
 * add members, whose 0 is their default. */
typedef struct commensal_options {
  size_t size;               /* sizeof(commensal_options) */
  int32_t threads;           /* 0: one */
  int32_t reference;         /* not 0: the plain loops that define the bits; slow */
  int64_t memory_bytes_max;  /* 0: 4 GiB */
} commensal_options;
#define COMMENSAL_OPTIONS_INIT { sizeof(commensal_options), 0, 0, 0 }

/* A model made ready to run. One run at a time; several sessions of one model run side by side.
 * It keeps the model, whose handle may be freed before it. */
typedef struct commensal_session commensal_session;

/* options may be NULL: the defaults. */
commensal_status commensal_session_create(const commensal_model *model,
                                          const commensal_options *options,
                                          commensal_session **session, commensal_error *error);
void commensal_session_free(commensal_session *session);

/* The outputs of one run; they live until they are freed, whatever becomes of the session. */
typedef struct commensal_outputs commensal_outputs;

/* inputs in the order of commensal_model_input; outputs in that of commensal_model_output. */
commensal_status commensal_session_run(commensal_session *session, const commensal_tensor *inputs,
                                       size_t input_count, commensal_outputs **outputs,
                                       commensal_error *error);
size_t commensal_outputs_count(const commensal_outputs *outputs);
commensal_status commensal_outputs_get(const commensal_outputs *outputs, size_t index,
                                       commensal_tensor *tensor, commensal_error *error);
void commensal_outputs_free(commensal_outputs *outputs);

#ifdef __cplusplus
}
#endif

#endif
