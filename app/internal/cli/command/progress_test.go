package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/profile"
)

// TestProgressWhileReading reads one large file, whose bar moves with what is read of it.
func TestProgressWhileReading(t *testing.T) {
	name := filepath.Join(t.TempDir(), "large.folded")
	if err := os.WriteFile(name, []byte(strings.Repeat("main;handle 1\n", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	sources := []ingest.Source{ingest.FileSource(name)}
	p := NewProgress(&Env{Err: &said}, "bar", sources)
	p.began = time.Now().Add(-2 * patience) // people have waited already
	if err := decodeSource(&sources[0], format.NewReader(profile.Limits{}), func(string, *profile.Profile) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if p.read != sources[0].Size || !strings.Contains(said.String(), "% of 2.67 MiB") {
		t.Errorf("%d of %d bytes: %q", p.read, sources[0].Size, said.String())
	}
	p.Clear()
	if !strings.HasSuffix(said.String(), "\r\x1b[K") {
		t.Errorf("the bar stays: %q", said.String())
	}
}
