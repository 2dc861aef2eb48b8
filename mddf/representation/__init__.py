"""Representations that forests learn: embeddings, kernels, neighbours, codes, boosted features."""

from mddf._base.serialization import publish
from mddf.representation._boosted_features import boosted_features
from mddf.representation._eforest import EForest
from mddf.representation._embedding import LeafEmbedding
from mddf.representation._kernel_embedding import ForestKernelEmbedding
from mddf.representation._leaves import leaf_indices
from mddf.representation._proximities import nearest_rows, outlier_scores, proximities

__all__ = [
    "EForest",
    "ForestKernelEmbedding",
    "LeafEmbedding",
    "boosted_features",
    "leaf_indices",
    "nearest_rows",
    "outlier_scores",
    "proximities",
]

publish(globals())
