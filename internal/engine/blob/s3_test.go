package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
)

// bucket is a bucket on an S3 server of the test's own.
func bucket(t *testing.T) (*S3, S3Options) {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(gofakes3.New(backend).Server())
	t.Cleanup(srv.Close)
	opt := S3Options{Endpoint: srv.URL + "/files", AccessKey: "key", SecretKey: "secret-of-the-bucket", transport: srv.Client().Transport}
	s, err := OpenS3(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s, opt
}

// objects are the names of what is in the bucket.
func objects(t *testing.T, s *S3) (all []string) {
	t.Helper()
	for o := range s.client.ListObjects(t.Context(), s.bucket, minio.ListObjectsOptions{}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		all = append(all, o.Key)
	}
	return all
}

// unfinished are the names of what is being uploaded.
func unfinished(t *testing.T, s *S3) (all []string) {
	t.Helper()
	for up := range s.client.ListIncompleteUploads(t.Context(), s.bucket, "", true) {
		if gone(up.Err) {
			return nil
		}
		if up.Err != nil {
			t.Fatal(up.Err)
		}
		all = append(all, up.Key)
	}
	return all
}

func TestS3KeepsBytes(t *testing.T) {
	s, _ := bucket(t)
	ctx := t.Context()
	large := make([]byte, 2*s3PartSize+12345) // three parts
	rand.Read(large)                          //nolint:errcheck // it never fails
	for _, content := range [][]byte{[]byte("hello"), {}, large, large[:s3FirstLen], large[:s3FirstLen+1], large[:s3PartSize], []byte("hello again")} {
		size, sum, err := s.Put(ctx, "file_1", bytes.NewReader(content), int64(len(content)))
		want := sha256.Sum256(content)
		if err != nil || size != int64(len(content)) || !bytes.Equal(sum, want[:]) {
			t.Fatalf("put %d bytes: %d %x %v", len(content), size, sum, err)
		}
		f, err := s.Open(ctx, "file_1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("got %d of %d bytes, %v", len(got), len(content), err)
		}
		if end, err := f.Seek(0, io.SeekEnd); err != nil || end != int64(len(content)) {
			t.Errorf("it ends at %d, %v", end, err)
		}
		if half := int64(len(content) / 2); half > 0 {
			if _, err := f.Seek(half, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(f); err != nil || !bytes.Equal(rest, content[half:]) {
				t.Errorf("from the middle %d bytes, %v", len(rest), err)
			}
		}
		f.Close()
	}
	if got := objects(t, s); len(got) != 1 || got[0] != "file_1" {
		t.Errorf("the bucket has %q", got)
	}
	for range 2 {
		if err := s.Delete(ctx, "file_1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Open(ctx, "file_1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
}

func TestS3LeavesNothingAfterAFailure(t *testing.T) {
	broken := errors.New("the line went dead")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	long := strings.Repeat("x", 2*s3PartSize)
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		r     io.Reader
		limit int64
		want  error
	}{
		{"too large", t.Context(), strings.NewReader("0123456789+"), 10, ErrTooLarge},
		{"too large in the second part", t.Context(), strings.NewReader(long), s3PartSize + 10, ErrTooLarge},
		{"broken off", t.Context(), io.MultiReader(strings.NewReader("01234"), &failing{broken}), 10, broken},
		{"broken off in the second part", t.Context(), io.MultiReader(strings.NewReader(long), &failing{broken}), 1 << 30, broken},
		{"out of time", gone, strings.NewReader("01234"), 10, broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := bucket(t)
			if _, _, err := s.Put(tt.ctx, "file_1", tt.r, tt.limit); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got := append(objects(t, s), unfinished(t, s)...); len(got) != 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

// TestS3Sweep removes what a process that died has left of an upload.
func TestS3Sweep(t *testing.T) {
	s, _ := bucket(t)
	ctx := t.Context()
	core := minio.Core{Client: s.client}
	for _, name := range []string{"file_1", "some/thing.else"} { // the second is not ours
		if _, err := core.NewMultipartUpload(ctx, s.bucket, name, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(ctx, time.Now().Add(-time.Hour)); err != nil || len(unfinished(t, s)) != 2 {
		t.Errorf("an upload that may still run was swept away, %v", err)
	}
	if err := s.Sweep(ctx, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := unfinished(t, s); len(got) != 1 || got[0] != "some/thing.else" {
		t.Errorf("after the sweep: %q", got)
	}
}

func TestS3TakesOnlyIDs(t *testing.T) {
	s, _ := bucket(t)
	ctx := t.Context()
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a.b", "a\x00b", "ä", strings.Repeat("a", 129)} {
		_, _, put := s.Put(ctx, id, strings.NewReader("x"), 10)
		_, open := s.Open(ctx, id)
		for _, err := range []error{put, open, s.Delete(ctx, id)} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}

func TestOpenS3SaysWhatIsWrong(t *testing.T) {
	_, opt := bucket(t)
	other := opt
	other.Endpoint += "x"
	if _, err := OpenS3(t.Context(), other); err == nil || !strings.Contains(err.Error(), `no bucket "filesx"`) {
		t.Errorf("a bucket that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	other.Endpoint = "http://127.0.0.1:1/files"
	if _, err := OpenS3(ctx, other); err == nil || !strings.Contains(err.Error(), "S3_ENDPOINT") || strings.Contains(err.Error(), opt.SecretKey) {
		t.Errorf("a server that is not there: %v", err)
	}
}

// TestS3SweepLeavesTheSecondTry: the rest of an upload whose process died goes,
// and the upload by which its sender tries again goes on.
func TestS3SweepLeavesTheSecondTry(t *testing.T) {
	s, _ := bucket(t)
	core := minio.Core{Client: s.client}
	var ids []string
	var between time.Time
	for range 2 {
		between = time.Now()
		<-time.After(5 * time.Millisecond) // the server's clock has milliseconds
		id, err := core.NewMultipartUpload(t.Context(), s.bucket, "file_1", minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		<-time.After(5 * time.Millisecond)
	}
	if err := s.Sweep(t.Context(), between); err != nil {
		t.Fatal(err)
	}
	var left []string
	for up := range s.client.ListIncompleteUploads(t.Context(), s.bucket, "", true) {
		left = append(left, up.UploadID)
	}
	if !slices.Equal(left, ids[1:]) {
		t.Errorf("left are %v of %v, want the second", left, ids)
	}
}
