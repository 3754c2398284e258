package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Counted is a Store that tells what is asked of it.
type Counted struct {
	Store
	Done  func(operation, outcome string) // what was asked, and what came of it: ok, refused, failed
	Moved func(direction string, n int64) // bytes: read, written
}

// tell reports an operation. That a file is too large or not there is no failure
// of the place, nor is a caller who leaves.
func (c *Counted) tell(ctx context.Context, operation string, err error) {
	switch {
	case err == nil:
		c.Done(operation, "ok")
	case errors.Is(err, ErrTooLarge), errors.Is(err, fs.ErrNotExist), ctx.Err() != nil:
		c.Done(operation, "refused")
	default:
		c.Done(operation, "failed")
	}
}

// Put tells of an upload that its sender broke off as refused: the place took what
// there was.
func (c *Counted) Put(ctx context.Context, id string, r io.Reader, limit int64) (int64, []byte, error) {
	from := &source{Reader: r}
	size, sum, err := c.Store.Put(ctx, id, from, limit)
	if err != nil && from.broken {
		c.Done("put", "refused")
	} else {
		c.tell(ctx, "put", err)
	}
	if err == nil {
		c.Moved("written", size)
	}
	return size, sum, err
}

// source is the sender of an upload.
type source struct {
	io.Reader
	broken bool // it did not send everything
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.broken = true
	}
	return n, err
}

func (c *Counted) Open(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	r, err := c.Store.Open(ctx, id)
	c.tell(ctx, "open", err)
	if err != nil {
		return nil, err
	}
	return &countedReader{ReadSeekCloser: r, moved: c.Moved}, nil
}

func (c *Counted) Delete(ctx context.Context, id string) error {
	err := c.Store.Delete(ctx, id)
	c.tell(ctx, "delete", err)
	return err
}

func (c *Counted) Sweep(ctx context.Context, before time.Time) error {
	err := c.Store.Sweep(ctx, before)
	c.tell(ctx, "sweep", err)
	return err
}

// countedReader counts what is read of a file, and tells when it is closed.
type countedReader struct {
	io.ReadSeekCloser
	moved func(string, int64)
	n     int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	r.n += int64(n)
	return n, err
}

func (r *countedReader) Close() error {
	r.moved("read", r.n)
	r.n = 0
	return r.ReadSeekCloser.Close()
}
