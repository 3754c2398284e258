package cluster

import (
	"context"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

// CertificatesSealedWith is the name of the secret that seals certificates.
const CertificatesSealedWith = "certificates"

// CertificatePlace is what a certificate of that name is sealed for.
func CertificatePlace(name string) string { return "certificate:" + name }

// GetCertificate returns what is kept under a name, sealed; nil = nothing is.
func (tb *Table) GetCertificate(ctx context.Context, name string) ([]byte, error) {
	return database.GetValue[[]byte](ctx, tb.db, "read certificate", "SELECT sealed FROM certificates WHERE name = $1", name)
}

// PutCertificate keeps something under a name.
func (tb *Table) PutCertificate(ctx context.Context, name string, sealed []byte) error {
	return database.Exec(ctx, tb.db, "keep certificate", `INSERT INTO certificates (name, sealed) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`, name, sealed)
}

// DropCertificate forgets what is kept under a name.
func (tb *Table) DropCertificate(ctx context.Context, name string) error {
	return database.Exec(ctx, tb.db, "drop certificate", "DELETE FROM certificates WHERE name = $1", name)
}

// HoldOrder reports whether holder is the one that orders a certificate now: it
// was before, or nobody is.
func (tb *Table) HoldOrder(ctx context.Context, name, holder string, now, until time.Time) (bool, error) {
	return database.Change(ctx, tb.db, "hold order", `INSERT INTO certificate_orders (name, holder, held_until) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
		WHERE certificate_orders.holder = excluded.holder OR certificate_orders.held_until <= $4`,
		name, holder, database.Micros(until), database.Micros(now))
}

// ReleaseOrder lets others order.
func (tb *Table) ReleaseOrder(ctx context.Context, name, holder string) error {
	return database.Exec(ctx, tb.db, "release order", "DELETE FROM certificate_orders WHERE name = $1 AND holder = $2", name, holder)
}
