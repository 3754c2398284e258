package database

const PostgresConns = postgresConns
