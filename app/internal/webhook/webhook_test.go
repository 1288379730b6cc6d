package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/analysis/regression"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func finding() *regression.Finding {
	return &regression.Finding{
		ID: "0123456789abcdef", Kind: regression.Regression, Group: "shop", Benchmark: "process_cpu", Type: "cpu", Function: "regexp.Compile",
		Path:     []string{"main", "regexp.Compile"},
		Headline: &regression.Headline{Function: "shop/pricing.match<T> & co", Calls: "regexp.Compile", Own: true},
		Delta:    regression.Delta{Share: 0.042}, Status: regression.Confirmed, Since: regression.Since{Run: "1.3@2026-11-26T10:00", Commit: "1.3"},
	}
}

// hook returns a server of a status, and what was posted to it.
func hook(t *testing.T, status int, f Format, path string) (*Hook, *[]string) {
	t.Helper()
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		w.Header().Set("Location", "http://elsewhere.example/")
		w.WriteHeader(status)
		io.WriteString(w, "no \x1b[31mspace")
	}))
	t.Cleanup(s.Close)
	h, err := New(s.URL+path, f)
	if err != nil {
		t.Fatal(err)
	}
	return h, &bodies
}

func TestFormats(t *testing.T) {
	const text = "shop/process_cpu (cpu): pricing.match<T> & co → regexp.Compile became slower: +4.2% of the program, since 1.3 (confirmed)"
	for _, x := range []struct {
		format Format
		path   string
		want   map[string]any
	}{
		{Slack, "/", map[string]any{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)}},
		{"", "/api/v2/alerts", map[string]any{"labels.function": "regexp.Compile", "labels.since": "1.3", "labels.alertname": "DendroRegression",
			"annotations.summary": text, "startsAt": "2026-11-26T12:00:00Z", "endsAt": "2026-11-27T12:00:00Z"}},
		{"", "/hook", map[string]any{"text": text, "finding.id": "0123456789abcdef"}},
	} {
		h, bodies := hook(t, http.StatusOK, x.format, x.path)
		if err := h.Post(t.Context(), finding(), now); err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal([]byte((*bodies)[0]), &got); err != nil {
			t.Fatal(err)
		}
		if list, ok := got.([]any); ok {
			got = list[0]
		}
		for path, want := range x.want {
			value := got
			for key := range strings.SplitSeq(path, ".") {
				value = value.(map[string]any)[key]
			}
			if value != want {
				t.Errorf("%s%s: %s is %v, want %v", x.format, x.path, path, value, want)
			}
		}
	}
}

// TestServiceLabel: alerts of releases have the service as a label, those of benchmarks have none.
func TestServiceLabel(t *testing.T) {
	h, bodies := hook(t, http.StatusOK, Alertmanager, "/")
	release := finding()
	release.Sides = &regression.Sides{Service: "shop"}
	for _, f := range []*regression.Finding{finding(), release} {
		if err := h.Post(t.Context(), f, now); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains((*bodies)[0], `"service"`) || !strings.Contains((*bodies)[1], `"service":"shop"`) {
		t.Errorf("%q", *bodies)
	}
}

// TestRefused wants an error without the address, which may be a secret, and no redirect
// to be followed.
func TestRefused(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusTemporaryRedirect} {
		h, bodies := hook(t, status, "", "/services/T0/SECRET")
		err := h.Post(t.Context(), finding(), now)
		if err == nil || strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "\x1b") || len(*bodies) != 1 {
			t.Errorf("status %d: error %v, %d posts", status, err, len(*bodies))
		}
	}
	h, err := New("http://127.0.0.1:1/SECRET", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Post(t.Context(), finding(), now); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("nobody listens: error %v", err)
	}
	for _, address := range []string{"", "hooks.slack.com/x", "file:///etc/passwd", "http://example.com/x", "http://%zz"} {
		if _, err := New(address, ""); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
	if _, err := New("https://hooks.slack.com/x", "teams"); err == nil {
		t.Error("a format that is none is found only when there is something to post")
	}
}

func TestLog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a", "posted.json")
	read := func() *Log {
		t.Helper()
		l, err := ReadLog(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if _, err := ReadLog(filepath.Join("/dev/null", "posted.json")); err == nil {
		t.Error("a log that cannot be written is read")
	}
	f, later := finding(), finding()
	later.Since.Commit = "1.4"
	if l := read(); l.Has(f) {
		t.Error("posted before anything was")
	} else if err := l.Add(f, now); err != nil {
		t.Fatal(err)
	}
	l := read()
	if !l.Has(f) || l.Has(later) {
		t.Errorf("posted: %v, in a later version: %v", l.Has(f), l.Has(later))
	}
	if err := l.Add(later, now.Add(forgotten+time.Hour)); err != nil {
		t.Fatal(err)
	}
	if l := read(); l.Has(f) || !l.Has(later) {
		t.Error("an old finding is not forgotten")
	}
}
