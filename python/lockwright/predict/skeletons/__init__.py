"""Skeletons: models of the applications of a published study, and predicted studies of them."""
