"""What proves an answer: certificates, polishing to a vertex, proofs of infeasibility, exact arithmetic."""
