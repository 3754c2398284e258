package verify

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/beeos/beeos/internal/store/database"
)

type file struct {
	id      string
	size    int64
	sum     []byte
	expires time.Time
}

func fileFields(f *file) []any { return []any{&f.id, &f.size, &f.sum, database.Time(&f.expires)} }

// checkFiles reads the bytes of every stored file.
func (c *checker) checkFiles() (string, error) {
	files, err := list(c, fileFields, "SELECT id, size, sha256, expires_at FROM files WHERE state = 'stored' ORDER BY id")
	if c.opt.Blobs == nil {
		return count(len(files), "file") + ", without the bytes", err
	}
	for i := range files {
		if c.ctx.Err() != nil {
			break
		}
		c.checkFile(&files[i])
	}
	return count(len(files), "file"), err
}

func (c *checker) checkFile(f *file) {
	r, err := c.opt.Blobs.Open(c.ctx, f.id)
	if err != nil {
		switch {
		case c.opt.Now().After(f.expires): // its time is over: the server removes it, or has just done so
		case errors.Is(err, fs.ErrNotExist):
			c.find(f.id, "its bytes are not there")
		default:
			c.find(f.id, "its bytes cannot be opened: %v", err)
		}
		return
	}
	defer r.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, r)
	switch {
	case err != nil:
		c.find(f.id, "its bytes cannot be read: %v", err)
	case n != f.size:
		c.find(f.id, "it has %d bytes, and had %d when it was stored", n, f.size)
	case !bytes.Equal(hash.Sum(nil), f.sum):
		c.find(f.id, "its bytes are not those that were stored: the SHA-256 is another one")
	}
}
