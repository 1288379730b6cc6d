// Package peer runs what tests talk to and the product does not need: a server of S3's protocol,
// a broker of Kafka, validators. They are programs of a module of their own, test/peers, so that
// whoever depends on Dendro does not depend on them.
//
// A program prints a line when it is ready, answers lines with lines if it is asked, and ends when
// its input ends, also if the test dies.
package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/test/inputs"
)

// Peer is a running program. It is safe for concurrent use.
type Peer struct {
	Ready string // what it printed first, such as its address

	program string
	mu      sync.Mutex
	in      io.WriteCloser
	out     *bufio.Reader
	wait    func() error
}

// Start is Open for a test, which Close ends.
func Start(t testing.TB, program string, args ...string) *Peer {
	t.Helper()
	p, err := Open(program, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Open builds and starts a program of test/peers, and waits until it is ready.
func Open(program string, args ...string) (*Peer, error) {
	_, file, _, _ := runtime.Caller(0)
	cmd := exec.Command("go", append([]string{"run", "./" + program}, args...)...)
	cmd.Dir = filepath.Join(filepath.Dir(file), "..", "peers")
	if err := inputs.Packages(cmd.Dir, "./"+program); err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Peer{program: program, in: in, out: bufio.NewReader(out), wait: cmd.Wait}
	if p.Ready, err = p.line(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// S3 starts a server of S3's protocol with an empty bucket, and returns its handler for a server of
// the test.
func S3(t testing.TB, bucket string) http.Handler {
	t.Helper()
	u, err := url.Parse(Start(t, "s3", bucket).Ready)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host }}
}

// line reads a line.
func (p *Peer) line() (string, error) {
	text, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("test/peers/%s: %w", p.program, err)
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// Ask sends a value as JSON and decodes the answer.
func (p *Peer) Ask(question, answer any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewEncoder(p.in).Encode(question); err != nil {
		return fmt.Errorf("test/peers/%s: %w", p.program, err)
	}
	text, err := p.line()
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), answer)
}

// Close ends the program.
func (p *Peer) Close() error {
	p.in.Close()
	return p.wait()
}
