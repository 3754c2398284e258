//go:build unix

package world

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// layMesh has servers that mesh find each other by lines: they learn from the
// database where the others are, and what it is told is not what it tells. More
// than two servers would tell each other their true addresses.
func (w *World) layMesh(ctx context.Context) error {
	db, err := w.Open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	var lines strings.Builder
	for _, n := range w.Nodes {
		l, err := w.line("tcp", n.mesh)
		if err != nil {
			return err
		}
		w.Mesh = append(w.Mesh, l)
		fmt.Fprintf(&lines, "WHEN 'nats://%s' THEN 'nats://%s' ", n.mesh, l.Addr)
	}
	for _, statement := range []string{
		`CREATE FUNCTION tell_line() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN NEW.route_url := CASE NEW.route_url ` + lines.String() + `ELSE NEW.route_url END; RETURN NEW; END $$`,
		`CREATE TRIGGER tell_line BEFORE INSERT OR UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION tell_line()`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("lay lines between the servers: %w", err)
		}
	}
	return nil
}

// awaitMesh waits until servers have met, by a line.
func (w *World) awaitMesh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	return Until(ctx, "the servers meet by a line", func() bool {
		return slices.ContainsFunc(w.Mesh, (*Line).carries)
	})
}
