"""One step of walking, predicted: the problem of papers/000 (5.2) with the ground reaction of Xiang et al. 2009."""
