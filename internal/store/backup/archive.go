package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"
)

// What is where in the tar: who it is of, then what it holds, and as the last
// entry the sums of all others. One without that was broken off.
const (
	headerName   = "backup.json"
	manifestName = "sums.json"
	dataPrefix   = "data/"
	filesPrefix  = "files/"

	format      = 1
	maxDocument = 256 << 20 // of the two JSON documents: some million files
)

// The databases that a server may have.
const (
	SQLite     = "sqlite"
	PostgreSQL = "postgresql"
)

// Header is what a backup says of itself.
type Header struct {
	Format  int       `json:"format"`
	Program string    `json:"program"` // the version that wrote it
	Engine  string    `json:"engine"`  // SQLite: the ledger is in it; PostgreSQL: pg_dump has it
	Tables  int64     `json:"tables"`  // their version
	At      time.Time `json:"at"`      // all that was acknowledged before is in it
}

// entry is the sum of one file in the backup.
type entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// archive is a backup that is being written.
type archive struct {
	file  *os.File
	gzip  *gzip.Writer
	tar   *tar.Writer
	sums  []entry
	at    time.Time
	moved func(n int64) // hears of every byte
}

func createArchive(path string) (*archive, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &archive{file: f, gzip: z, tar: tar.NewWriter(z), at: time.Now(), moved: func(int64) {}}, nil
}

// add writes one file of so many bytes.
func (a *archive) add(name string, size int64, r io.Reader) error {
	sum, err := a.write(name, size, r)
	if err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	a.sums = append(a.sums, entry{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}

func (a *archive) write(name string, size int64, r io.Reader) (hash.Hash, error) {
	sum := sha256.New()
	err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: a.at, Format: tar.FormatPAX})
	if err != nil {
		return nil, err
	}
	_, err = io.CopyN(io.MultiWriter(a.tar, sum, counter(a.moved)), r, size)
	if errors.Is(err, io.EOF) {
		err = errors.New("it has become shorter meanwhile")
	}
	return sum, err
}

// counter is a writer that keeps nothing.
type counter func(int64)

func (c counter) Write(p []byte) (int, error) {
	c(int64(len(p)))
	return len(p), nil
}

// finish writes the sums, puts all of it on the disk and returns its size.
func (a *archive) finish() (int64, error) {
	text, err := json.Marshal(a.sums)
	if err != nil {
		return 0, err
	}
	if _, err := a.write(manifestName, int64(len(text)), strings.NewReader(string(text))); err != nil {
		return 0, err
	}
	if err := errors.Join(a.tar.Close(), a.gzip.Close(), a.file.Sync()); err != nil {
		return 0, err
	}
	info, err := a.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), a.file.Close()
}

// abandon lets go of the file. After finish it does nothing.
func (a *archive) abandon() { a.file.Close() } //nolint:errcheck // it is thrown away

// reader reads a backup from its beginning.
type reader struct {
	name   string // of the file, for errors
	file   *os.File
	size   int64
	gzip   *gzip.Reader
	tar    *tar.Reader
	header Header
	seen   map[string]entry
}

func openArchive(path string) (*reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the backup: %w", err)
	}
	r := &reader{name: path, file: f, seen: map[string]entry{}}
	if err := r.readHeader(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *reader) readHeader() error {
	foreign := fmt.Errorf("%s is not a backup of BeeOS; name a file that beeos backup wrote", r.name)
	info, err := r.file.Stat()
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	r.size = info.Size()
	if r.gzip, err = gzip.NewReader(r.file); err != nil {
		return foreign
	}
	r.tar = tar.NewReader(r.gzip)
	head, err := r.tar.Next()
	if err != nil || head.Name != headerName {
		return foreign
	}
	if err := r.readDocument(head, &r.header); err != nil || r.header.Format == 0 {
		return foreign
	}
	if r.header.Format > format {
		return fmt.Errorf("%s was written by a newer version of BeeOS (%s); restore it with that version", r.name, r.header.Program)
	}
	return nil
}

// readDocument reads the JSON of an entry, and its sum with it.
func (r *reader) readDocument(head *tar.Header, v any) error {
	if head.Size > maxDocument {
		return errors.New("it is too large")
	}
	var text strings.Builder
	if err := r.copyEntry(head, &text); err != nil {
		return err
	}
	return json.Unmarshal([]byte(text.String()), v)
}

// copyEntry writes the bytes of an entry to w and notes their sum.
func (r *reader) copyEntry(head *tar.Header, w io.Writer) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), r.tar); err != nil {
		return err
	}
	r.seen[head.Name] = entry{Name: head.Name, Size: head.Size, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return nil
}

// position is how far the file has been read.
func (r *reader) position() int64 {
	at, err := r.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return at
}

// readAll hands every entry after the header to keep, and then makes sure that
// nothing is missing or changed.
func (r *reader) readAll(keep func(name string) (io.WriteCloser, error)) error {
	damaged := func(why any) error {
		return fmt.Errorf("%s is damaged or was broken off (%v); use another backup", r.name, why)
	}
	for {
		head, err := r.tar.Next()
		switch {
		case err != nil: // io.EOF as well: the sums come last
			return damaged(err)
		case head.Name == manifestName:
			var sums []entry
			if err := r.readDocument(head, &sums); err != nil {
				return damaged(err)
			}
			if err := r.compare(sums); err != nil {
				return damaged(err)
			}
			if _, err := io.Copy(io.Discard, r.gzip); err != nil { // gzip's own sum is at the very end
				return damaged(err)
			}
			return nil
		}
		w, err := keep(head.Name)
		if err != nil {
			return err
		}
		err = r.copyEntry(head, w)
		if closing := w.Close(); err == nil && closing != nil {
			return fmt.Errorf("restore %s: %w", head.Name, closing)
		}
		if err != nil {
			return damaged(fmt.Errorf("%s: %w", head.Name, err))
		}
	}
}

func (r *reader) compare(sums []entry) error {
	if len(sums) != len(r.seen)-1 { // seen has the sums themselves, too
		return fmt.Errorf("%d files instead of %d", len(r.seen)-1, len(sums))
	}
	for _, want := range sums {
		if r.seen[want.Name] != want {
			return fmt.Errorf("%s is not what was saved", want.Name)
		}
	}
	return nil
}

func (r *reader) close() error { return errors.Join(r.gzip.Close(), r.file.Close()) }
