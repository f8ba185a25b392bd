"""The declarative spec and its parts, and how a spec and data become a problem."""
