package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 is a bucket in which every file is an object named by its id. Bytes pass
// through us in both directions: size, type and single use are ours to see to,
// and nobody but us needs to reach the bucket.
type S3 struct {
	client *minio.Client
	bucket string
}

var _ Store = (*S3)(nil)

// S3Options says which bucket. The last part of the endpoint's path is its
// name, as in https://s3.example.com/bucket.
type S3Options struct {
	Endpoint  string
	AccessKey string
	SecretKey string
	Region    string // empty = us-east-1, which most that are not Amazon's take

	transport http.RoundTripper // nil = the usual one
}

const (
	s3PartSize = 8 << 20 // so much of an upload is in memory at a time
	s3FirstLen = 1 << 20 // a file up to here goes in one piece
	s3Retries  = 4
)

// OpenS3 opens the bucket, which must be there.
func OpenS3(ctx context.Context, opt S3Options) (*S3, error) {
	u, err := url.Parse(opt.Endpoint)
	if err != nil {
		return nil, errors.New("open the bucket for files: S3_ENDPOINT is no URL")
	}
	if opt.Region == "" {
		opt.Region = "us-east-1"
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(opt.AccessKey, opt.SecretKey, ""), Secure: u.Scheme == "https", Region: opt.Region, MaxRetries: s3Retries, Transport: opt.transport,
	})
	if err != nil {
		return nil, fmt.Errorf("open the bucket for files: %w", err)
	}
	s := &S3{client, strings.Trim(u.Path, "/")}
	switch there, err := client.BucketExists(ctx, s.bucket); {
	case err != nil:
		return nil, fmt.Errorf("open the bucket for files, see that S3_ENDPOINT and the S3 keys are right: %w", err)
	case !there:
		return nil, fmt.Errorf("open the bucket for files: %s has no bucket %q; make it, or name another one in S3_ENDPOINT", u.Host, s.bucket)
	}
	return s, nil
}

// Put sends a small file whole, a larger one in parts as they come. The object
// is there once the last of them is, so that a crash leaves the file or none.
func (s *S3) Put(ctx context.Context, id string, r io.Reader, limit int64) (int64, []byte, error) {
	if err := checkID(id); err != nil {
		return 0, nil, err
	}
	src := &measured{r: r, limit: limit, hash: sha256.New()}
	err := s.send(ctx, id, src)
	switch {
	case src.size > limit:
		return 0, nil, ErrTooLarge
	case err != nil:
		return 0, nil, fmt.Errorf("write file %s: %w", id, errors.Join(err, context.Cause(ctx)))
	}
	return src.size, src.hash.Sum(nil), nil
}

func (s *S3) send(ctx context.Context, id string, src io.Reader) error {
	var first bytes.Buffer
	n, err := io.CopyN(&first, src, s3FirstLen)
	opt := minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: s3PartSize}
	switch {
	case errors.Is(err, io.EOF):
		_, err = s.client.PutObject(ctx, s.bucket, id, bytes.NewReader(first.Bytes()), n, opt)
	case err == nil:
		_, err = s.client.PutObject(ctx, s.bucket, id, io.MultiReader(&first, src), -1, opt)
	}
	return err
}

// measured fails on the first byte over the limit: who reads from it then
// throws away what it has sent.
type measured struct {
	r     io.Reader
	limit int64
	size  int64
	hash  hash.Hash
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.size += int64(n)
	if m.size > m.limit {
		return 0, ErrTooLarge
	}
	m.hash.Write(p[:n]) //nolint:errcheck // it never fails
	return n, err
}

// Open opens a file for reading, also from the middle.
func (s *S3) Open(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	o, err := s.client.GetObject(ctx, s.bucket, id, minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat() // nothing was asked of the server before
	}
	if gone(err) {
		return nil, fmt.Errorf("open file %s: %w", id, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("open file %s: %w", id, err)
	}
	return o, nil
}

// Delete removes a file.
func (s *S3) Delete(ctx context.Context, id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if err := s.client.RemoveObject(ctx, s.bucket, id, minio.RemoveObjectOptions{}); err != nil && !gone(err) {
		return fmt.Errorf("remove file %s: %w", id, err)
	}
	return nil
}

// Sweep removes the parts of uploads whose process died.
func (s *S3) Sweep(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	core := minio.Core{Client: s.client}
	for up := range s.client.ListIncompleteUploads(ctx, s.bucket, "", true) {
		if gone(up.Err) {
			break // some servers say so when there are none
		}
		if up.Err != nil {
			return fmt.Errorf("list unfinished uploads: %w", up.Err)
		}
		if !up.Initiated.Before(before) || checkID(up.Key) != nil {
			continue // it may still run, or is not ours
		}
		// This one alone: its sender may be trying again under the same name.
		if err := core.AbortMultipartUpload(ctx, s.bucket, up.Key, up.UploadID); err != nil && !gone(err) {
			return fmt.Errorf("remove the rest of an upload: %w", err)
		}
	}
	return context.Cause(ctx)
}

// gone reports whether the server says that there is no such thing.
func gone(err error) bool {
	return err != nil && minio.ToErrorResponse(err).StatusCode == http.StatusNotFound
}
