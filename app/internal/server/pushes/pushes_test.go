package pushes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/app/internal/server"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/duckdb"
	"github.com/dendroprof/dendro/store/mem"
)

// received starts the reception over a store and pushes one profile a window of ten seconds, each a
// pair of service and stacks, and then one that is refused.
func received(t *testing.T, st store.Store, o Options, profiles ...[2]string) (*Pushes, *server.Server) {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	p, err := New(st, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	s, err := server.New(server.Options{Log: o.Log}, p.Parts...)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range append(profiles, [2]string{"shop", "no profile"}) {
		from := 1795622400 + 10*i
		r := httptest.NewRequest("POST", fmt.Sprintf("http://localhost/ingest?format=folded&name=%s&from=%d&until=%d", one[0], from, from+10),
			strings.NewReader(one[1]))
		out := httptest.NewRecorder()
		if s.Handler().ServeHTTP(out, r); (out.Code == 200) != (i < len(profiles)) {
			t.Fatal(i, out.Code, out.Body)
		}
	}
	return p, s
}

// figures returns what /metrics says of the reception, without times and zeros.
func figures(t *testing.T, s *server.Server) string {
	t.Helper()
	out := httptest.NewRecorder()
	s.Handler().ServeHTTP(out, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	var b strings.Builder
	for line := range strings.Lines(out.Body.String()) {
		if line, ok := strings.CutPrefix(line, "dendro_continuous_"); ok && !strings.HasSuffix(line, " 0\n") &&
			!strings.Contains(line, "seconds") && !strings.Contains(line, "window_bytes") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestMetrics: what was stored, cut, folded and refused can be asked for, and what it takes in the
// store; a store that does not answer hides none of the figures of the intake.
func TestMetrics(t *testing.T) {
	profiles := [][2]string{
		{"shop", "main;serve;parse 3\nmain;serve;render 4\n"}, // 4 paths
		{"cart", "main;a 1\nmain;b 1\nmain;c 1\n"},            // 3 more
		{"shop", "main;serve;parse;token 1\n"},                // cut: (truncated) and 3 more
		{"cart", "main;d 1\n"},                                // no room: (other)
	}
	st, err := duckdb.Open(t.Context(), filepath.Join(t.TempDir(), "s.duckdb"), duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	_, s := received(t, st, Options{Intake: intake.Options{MaxDepth: 3, MaxShare: 100}, Room: continuous.Room{Paths: 11}}, profiles...)
	want := `active_series 2
commits_total 4
cut_stacks_total 1
folded_stacks_total 1
intake_paths 12
paths 12
refused_total{reason="invalid"} 1
stored_total 4
text_bytes 143
windows{level="raw"} 4
`
	if d := cmp.Diff(want, figures(t, s)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	broken := &failing{Store: mem.New()}
	_, s = received(t, broken, Options{}, profiles...)
	broken.err = errors.New("the disk is broken")
	out := httptest.NewRecorder()
	s.Handler().ServeHTTP(out, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if text := out.Body.String(); !strings.Contains(text, "\ndendro_continuous_stored_total 4\n") ||
		strings.Contains(text, "dendro_continuous_windows{") {
		t.Errorf("a broken store: %d %s", out.Code, text)
	}
}

// failing is a store whose background work fails as long as it has an error. It tells of each call.
type failing struct {
	*mem.Store
	err    error
	called chan continuous.Rolled
}

func (f *failing) WindowStats(ctx context.Context) (continuous.Stats, error) {
	if f.err != nil {
		return continuous.Stats{}, f.err
	}
	return f.Store.WindowStats(ctx)
}

func (f *failing) RollUp(ctx context.Context, until time.Time, p continuous.Policy) (rolled continuous.Rolled, err error) {
	if err = f.err; err == nil {
		rolled, err = f.Store.RollUp(ctx, until, p)
	}
	f.err = nil
	f.called <- rolled
	return rolled, err
}

// TestRollUp: hours that have ended are summed up, and windows that are older than the policy keeps
// them are removed; an error is logged and tried again, and the work ends with the server.
func TestRollUp(t *testing.T) {
	st := &failing{Store: mem.New(), called: make(chan continuous.Rolled)}
	o := Options{Policy: continuous.Policy{Keep: [3]time.Duration{time.Hour, 0, 0}}}
	received(t, st, o, [2]string{"shop", "main;a 3\n"}, [2]string{"shop", "main;a 1\nmain;b 2\n"}, [2]string{"cart", "main 5\n"})
	st.err = errors.New("the disk is full")
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.rollUp(ctx, st, &reclaimer{}, time.Millisecond, func(context.Context) {}) }()
	var made, removed int64
	for range 4 { // the third has nothing to do
		rolled := <-st.called
		made, removed = made+rolled.Made, removed+rolled.Expired
	}
	end()
	for open := true; open; {
		select {
		case <-st.called: // one may have begun
		case err := <-ended:
			open = false
			if err != nil {
				t.Error(err)
			}
		}
	}
	if made != 4 || removed != 3 {
		t.Errorf("%d sums were made and %d windows removed", made, removed)
	}
	want := `level=ERROR msg="cannot sum up or remove windows; trying again" error="the disk is full"
level=INFO msg="summed up windows" made=4 removed=3 paths_removed=0
`
	if d := cmp.Diff(want, log.String()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	tree, err := st.Tree(t.Context(), continuous.Query{})
	if err != nil || tree.Tree.RootTotal() != 11*10_000_000 {
		t.Errorf("the sums have %d ns, not those of 11 samples: %v", tree.Tree.RootTotal(), err)
	}
}

// TestNoWindows: a store that cannot store windows is refused, with what can.
func TestNoWindows(t *testing.T) {
	p, err := New(struct{ store.Store }{mem.New()}, Options{})
	if !errors.Is(err, ErrNoWindows) || !strings.Contains(err.Error(), "--store") {
		t.Errorf("%v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// expiring is a store that records the policy of a roll-up.
type expiring struct {
	*mem.Store
	policy continuous.Policy
}

func (s *expiring) RollUp(_ context.Context, _ time.Time, p continuous.Policy) (continuous.Rolled, error) {
	s.policy = p
	return continuous.Rolled{}, nil
}

// TestShareOfBytes: the share of a service is also that of the bytes of a level.
func TestShareOfBytes(t *testing.T) {
	st := &expiring{Store: mem.New()}
	o := Options{Log: slog.New(slog.DiscardHandler), Policy: continuous.Policy{Bytes: [3]int64{1000, 0, 0}}}
	o.Intake.MaxShare = 30
	keep, err := o.Keep(st)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	if err := keep(ctx, func(context.Context) { end() }); err != nil {
		t.Fatal(err)
	}
	if want := (continuous.Policy{Bytes: o.Policy.Bytes, Share: 30}); !cmp.Equal(st.policy, want) {
		t.Errorf("rolled up with %+v, want %+v", st.policy, want)
	}
}
