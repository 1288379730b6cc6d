// Package bucket reads and writes the objects of object storage: Amazon S3 and what
// speaks its protocol, Google Cloud Storage, and Azure Blob Storage.
//
// Addresses name a bucket and a key, or the beginning of keys:
//
//	s3://BUCKET/KEY       credentials, region and endpoint as for the aws program:
//	                      AWS_* variables, ~/.aws, the role of the machine
//	gs://BUCKET/KEY       Google's application default credentials
//	azblob://CONTAINER/KEY  AZURE_STORAGE_* variables, otherwise Azure's default credential
//
// Only what a user names on the command line or in the configuration of a process is
// opened: a server must not open an address that a client names, because it would read
// with the credentials of the server.
//
// It uses minio-go for S3 and Google, whose XML API is that of S3 apart from the condition of a
// write and OAuth in place of signatures, and Azure's SDK, because Azure has a protocol of its own.
// gocloud.dev/blob links the whole SDKs of Amazon and Google for four operations: 32.7 MB of the
// binary in place of 5.7.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// Object describes an object of a listing.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Bucket is a bucket or container. It is safe for concurrent use. Errors name the address.
type Bucket interface {
	// List yields the objects whose keys begin with a prefix, in the order of their
	// keys. It ends with the first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// Read opens an object. If it does not exist, the error wraps fs.ErrNotExist.
	Read(ctx context.Context, key string) (io.ReadCloser, error)
	// Write stores an object of any size, and replaces one of the same key. A failure
	// leaves the old one. A size of -1 means that it is not known.
	Write(ctx context.Context, key string, content io.Reader, size int64) error
	// Create stores an object unless there is one of the same key; then the error wraps
	// fs.ErrExist. Of several at the same time one succeeds.
	Create(ctx context.Context, key string, content []byte) error
	// Delete removes an object. It is no error if there is none.
	Delete(ctx context.Context, key string) error
}

// Schemes are the schemes of addresses of buckets.
var Schemes = []string{"s3", "gs", "azblob"}

// Is reports whether a text is an address of a bucket.
func Is(address string) bool {
	return slices.ContainsFunc(Schemes, func(s string) bool { return strings.HasPrefix(address, s+"://") })
}

// Open returns the bucket of an address, and the key in it, which may be empty. It sends no
// request for data: whether the bucket exists is known after the first one.
func Open(ctx context.Context, address string) (b Bucket, key string, err error) {
	scheme, rest, _ := strings.Cut(address, "://")
	name, key, _ := strings.Cut(rest, "/")
	if name == "" {
		return nil, "", fmt.Errorf("%s: the address has no bucket (%s://BUCKET/KEY)", address, scheme)
	}
	switch scheme {
	case "s3":
		b, err = openS3(name)
	case "gs":
		b, err = openGoogle(ctx, name)
	case "azblob":
		b, err = openAzure(name)
	default:
		err = errors.New("not an address of a bucket (s3://, gs://, azblob://)")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s://%s: %w", scheme, name, err)
	}
	return b, key, nil
}
