package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/blob"
	"github.com/beeos/beeos/internal/invoke"
)

// openFiles gives calls their attachments. The bytes go through the REST
// surface, so they lie where that runs; every other process only links there.
func (p *parts) openFiles(ctx context.Context) error {
	if p.info.REST == "" {
		return nil // it runs elsewhere, at an address that nobody told us
	}
	key, err := p.db.Secret(ctx, "file urls", blob.NewKey)
	if err != nil {
		return err
	}
	p.files = &invoke.Files{DB: p.db, Links: &blob.Signer{Key: key, Base: p.info.REST}, Log: p.log, Now: time.Now}
	if !p.cfg.Runs("rest") {
		return nil
	}
	disk, err := blob.OpenDisk(filepath.Join(p.cfg.Data, "files"))
	if err != nil {
		return err
	}
	p.disk, p.files.Blobs = disk, disk
	p.run = append(p.run, p.files.Run)
	return nil
}
