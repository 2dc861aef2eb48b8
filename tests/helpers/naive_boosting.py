"""Slow, obvious twins of the boosting code: enumerate, sum, compare."""

import numpy as np
from scipy.optimize import linprog


def cuts(column):
    """Midpoints of neighbouring distinct values."""
    values = np.unique(column)
    return values[:-1] / 2 + values[1:] / 2


def all_stumps(X):
    """(feature, threshold, votes) of every stump with +1 on the left, without constants."""
    return [
        (f, t, np.where(X[:, f] <= t, 1, -1)) for f in range(X.shape[1]) for t in cuts(X[:, f])
    ]


def best_cut(X, g, rows):
    """(gain, feature, threshold) of the best split of a node; gain 0 and feature -1 if none."""
    total = abs(g[rows].sum())
    best = (0.0, -1, 0.0)
    for f in range(X.shape[1]):
        for t in cuts(X[rows, f]):
            left = rows[X[rows, f] <= t]
            right = rows[X[rows, f] > t]
            gain = abs(g[left].sum()) + abs(g[right].sum()) - total
            if gain > best[0] + 1e-11:
                best = (gain, f, t)
    return best


def tree_votes(leaves, g):
    """Votes of a partition into leaves, each by its sign."""
    votes = np.ones(len(g))
    for rows in leaves:
        votes[rows] = np.sign(g[rows].sum()) or 1.0
    return votes


def split_leaves(X, leaves, cut_of):
    """Partition after splitting the leaves for which there is a cut (f, t)."""
    out = []
    for k, rows in enumerate(leaves):
        if k in cut_of:
            f, t = cut_of[k]
            out += [rows[X[rows, f] <= t], rows[X[rows, f] > t]]
        else:
            out.append(rows)
    return out


def value_of(leaves, g, penalty):
    """Edge / 2 - penalty(number of nodes) of a partition."""
    edge = sum(abs(g[rows].sum()) for rows in leaves)
    return edge / 2 - penalty(2 * len(leaves) - 1)


def layerwise_value(X, g, penalty, max_depth):
    """Best criterion among the constants and h*_1 .. h*_K, each one more layer of the last."""
    leaves = [np.arange(len(g))]
    best = value_of(leaves, g, penalty)
    for _ in range(max_depth):
        cuts_by_gain = sorted(
            ((best_cut(X, g, rows), k) for k, rows in enumerate(leaves)), key=lambda x: -x[0][0]
        )
        useful = [(k, cut[1:]) for cut, k in cuts_by_gain if cut[1] >= 0]
        if not useful:
            break
        options = [
            split_leaves(X, leaves, dict(useful[:count])) for count in range(1, len(useful) + 1)
        ]
        leaves = max(options, key=lambda option: value_of(option, g, penalty))
        best = max(best, value_of(leaves, g, penalty))
    return best


def greedy_leaves(X, g, penalty, max_depth):
    """Breadth-first growth; a node is split where that raises the criterion."""
    done, level, size = [], [np.arange(len(g))], 1
    for _ in range(max_depth):
        following = []
        for rows in level:
            gain, f, t = best_cut(X, g, rows)
            if f >= 0 and gain / 2 > penalty(size + 2) - penalty(size):
                size += 2
                following += [rows[X[rows, f] <= t], rows[X[rows, f] > t]]
            else:
                done.append(rows)
        level = following
    return done + level


def best_shared_question(X, g, feature, threshold):
    """Largest edge of a tree with a given root and one question on both sides."""
    side = X[:, feature] <= threshold
    best = abs(g[side].sum()) + abs(g[~side].sum())
    for f in range(X.shape[1]):
        for t in cuts(X[:, f]):
            below = X[:, f] <= t
            parts = [side & below, side & ~below, ~side & below, ~side & ~below]
            best = max(best, sum(abs(g[part].sum()) for part in parts))
    return best


def predict_tree(tree, X):
    """Votes of a Tree, row by row."""
    out = []
    for row in X:
        node = 0
        while tree.feature[node] >= 0:
            left = row[tree.feature[node]] <= tree.threshold[node]
            node = tree.left[node] if left else tree.right[node]
        out.append(tree.label[node])
    return np.array(out)


def deepboost(H, y, weight, cost, n_rounds, logistic):
    """The paper's pseudocode over an explicit set of hypotheses; returns f after each round."""
    alpha = np.zeros(len(H))
    path = []
    for _ in range(n_rounds):
        u = 1 - y * (H.T @ alpha)
        slope = 1 / (np.log(2) * (1 + np.exp(-u))) if logistic else np.exp(u)
        S = weight @ slope
        D = weight * slope / S
        error = np.array([D[h != y].sum() for h in H])
        P = cost / S
        d = np.zeros(len(H))
        for j in range(len(H)):
            if alpha[j] != 0:
                d[j] = error[j] - 0.5 + np.sign(alpha[j]) * P[j] / 2
            elif abs(error[j] - 0.5) > P[j] / 2:
                d[j] = error[j] - 0.5 - np.sign(error[j] - 0.5) * P[j] / 2
        k = int(np.argmax(abs(d)))
        if abs(d[k]) < 1e-10:
            break
        e, a, p = error[k], alpha[k], P[k]
        q = (1 - e) * np.exp(a) - e * np.exp(-a)
        if abs(q) <= p:
            step = -a
        else:
            sign = -1 if q > p else 1
            step = np.log(sign * p / (2 * e) + np.sqrt((p / (2 * e)) ** 2 + (1 - e) / e))
        alpha[k] += step
        path.append(H.T @ alpha)
    return path


def quadboost(H, y, weight, penalty, strength, n_rounds):
    """QuadBoost by evaluating the best weight of every learner and its objective."""

    def objective(alpha):
        risk = weight @ (y - H.T @ alpha) ** 2
        if penalty == "l1":
            return risk + 2 * strength * abs(alpha).sum()
        return risk + (strength * (alpha @ alpha) if penalty == "l2" else 0.0)

    alpha = np.zeros(len(H))
    objectives = []
    for _ in range(n_rounds):
        options = []
        for j, h in enumerate(H):
            r = weight @ (h * (y - H.T @ alpha))
            eta = weight @ h**2
            z = r + eta * alpha[j]
            to = {
                None: z / eta,
                "l1": np.sign(z) * max(abs(z) - strength, 0) / eta,
                "l2": z / (eta + strength),
                "linf": np.clip(z / eta, -strength, strength),
            }[penalty]
            moved = alpha.copy()
            moved[j] = to
            options.append((objective(moved), j, to))
        value, j, to = min(options)
        if value >= objective(alpha) - 1e-14:
            break
        alpha[j] = to
        objectives.append(value)
    return alpha, objectives


def full_lpboost(values, cap):
    """Optimum and rho of the soft-margin program over all columns, in its primal form."""
    m, n = values.shape
    cost = np.concatenate([np.zeros(n), cap, [-1.0]])
    rows = np.hstack([-values, -np.eye(m), np.ones((m, 1))])
    sum_constraint = np.concatenate([np.ones(n), np.zeros(m + 1)])[None]
    bounds = [(0, None)] * (m + n) + [(None, None)]
    result = linprog(cost, rows, np.zeros(m), sum_constraint, np.ones(1), bounds, method="highs")
    return -result.fun


def full_lpboost_c(values, cap):
    """Optimum of the program with costs over all columns, in its primal form."""
    m, n = values.shape
    rows = np.hstack([-values, -np.eye(m)])
    return linprog(np.concatenate([np.ones(n), cap]), rows, -np.ones(m), method="highs").fun
