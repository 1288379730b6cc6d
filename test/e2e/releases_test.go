package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/test/program"
)

// shop is a small service. Its versions answer the same requests.
type shop struct{ compiles int } // in each request

type order struct {
	ID    int
	Name  string
	Lines []string
}

// serve answers a request.
//
//go:noinline
func (s *shop) serve(id int) int {
	o := order{ID: id, Name: fmt.Sprintf("order %d", id)}
	for i := range 40 {
		o.Lines = append(o.Lines, fmt.Sprintf("%d pieces of %x", i, id*i))
	}
	slices.Sort(o.Lines)
	text, _ := json.Marshal(o)
	return len(text) + s.match(string(text))
}

// match compiles more often in the slow version, and matches as often.
//
//go:noinline
func (s *shop) match(text string) (n int) {
	var pattern *regexp.Regexp
	for range s.compiles {
		pattern = regexp.MustCompile(`pieces of [0-9a-f]*7[0-9a-f]*`)
	}
	if pattern.MatchString(text) {
		n++
	}
	return n
}

// profiled serves requests and returns the profile of the processor.
func (s *shop) profiled(t *testing.T, requests int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		t.Fatal(err)
	}
	for id := range requests {
		s.serve(id)
	}
	pprof.StopCPUProfile()
	return b.Bytes()
}

// TestReleases runs three versions of a service, of which the last one is slower in a
// function, pushes what the Go runtime sampled, and asks which function a release made
// slower. Windows say that they are a minute long, so that the test need not take hours.
func TestReleases(t *testing.T) {
	dir := t.TempDir()
	p, err := program.StartServer(dir, "--continuous")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	// Recorded in turns, so that what else the machine does is no difference between versions.
	versions := []string{"1.0", "1.1", "1.2"}
	const windows = 6 // of each version
	at := time.Now().Add(-time.Hour).Truncate(time.Minute)
	for i := range windows {
		for v, version := range versions {
			s := shop{compiles: 1}
			if version == "1.2" {
				s.compiles = 10
			}
			from := at.Add(time.Duration(v*windows+i) * time.Minute)
			address := fmt.Sprintf("%s/ingest?name=%s&from=%d&until=%d&format=pprof", p.HTTP, url.QueryEscape("shop{service_version="+version+"}"),
				from.Unix(), from.Add(time.Minute).Unix())
			resp, err := http.Post(address, "application/octet-stream", bytes.NewReader(s.profiled(t, 30_000)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("a push of %s is answered by %s", version, resp.Status)
			}
		}
	}
	ask := func(more ...string) string {
		t.Helper()
		return program.Must(t, dir, append([]string{"regressions", "--store", p.HTTP, "--service", "shop"}, more...)...)
	}
	for _, want := range []string{"match", "regexp.MustCompile", "1.2", "confirmed"} {
		if got := ask(); !strings.Contains(got, want) {
			t.Errorf("1.2 against 1.1: no %q in\n%s", want, got)
		}
	}
	if got := ask(); strings.Count(got, "confirmed") != 1 {
		t.Errorf("more than one finding of one change:\n%s", got)
	}
	if got := ask("--head", "1.1"); strings.Contains(got, "confirmed") {
		t.Errorf("1.1 against 1.0, which are the same program:\n%s", got)
	}
	var report struct {
		Notes []string
	}
	if err := json.Unmarshal([]byte(program.Must(t, dir, "report", "--store", p.HTTP, "--service", "shop", "-o", "json")),
		&report); err != nil || len(report.Notes) == 0 || !strings.Contains(report.Notes[0], `"1.1", the time before`) {
		t.Errorf("the report does not say what it compares: %v, %q", err, report.Notes)
	}
}
