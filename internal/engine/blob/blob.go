// Package blob keeps the bytes of files under their ids and nothing else: who
// owns a file, what it is called and whether it is complete stands in the
// store. Store is what a place for files must do, disk.go is the folder on
// this machine, s3.go a bucket, counted.go tells what is asked of either. sign.go makes links that carry their own permission, name.go
// writes the names that people give to files where a header or an agent reads
// them.
package blob

import (
	"context"
	"errors"
	"io"
	"time"
)

// ErrTooLarge: the reader had more bytes than Put was to take.
var ErrTooLarge = errors.New("the file is larger than allowed")

// Store is a place for files. An object is there whole or not at all.
type Store interface {
	// Put keeps what r has under id and returns its size and SHA-256. More
	// than limit bytes are ErrTooLarge; after any error nothing is kept.
	Put(ctx context.Context, id string, r io.Reader, limit int64) (size int64, sum []byte, err error)
	// Open is fs.ErrNotExist for what is not there.
	Open(ctx context.Context, id string) (io.ReadSeekCloser, error)
	// Delete is content when there is nothing to delete.
	Delete(ctx context.Context, id string) error
	// Sweep removes what uploads left behind that died before this time.
	Sweep(ctx context.Context, before time.Time) error
}
