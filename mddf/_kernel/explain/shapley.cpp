#include "explain/shapley.hpp"

#include <algorithm>

namespace mddf::explain {

namespace {

constexpr int64_t kNone = -1;

}  // namespace

ShapleyAdder::ShapleyAdder(const TreeGame& game, bool with_interactions)
    : game_(game),
      parent_(game.n_nodes(), kNone),
      leads_all_(game.n_nodes()),
      case_(game.n_nodes()),
      product_(game.n_nodes() * game.weights.size),
      slope_sum_(with_interactions ? product_.size() : 0),
      below_(product_.size() * game.n_outputs),
      change_(game.n_outputs * game.weights.size) {
  const int64_t n_nodes = game.n_nodes();
  for (int64_t node = 0; node < n_nodes; ++node) {
    const int64_t left = game.left[node];
    if (left == kNone) continue;
    parent_[left] = node;
    parent_[left + 1] = node;
  }
  if (!with_interactions) return;
  std::vector<int64_t> last_edge_of(game.n_groups, kNone);  // that has met the group
  for (int64_t edge = 0; edge < n_nodes; ++edge) {
    upper_start_.push_back(static_cast<int64_t>(upper_edges_.size()));
    if (parent_[edge] == kNone) continue;
    last_edge_of[game.group[edge]] = edge;
    for (int64_t upper = parent_[edge]; parent_[upper] != kNone; upper = parent_[upper]) {
      int64_t& last_edge = last_edge_of[game.group[upper]];
      if (last_edge == edge) continue;
      last_edge = edge;
      upper_edges_.push_back(upper);
    }
  }
  upper_start_.push_back(static_cast<int64_t>(upper_edges_.size()));
}

void ShapleyAdder::add_row(const uint8_t* leads, const RowValues& row, Interrupt& interrupt) {
  const int64_t n_steps = game_.weights.size;
  for (int64_t tree = 0; tree + 1 < game_.start.size; ++tree) {
    const int64_t first = game_.start[tree], last = game_.start[tree + 1];
    int64_t n_pairs = 2 * (last - first);
    if (row.interactions) n_pairs += upper_start_[last] - upper_start_[first];
    interrupt.poll(n_pairs * n_steps * game_.n_outputs);
    descend(first, last, leads);
    ascend(first, last, row);
  }
}

// Finds the case of each edge, the products of ratios and the sums of slopes.
void ShapleyAdder::descend(int64_t first, int64_t last, const uint8_t* leads) {
  const int64_t n_steps = game_.weights.size, n_nodes = game_.n_nodes();
  std::copy(game_.weights.begin(), game_.weights.end(), product_.begin() + first * n_steps);
  for (int64_t node = first + 1; node < last; ++node) {
    const int64_t before = game_.before[node];
    const bool leads_before = before == kNone || leads_all_[before];
    const bool leads_all = leads_before && leads[node];
    leads_all_[node] = leads_all;
    const int64_t number = leads_all ? 0 : leads_before ? 1 : 2;
    case_[node] = static_cast<uint8_t>(number);
    const int64_t entry = (number * n_nodes + node) * n_steps;
    const double* above = product_.data() + parent_[node] * n_steps;
    double* product = product_.data() + node * n_steps;
    for (int64_t t = 0; t < n_steps; ++t) product[t] = above[t] * game_.ratio[entry + t];
    if (slope_sum_.empty()) continue;
    const double* slope = game_.slope + entry;
    double* sum = slope_sum_.data() + node * n_steps;
    if (before == kNone) {
      std::copy(slope, slope + n_steps, sum);
    } else {
      const double* sum_before = slope_sum_.data() + before * n_steps;
      for (int64_t t = 0; t < n_steps; ++t) sum[t] = sum_before[t] + slope[t];
    }
  }
}

// Sums the leaves below each node, and adds what each edge contributes.
void ShapleyAdder::ascend(int64_t first, int64_t last, const RowValues& row) {
  const int64_t n_steps = game_.weights.size, n_outputs = game_.n_outputs;
  const int64_t size = n_outputs * n_steps;
  for (int64_t node = last - 1; node > first; --node) {
    const int64_t left = game_.left[node];
    double* below = below_.data() + node * size;
    if (left == kNone) {
      const double* product = product_.data() + node * n_steps;
      for (int64_t output = 0; output < n_outputs; ++output) {
        const double value = game_.value[node * n_outputs + output];
        for (int64_t t = 0; t < n_steps; ++t) below[output * n_steps + t] = value * product[t];
      }
    } else {
      const double* child = below_.data() + left * size;
      for (int64_t i = 0; i < size; ++i) below[i] = child[i] + child[size + i];
    }
    add_edge(node, row);
  }
}

void ShapleyAdder::add_edge(int64_t edge, const RowValues& row) {
  const int64_t number = case_[edge];
  if (number == 2) return;  // the slope is 0
  const int64_t n_steps = game_.weights.size, n_outputs = game_.n_outputs;
  const double* slope = game_.slope + (number * game_.n_nodes() + edge) * n_steps;
  const double* below = below_.data() + edge * n_outputs * n_steps;
  const int64_t group = game_.group[edge];
  double* change = change_.data();
  bool any = false;
  for (int64_t output = 0; output < n_outputs; ++output) {
    double sum = 0;
    for (int64_t t = 0; t < n_steps; ++t) {
      const int64_t i = output * n_steps + t;
      change[i] = below[i] * slope[t];
      sum += change[i];
      any = any || change[i] != 0;
    }
    row.contributions[group * n_outputs + output] += sum;
  }
  if (!row.interactions || !any) return;
  const int64_t* uppers_end = upper_edges_.data() + upper_start_[edge + 1];
  for (const int64_t* upper = upper_edges_.data() + upper_start_[edge]; upper != uppers_end;
       ++upper) {
    const double* upper_slope = slope_sum_.data() + *upper * n_steps;
    double* pair = row.interactions + (group * game_.n_groups + game_.group[*upper]) * n_outputs;
    for (int64_t output = 0; output < n_outputs; ++output) {
      double sum = 0;
      for (int64_t t = 0; t < n_steps; ++t) sum += change[output * n_steps + t] * upper_slope[t];
      pair[output] += sum;
    }
  }
}

}  // namespace mddf::explain
