"""What several tests share: data, oracles, and backends that misbehave."""
