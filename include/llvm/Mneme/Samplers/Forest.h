//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A random forest that tells good points from bad ones.
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

/// Fully grown CART trees on bootstrap samples: weighted Gini impurity, the
/// square root of the number of features tried at each node.
class Forest {
public:
  struct Example {
    std::vector<float> Features;
    bool Good;
    double Weight; ///< More than 0.
  };

  /// \p Categorical: for each feature, are its values mere names? Such ones are
  /// split into one value and all others, the rest at a threshold.
  /// \p Examples: at least one.
  Forest(unsigned NumTrees, std::vector<bool> Categorical,
         ArrayRef<Example> Examples, std::mt19937_64 &Random);

  /// The leaf of each tree.
  std::vector<uint32_t> findLeaves(ArrayRef<float> Features) const;
  /// The same of many points, which takes less than one after the other.
  std::vector<std::vector<uint32_t>>
  findAllLeaves(ArrayRef<std::vector<float>> Points) const;
  /// How likely what has these leaves is good, to all trees.
  double predict(ArrayRef<uint32_t> Leaves) const;
  /// To some of them, by number; one may be there more than once.
  double predict(ArrayRef<uint32_t> Leaves, ArrayRef<unsigned> Trees) const;
  /// In how large a part of the trees are both in one leaf?
  static double similarity(ArrayRef<uint32_t> LeavesA,
                           ArrayRef<uint32_t> LeavesB);

private:
  struct Node {
    uint32_t Left = 0; ///< The right one is the next; 0: a leaf.
    uint16_t Feature = 0;
    bool Equal = false;  ///< Left: equal to the threshold.
    float Threshold = 0; ///< Left: not above it.
    float Good = 0;      ///< Of a leaf: the share of the good ones' weight.
  };
  struct Builder;
  uint32_t findLeaf(uint32_t Root, ArrayRef<float> Features) const;
  std::vector<bool> Categorical;
  std::vector<uint32_t> Roots;
  std::vector<Node> Nodes; ///< Of all trees.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SAMPLERS_FOREST_H
