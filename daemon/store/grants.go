package store

import (
	"context"
	"database/sql"

	"hob/daemon/policy"
	"hob/daemon/sqlite"
)

// Grants holds the permissions that the owner has given for good, by "/approve CODE always". closeQuestion adds them.
type Grants struct{ core *core }

// List returns the permissions that the owner has given permanently.
func (s Grants) List(ctx context.Context) ([]policy.Grant, error) {
	rs, err := s.core.read().QueryContext(ctx, "SELECT id, tool, pattern, tainted, created, uses FROM grants WHERE revoked = 0 ORDER BY id")
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (g policy.Grant, err error) {
		return g, rs.Scan(&g.ID, &g.Tool, &g.Pattern, &g.Tainted, sqlite.Stamp(&g.Created), &g.Uses)
	})
}

// Revoke ends a grant.
func (s Grants) Revoke(ctx context.Context, id int64) error {
	return s.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change("UPDATE grants SET revoked = ? WHERE id = ? AND revoked = 0", sqlite.Micros(tx.Now), id)
		return oneRow(n, err, "there is no grant %d", "hob grants list shows them", id)
	})
}
