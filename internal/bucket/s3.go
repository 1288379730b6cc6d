package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Limits of requests.
const (
	answerWait   = 30 * time.Second // until an answer begins
	metadataWait = 2 * time.Second  // for the machine's role
	retries      = 5
)

// s3 is a bucket behind the protocol of Amazon S3, which Google Cloud Storage has too.
type s3 struct {
	minio.Core
	name    string
	address string // of the bucket, "s3://name"
}

// transport returns the transport of all requests.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = answerWait
	t.MaxIdleConnsPerHost = 16
	t.DisableCompression = true // an object is read as it is stored
	return t
}

// openS3 opens a bucket as the aws program does: environment, files of ~/.aws with
// profiles and single sign-on, roles of containers and machines. Without any of them
// requests are not signed, which is right for public buckets.
func openS3(name string) (Bucket, error) {
	endpoint, secure, err := endpointOf(cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL: %w", err)
	}
	t := transport()
	if file := os.Getenv("AWS_CA_BUNDLE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %s has no certificate", file)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Transport: transport(), Timeout: metadataWait}})
	}
	return open("s3", name, endpoint, &minio.Options{Creds: credentials.NewChainCredentials(chain), Secure: secure, Transport: t,
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))})
}

// openGoogle opens a bucket of Google Cloud Storage with the application default
// credentials, or with those of an emulator at STORAGE_EMULATOR_HOST: none.
func openGoogle(ctx context.Context, name string) (Bucket, error) {
	o := &minio.Options{Creds: credentials.NewStatic("", "", "", credentials.SignatureAnonymous), Secure: true, Region: "auto"}
	endpoint := "storage.googleapis.com"
	var t http.RoundTripper = transport()
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		var err error
		if endpoint, o.Secure, err = endpointOf(host); err != nil {
			return nil, fmt.Errorf("STORAGE_EMULATOR_HOST: %w", err)
		}
	} else {
		found, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/devstorage.read_write")
		if err != nil {
			return nil, err
		}
		t = &oauth2.Transport{Source: found.TokenSource, Base: t}
	}
	o.Transport = conditions{t}
	return open("gs", name, endpoint, o)
}

// endpointOf splits the address of a server.
func endpointOf(address string) (host string, secure bool, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" { // a host and a port
		u, err = url.Parse("http://" + address)
	}
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, fmt.Errorf("%q is not http://HOST or https://HOST", address)
	}
	return u.Host, u.Scheme == "https", nil
}

// conditions translates the condition of Create into that of Google's API.
type conditions struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c conditions) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("If-None-Match") == "*" {
		r = r.Clone(r.Context())
		r.Header.Del("If-None-Match")
		r.Header.Set("X-Goog-If-Generation-Match", "0")
	}
	return c.RoundTripper.RoundTrip(r)
}

func open(scheme, name, endpoint string, o *minio.Options) (Bucket, error) {
	o.MaxRetries = retries
	c, err := minio.NewCore(endpoint, o)
	if err != nil {
		return nil, err
	}
	return &s3{*c, name, scheme + "://" + name}, nil
}

// List implements Bucket.
func (b *s3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range b.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			if o.Err != nil {
				yield(Object{}, b.error(prefix, o.Err))
				return
			}
			if !yield(Object{o.Key, o.Size, o.LastModified}, nil) {
				return
			}
		}
	}
}

// Read implements Bucket.
func (b *s3) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	r, _, _, err := b.Core.GetObject(ctx, b.name, key, minio.GetObjectOptions{})
	return r, b.error(key, err)
}

// Write implements Bucket.
func (b *s3) Write(ctx context.Context, key string, content io.Reader, size int64) error {
	_, err := b.Client.PutObject(ctx, b.name, key, content, size, minio.PutObjectOptions{})
	return b.error(key, err)
}

// Create implements Bucket.
func (b *s3) Create(ctx context.Context, key string, content []byte) error {
	o := minio.PutObjectOptions{DisableMultipart: true} // the condition is that of one request
	o.SetMatchETagExcept("*")
	_, err := b.Client.PutObject(ctx, b.name, key, bytes.NewReader(content), int64(len(content)), o)
	return b.error(key, err)
}

// Delete implements Bucket.
func (b *s3) Delete(ctx context.Context, key string) error {
	err := b.error(key, b.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// error names the object, and wraps the errors of the contract.
func (b *s3) error(key string, err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	switch answer.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%s/%s: %s: %w", b.address, key, answer.Message, fs.ErrNotExist)
	case http.StatusPreconditionFailed, http.StatusConflict:
		return fmt.Errorf("%s/%s: %s: %w", b.address, key, answer.Message, fs.ErrExist)
	}
	return fmt.Errorf("%s/%s: %w", b.address, key, err)
}
