"""The solution of a problem: memberships and multipliers, the separating hyperplane, balance and explanations."""
