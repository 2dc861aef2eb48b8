// Rows of a tree that are divided among several processes.
//
// One process grows the tree. For large nodes, it gets sums over the rows of all processes: counts
// of the bins of the columns that the node draws. These are whole numbers, which are the same in
// any order, so that the split has the same bits as on one machine. The rows of a smaller node are
// copied to the process, which grows the whole subtree as on one machine.
//
// This header has the interface to the rows; the bindings implement it by calls of Python. Nodes
// are named by their indices in the tree.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "forest/data/bin_cells.hpp"
#include "forest/data/samples.hpp"
#include "forest/split/split.hpp"

namespace mddf {

class DividedRows {
 public:
  virtual ~DividedRows() = default;
  // Largest number of rows of a node that are copied to this process.
  virtual int64_t most_copied() const = 0;
};

// Rows with classes, drawn for one tree.
class DividedClassRows : public DividedRows {
 public:
  // Fills the weight of each class at the root, and returns its number of rows.
  virtual int64_t begin(std::vector<uint32_t>& weights) = 0;
  // Counts the bins of some columns at a node with the classes `present`, in ascending order.
  virtual void count_bins(uint32_t node, const uint16_t* present, int n_present,
                          const int32_t* columns, int64_t n_columns) = 0;
  // Counts of the i-th of these columns, which has n_bins bins.
  virtual BinCounts counts(int64_t i, int n_bins) const = 0;
  // Divides the rows of a node between its children `left` and `left` + 1.
  virtual void divide(uint32_t node, const Split& split, uint32_t left) = 0;
  // Copies the rows of a node. The samples then refer to rows of the matrix of the training set.
  virtual void copy(uint32_t node, std::vector<BootstrapSample>& samples) = 0;
};

// Rows with the targets of a single output, drawn for one tree.
class DividedValueRows : public DividedRows {
 public:
  // Sums of the root.
  virtual ValueSums begin() = 0;
  // Largest weight of a row.
  virtual uint32_t most_weight() const = 0;
  // Adds up the bins of some columns at a node. Parts are distances from `least` times weights,
  // divided by 2^shift and rounded down.
  virtual void add_up_bins(uint32_t node, const int32_t* columns, int64_t n_columns, int64_t least,
                           int shift) = 0;
  // Sums of the i-th of these columns, which has n_bins bins.
  virtual BinSumsOfValues sums(int64_t i, int n_bins) const = 0;
  // Divides the rows of a node between its children `left` and `left` + 1, whose sums it returns.
  virtual std::pair<ValueSums, ValueSums> divide_and_add_up(uint32_t node, const Split& split,
                                                            uint32_t left) = 0;
  // Copies the rows of a node. The samples then refer to rows of the training set.
  virtual void copy(uint32_t node, std::vector<RowSample>& samples) = 0;
};

}  // namespace mddf
