package app

import (
	"context"
	"path/filepath"
	"time"

	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/files"
)

// openFiles gives calls their attachments. The bytes go through the REST
// surface, so they lie where that runs; every other process only links there.
func (p *parts) openFiles(ctx context.Context) error {
	if p.info.REST == "" {
		return nil // it runs elsewhere, at an address that nobody told us
	}
	key, err := p.db.Cluster.Secret(ctx, "file urls", blob.NewKey)
	if err != nil {
		return err
	}
	p.files = &files.Files{Table: p.db.Files, Links: &blob.Signer{Key: key, Base: p.info.REST}, Log: p.log, Now: time.Now}
	if !p.cfg.Runs("rest") {
		return nil
	}
	if err := p.openBlobs(ctx); err != nil {
		return err
	}
	p.run = append(p.run, p.files.Run)
	return nil
}

// openBlobs opens the place for bytes: a bucket that all servers share, or a
// folder of this one.
func (p *parts) openBlobs(ctx context.Context) error {
	if s3 := p.cfg.S3; s3.Endpoint != "" {
		bucket, err := blob.OpenS3(ctx, blob.S3Options{Endpoint: s3.Endpoint, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey, Region: s3.Region})
		if err != nil {
			return err
		}
		p.files.Blobs = p.countBlobs(bucket)
		return nil
	}
	disk, err := blob.OpenDisk(filepath.Join(p.cfg.Data, "files"))
	if err != nil {
		return err
	}
	p.files.Blobs = p.countBlobs(disk)
	p.closers = append(p.closers, func() { disk.Close() }) //nolint:errcheck // nothing is written through it
	return nil
}
