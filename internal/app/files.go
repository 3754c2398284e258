package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/store/backup"
)

// openFiles gives calls their attachments. The bytes go through the REST
// surface, so they lie where that runs; every other process only links there.
func (p *parts) openFiles(ctx context.Context) error {
	if p.public.REST == "" {
		return nil // it runs elsewhere, at an address that nobody told us
	}
	key, err := p.db.Cluster.Secret(ctx, "file urls", blob.NewKey)
	if err != nil {
		return err
	}
	p.files = &files.Files{Table: p.db.Files, Links: &blob.Signer{Key: key, Base: p.public.REST}, Log: p.log, Now: time.Now}
	if !p.cfg.Runs("rest") {
		return nil
	}
	if err := p.openBlobs(ctx); err != nil {
		return err
	}
	p.run = append(p.run, p.files.Run)
	return nil
}

// openBlobs opens the place for bytes.
func (p *parts) openBlobs(ctx context.Context) error {
	place, free, err := openPlace(ctx, p.cfg)
	if err != nil {
		return err
	}
	p.files.Blobs = p.countBlobs(place)
	p.closers = append(p.closers, free)
	return nil
}

// openPlace opens where the bytes of files lie: a bucket that all servers share, or
// a folder of this one.
func openPlace(ctx context.Context, cfg config.Config) (place blob.Store, free func(), err error) {
	if s3 := cfg.S3; s3.Endpoint != "" {
		bucket, err := blob.OpenS3(ctx, blob.S3Options{Endpoint: s3.Endpoint, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, Region: s3.Region})
		return bucket, func() {}, err
	}
	disk, err := blob.OpenDisk(filepath.Join(cfg.Data, backup.FilesFolder))
	if err != nil {
		return nil, nil, err
	}
	return disk, func() { disk.Close() }, nil //nolint:errcheck // nothing is written through it
}
