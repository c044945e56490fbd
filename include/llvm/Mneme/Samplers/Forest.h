//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A random forest that classifies points as good or bad.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SAMPLERS_FOREST_H
#define LLVM_MNEME_SAMPLERS_FOREST_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <random>
#include <vector>

namespace llvm {
namespace mneme {

/// Fully grown CART trees on bootstrap samples, with weighted Gini impurity.
/// Each node tries the square root of the number of features.
class Forest {
public:
  struct Example {
    std::vector<float> Features;
    bool Good;
    double Weight; ///< Greater than 0.
  };

  /// \param Categorical  true for each feature with unordered values. A node
  /// splits such a feature into one value and all others, and other features at
  /// a threshold.
  /// \param Examples  at least one.
  Forest(unsigned NumTrees, std::vector<bool> Categorical,
         ArrayRef<Example> Examples, std::mt19937_64 &Random);

  /// Returns the leaf of each tree.
  std::vector<uint32_t> findLeaves(ArrayRef<float> Features) const;
  /// Does the same for many points, faster than one by one.
  std::vector<std::vector<uint32_t>>
  findAllLeaves(ArrayRef<std::vector<float>> Points) const;
  /// Returns the probability that a point with these leaves is good, by all
  /// trees.
  double predict(ArrayRef<uint32_t> Leaves) const;
  /// Like above, by some trees, given by number. A tree may occur more than
  /// once.
  double predict(ArrayRef<uint32_t> Leaves, ArrayRef<unsigned> Trees) const;
  /// Returns the fraction of the trees in which both points share a leaf.
  static double similarity(ArrayRef<uint32_t> LeavesA,
                           ArrayRef<uint32_t> LeavesB);

private:
  struct Node {
    uint32_t Left = 0; ///< Index of the left child, which the right child
                       ///< follows; 0: a leaf.
    uint16_t Feature = 0;
    bool Equal = false;  ///< Left child: equal to the threshold.
    float Threshold = 0; ///< Left child: not above the threshold.
    float Good = 0;      ///< For a leaf: fraction of the weight that is good.
  };
  struct Builder;
  uint32_t findLeaf(uint32_t Root, ArrayRef<float> Features) const;
  std::vector<bool> Categorical;
  std::vector<uint32_t> Roots;
  std::vector<Node> Nodes; ///< Nodes of all trees.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SAMPLERS_FOREST_H
