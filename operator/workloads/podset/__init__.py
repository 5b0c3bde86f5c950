"""The PodSet: so many pods of one template, no more and no fewer."""
