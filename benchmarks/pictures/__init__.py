"""Draw the pictures of the guides, in docs/images."""
