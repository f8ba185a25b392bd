"""Data, oracles and backends that several tests share."""
