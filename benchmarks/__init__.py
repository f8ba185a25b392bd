"""What momentlp costs and finds, measured beside its peers. See README.md."""
