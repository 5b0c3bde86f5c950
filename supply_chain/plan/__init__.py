"""Pure rules: which policies speak about an image, and what their authorities' findings mean."""
