// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers to the table: a judge for each operator, from the file named above it.
namespace commensal::kernels::ref {

// activation.cpp
extern const Judge kCelu;
extern const Judge kClip;
extern const Judge kElu;
extern const Judge kHardSigmoid;
extern const Judge kHardSwish;
extern const Judge kLeakyRelu;
extern const Judge kPrelu;
extern const Judge kRelu;
extern const Judge kSelu;
extern const Judge kShrink;
extern const Judge kThresholdedRelu;

// affine_grid.cpp
extern const Judge kAffineGrid;
extern const Judge kMaxRoiPool;

// attention.cpp
extern const Judge kAttention;

// batch_norm.cpp
extern const Judge kBatchNormalization;

// binary.cpp
extern const Judge kAdd;
extern const Judge kDiv;
extern const Judge kMax;
extern const Judge kMean;
extern const Judge kMin;
extern const Judge kMod;
extern const Judge kMul;
extern const Judge kSub;
extern const Judge kSum;

// bitwise.cpp
extern const Judge kBitwiseAnd;
extern const Judge kBitwiseNot;
extern const Judge kBitwiseOr;
extern const Judge kBitwiseXor;

// boxes.cpp
extern const Judge kNonMaxSuppression;
extern const Judge kRoiAlign;

// caches.cpp
extern const Judge kCenterCropPad;
extern const Judge kRotaryEmbedding;
extern const Judge kTensorScatter;

// cast.cpp
extern const Judge kCast;
extern const Judge kCastLike;

// col2im.cpp
extern const Judge kCol2im;

// conv.cpp
extern const Judge kConv;

// conv_transpose.cpp
extern const Judge kConvTranspose;

// deform_conv.cpp
extern const Judge kDeformConv;

// det.cpp
extern const Judge kDet;

// dropout.cpp
extern const Judge kDropout;

// einsum.cpp
extern const Judge kEinsum;

// fourier.cpp
extern const Judge kDft;
extern const Judge kStft;

// functions.cpp
extern const Judge kAcos;
extern const Judge kAcosh;
extern const Judge kAsin;
extern const Judge kAsinh;
extern const Judge kAtan;
extern const Judge kAtanh;
extern const Judge kCos;
extern const Judge kCosh;
extern const Judge kErf;
extern const Judge kExp;
extern const Judge kLog;
extern const Judge kSigmoid;
extern const Judge kSin;
extern const Judge kSinh;
extern const Judge kSoftplus;
extern const Judge kTan;
extern const Judge kTanh;

// gelu.cpp
extern const Judge kGelu;
extern const Judge kMish;
extern const Judge kSwish;

// gemm.cpp
extern const Judge kGemm;
extern const Judge kMatmul;

// generate.cpp
extern const Judge kConstant;
extern const Judge kConstantOfShape;
extern const Judge kEyeLike;
extern const Judge kRange;
extern const Judge kShape;
extern const Judge kSize;

// grid_sample.cpp
extern const Judge kGridSample;

// layer_norm.cpp
extern const Judge kGroupNormalization;
extern const Judge kInstanceNormalization;
extern const Judge kLayerNormalization;

// layout.cpp
extern const Judge kConcat;
extern const Judge kDepthToSpace;
extern const Judge kExpand;
extern const Judge kSpaceToDepth;
extern const Judge kSplit;
extern const Judge kTile;
extern const Judge kTranspose;

// log_sum_exp.cpp
extern const Judge kReduceLogSumExp;

// logic.cpp
extern const Judge kBitShift;
extern const Judge kEqual;
extern const Judge kGreater;
extern const Judge kGreaterOrEqual;
extern const Judge kLess;
extern const Judge kLessOrEqual;
extern const Judge kLogicalAnd;
extern const Judge kLogicalOr;
extern const Judge kLogicalXor;
extern const Judge kPow;
extern const Judge kWhere;

// loss.cpp
extern const Judge kNegativeLogLikelihoodLoss;
extern const Judge kSoftmaxCrossEntropyLoss;

// lp_pool.cpp
extern const Judge kGlobalLpPool;
extern const Judge kLpPool;

// mask.cpp
extern const Judge kCompress;
extern const Judge kGatherNd;
extern const Judge kTrilu;

// normalise.cpp
extern const Judge kLrn;

// order.cpp
extern const Judge kNonZero;
extern const Judge kTopK;
extern const Judge kUnique;

// slice_gather.cpp
extern const Judge kGather;
extern const Judge kGatherElements;
extern const Judge kPad;
extern const Judge kSlice;

// indexing.cpp
extern const Judge kOneHot;
extern const Judge kReverseSequence;

// pool.cpp
extern const Judge kAveragePool;
extern const Judge kGlobalAveragePool;
extern const Judge kGlobalMaxPool;
extern const Judge kMaxPool;

// quantise.cpp
extern const Judge kDequantizeLinear;
extern const Judge kDynamicQuantizeLinear;
extern const Judge kQuantizeLinear;

// quantised_products.cpp
extern const Judge kConvInteger;
extern const Judge kMatmulInteger;
extern const Judge kQlinearConv;
extern const Judge kQlinearMatmul;

// random.cpp
extern const Judge kBernoulli;
extern const Judge kMultinomial;
extern const Judge kRandomNormal;
extern const Judge kRandomNormalLike;
extern const Judge kRandomUniform;
extern const Judge kRandomUniformLike;

// recurrent.cpp
extern const Judge kGru;
extern const Judge kLstm;
extern const Judge kRnn;

// reduce.cpp
extern const Judge kArgMax;
extern const Judge kArgMin;
extern const Judge kReduceL1;
extern const Judge kReduceL2;
extern const Judge kReduceLogSum;
extern const Judge kReduceMax;
extern const Judge kReduceMean;
extern const Judge kReduceMin;
extern const Judge kReduceProd;
extern const Judge kReduceSum;
extern const Judge kReduceSumSquare;

// reshape.cpp
extern const Judge kFlatten;
extern const Judge kIdentity;
extern const Judge kReshape;
extern const Judge kSqueeze;
extern const Judge kUnsqueeze;

// resize.cpp
extern const Judge kResize;

// scan.cpp
extern const Judge kCumSum;

// scatter.cpp
extern const Judge kMaxUnpool;
extern const Judge kScatterElements;
extern const Judge kScatterNd;

// softmax.cpp
extern const Judge kHardmax;
extern const Judge kLogSoftmax;
extern const Judge kSoftmax;

// training.cpp
extern const Judge kAdagrad;
extern const Judge kAdam;
extern const Judge kMomentum;

// unary.cpp
extern const Judge kAbs;
extern const Judge kCeil;
extern const Judge kFloor;
extern const Judge kIsInf;
extern const Judge kIsNan;
extern const Judge kLogicalNot;
extern const Judge kNeg;
extern const Judge kReciprocal;
extern const Judge kRound;
extern const Judge kSign;
extern const Judge kSoftsign;
extern const Judge kSqrt;

// vector_norm.cpp
extern const Judge kLpNormalization;
extern const Judge kMeanVarianceNormalization;
extern const Judge kRmsNormalization;

// windows.cpp
extern const Judge kBlackmanWindow;
extern const Judge kHammingWindow;
extern const Judge kHannWindow;
extern const Judge kMelWeightMatrix;

}  // namespace commensal::kernels::ref
