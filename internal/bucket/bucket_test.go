package bucket_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/dendroprof/dendro/internal/bucket"
	"github.com/dendroprof/dendro/test/peer"
)

// serve starts an S3 server with an empty bucket "dendro".
func serve(t *testing.T, start func(http.Handler) *httptest.Server, wrap func(http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	s := start(wrap(peer.S3(t, "dendro")))
	t.Cleanup(s.Close)
	return s
}

// contract checks a bucket that is empty.
func contract(t *testing.T, address string) {
	t.Helper()
	ctx := context.Background()
	b, key, err := bucket.Open(ctx, address+"/some/key")
	if err != nil || key != "some/key" {
		t.Fatalf("key %q, %v", key, err)
	}
	list := func(prefix string) (keys []string) {
		t.Helper()
		for o, err := range b.List(ctx, prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if o.Size != 3 || o.Modified.IsZero() {
				t.Errorf("%+v", o)
			}
			keys = append(keys, o.Key)
		}
		return keys
	}
	if keys := list(""); len(keys) > 0 {
		t.Fatalf("an empty bucket has %v", keys)
	}
	if _, err := b.Read(ctx, "a/1"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), address+"/a/1") {
		t.Errorf("reading nothing: %v", err)
	}
	for _, key := range []string{"a/2", "a/1", "a ü+%/3", "c"} {
		if err := b.Write(ctx, key, strings.NewReader("one"), 3); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(list("a"), ","); got != "a ü+%/3,a/1,a/2" {
		t.Errorf("listed %s", got)
	}
	if err := b.Create(ctx, "a/1", []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating an object that exists: %v", err)
	}
	if err := b.Create(ctx, "a/4", []byte("two")); err != nil {
		t.Error(err)
	}
	if err := b.Write(ctx, "a/2", strings.NewReader("new"), -1); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"a/1": "one", "a/2": "new", "a/4": "two", "a ü+%/3": "one"} {
		r, err := b.Read(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(r); string(text) != want || err != nil {
			t.Errorf("%s: %q, %v", key, text, err)
		}
		r.Close()
	}
	for _, key := range []string{"a/1", "a/1", "none"} {
		if err := b.Delete(ctx, key); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(list("a/"), ","); got != "a/2,a/4" {
		t.Errorf("left: %s", got)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 40<<20/16) // several parts
	if err := b.Write(ctx, "large", bytes.NewReader(large), int64(len(large))); err != nil {
		t.Fatal(err)
	}
	r, err := b.Read(ctx, "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes of %d, %v", len(got), len(large), err)
	}
	other, _, err := bucket.Open(ctx, strings.Replace(address, "://", "://no", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range other.List(ctx, "") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no bucket: %v", err)
		}
	}
}

func TestS3(t *testing.T) {
	var signed atomic.Int32
	s := serve(t, httptest.NewTLSServer, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=me/") {
				signed.Add(1)
			}
			h.ServeHTTP(w, r)
		})
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", ca)
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "me")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-north-1")
	contract(t, "s3://dendro")
	if signed.Load() == 0 {
		t.Error("no request was signed")
	}
}

// TestGoogle has a server of S3's protocol in place of Google's, whose API differs in the
// condition of a write, and takes no signatures of Amazon's form.
func TestGoogle(t *testing.T) {
	s := serve(t, httptest.NewServer, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" || r.Header.Get("Authorization") != "" {
				t.Errorf("%s %s: %v", r.Method, r.URL, r.Header)
			}
			if r.Header.Get("X-Goog-If-Generation-Match") == "0" {
				r.Header.Set("If-None-Match", "*")
			}
			h.ServeHTTP(w, r)
		})
	})
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(s.URL, "http://"))
	contract(t, "gs://dendro")
}

// TestAzure needs Azurite, Azure's emulator (npm install azurite):
//
//	azurite-blob --inMemoryPersistence --skipApiVersionCheck
//	DENDRO_TEST_AZURE='DefaultEndpointsProtocol=http;AccountName=…' go test ./internal/bucket
func TestAzure(t *testing.T) {
	connection := os.Getenv("DENDRO_TEST_AZURE")
	if connection == "" {
		t.Skip("DENDRO_TEST_AZURE has no connection string")
	}
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", connection)
	const name = "dendro"
	c, err := container.NewClientFromConnectionString(connection, name, nil)
	if err == nil {
		_, err = c.Create(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Delete(context.Background(), nil)
	contract(t, "azblob://"+name)
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{"s3://b/k": true, "gs://b": true, "azblob://c/k": true, "s3:/b": false, "b/s3://": false,
		"https://h/": false, "": false} {
		if bucket.Is(text) != want {
			t.Errorf("Is(%q) is %v", text, !want)
		}
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	for address, want := range map[string]string{"s3:///key": "has no bucket", "s4://b": "not an address of a bucket",
		"azblob://b": "AZURE_STORAGE_ACCOUNT"} {
		if _, _, err := bucket.Open(context.Background(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "ftp://h")
	if _, _, err := bucket.Open(context.Background(), "s3://b"); err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL") {
		t.Error(err)
	}
}
