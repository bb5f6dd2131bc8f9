"""Pure combinatorics of orders: optima, counts and exact samplers; no privacy and no estimators here."""
