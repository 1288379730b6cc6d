package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/internal/bucket"
	"github.com/dendroprof/dendro/test/peer"
)

// objectServer is an S3 server that counts the requests for each object.
type objectServer struct {
	bucket.Bucket
	mu     sync.Mutex
	read   map[string]int // by path
	broken string         // a path that it does not serve
}

// serveObjects starts a server with the bucket "perf", which the environment then names.
func serveObjects(t *testing.T) *objectServer {
	t.Helper()
	o := &objectServer{read: map[string]int{}}
	next := peer.S3(t, "perf")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.read[r.Method+" "+r.URL.Path]++
		broken := r.Method == "GET" && r.URL.Path == o.broken
		o.mu.Unlock()
		if broken {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_ACCESS_KEY_ID": "me", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	var err error
	if o.Bucket, _, err = bucket.Open(context.Background(), "s3://perf"); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *objectServer) put(t *testing.T, key, content string) {
	t.Helper()
	if err := o.Write(context.Background(), key, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

// dendro runs a command line.
func dendro(args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	status = run(context.Background(), &command.Env{In: strings.NewReader(""), Out: &o, Err: &e}, args)
	return status, o.String(), e.String()
}

func TestImportFromBucket(t *testing.T) {
	o := serveObjects(t)
	const objects = 1003 // more than a page of a listing
	for i := range objects - 3 {
		o.put(t, fmt.Sprintf("nightly/r%d/shop/b%d.folded", i%2, i/2), fmt.Sprintf("main;f%d 1\n", i))
	}
	o.put(t, "nightly/r0/shop/labelled.folded", "main 1\n")
	o.put(t, "nightly/r0/shop/labelled.folded.json", `{"commit": "0123abc", "branch": "main"}`)
	o.put(t, "nightly/.hidden/x.folded", "main 1\n")
	o.put(t, "nightly/README.txt", "these are the profiles of every night, see the wiki")
	o.put(t, "nightly2/r0/shop/b.folded", "neighbour 1\n")
	st := filepath.Join(t.TempDir(), "s.duckdb")

	// One of them cannot be read: the others are stored.
	o.broken = "/perf/nightly/r1/shop/b7.folded"
	layout := "{run}/{group}/{benchmark}.{ext}"
	status, out, errOut := dendro("import", "--store", st, "--layout", layout, "s3://perf/nightly")
	if want := "1000 profiles of 1000 files stored (0 unchanged, 1 skipped, 1 failed)"; status != 1 || !strings.Contains(out, want) {
		t.Fatalf("status %d: %s%s", status, out, errOut)
	}
	if want := "s3://perf/nightly/r1/shop/b7.folded: "; !strings.Contains(errOut, want) {
		t.Errorf("no message of %s in %s", want, errOut)
	}
	// The second import stores only the profile that is missing.
	o.broken = ""
	status, out, errOut = dendro("import", "--store", st, "--layout", layout, "s3://perf/nightly/")
	if want := "1 profile of 1001 files stored (1000 unchanged, 1 skipped, 0 failed)"; status != 0 || !strings.Contains(out, want) {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	if n := o.read["GET /perf/nightly2/r0/shop/b.folded"] + o.read["GET /perf/nightly/.hidden/x.folded"]; n != 0 {
		t.Errorf("%d reads of objects outside of nightly/, or of hidden ones", n)
	}
	_, out, _ = dendro("runs", "--store", st, "-o", "json", "--commit", "0123abc")
	if !strings.Contains(out, "0123abc") {
		t.Errorf("the sidecar labelled nothing: %s", out)
	}

	// One object.
	status, out, errOut = dendro("import", "--store", st, "--run", "one", "s3://perf/nightly2/r0/shop/b.folded")
	if status != 0 || !strings.HasPrefix(out, "1 profile of 1 file stored") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	for address, want := range map[string]string{
		"s3://perf/none":               "s3://perf/none: no object has this key, or one that begins with none/",
		"s3://nobucket/a":              "s3://nobucket/a: The specified bucket does not exist",
		"s3://":                        "the address has no bucket",
		"ftp://host/a":                 "import reads files and addresses of https://, s3://, gs:// and azblob://",
		"s3://perf/nightly/README.txt": "README.txt",
	} {
		if status, out, errOut := dendro("import", "--store", st, address); status == 0 || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d: %s%s", address, status, out, errOut)
		}
	}
}
