package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store/iceberg"
	"github.com/dendroprof/dendro/test/lake/fleet"
	"github.com/dendroprof/dendro/test/program"
)

// TestKillCompaction kills the compaction of a lake of hours when it has written files and cannot commit. Nothing is lost or
// there twice then, nor after the next one.
func TestKillCompaction(t *testing.T) {
	dir := t.TempDir()
	hours, err := iceberg.OpenHours(t.Context(), filepath.Join(dir, "lake"), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer hours.Close()
	worker := fleet.New(0, 3, 1)
	for worker.Handover < 30 { // of two days
		worker.Handover++
		if _, err := hours.Publish(t.Context(), 0, worker, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	files := func() int {
		list, err := filepath.Glob(filepath.Join(dir, "lake", "*", "data", "*", "*", "*.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	answers := func() (text string) {
		for _, args := range [][]string{{"tree", "--service", "service-00001"}, {"top", "--service", "service-00002"},
			{"sql", "SELECT count(*) AS n, sum(windows)::BIGINT AS windows, sum(sum)::BIGINT AS sum FROM series_hours"},
			{"sql", "SELECT count(*) AS n, sum(self)::BIGINT AS self FROM series_samples"}} {
			text += program.Must(t, dir, append(args, "--store", "lake:lake", "-o", "json")...)
		}
		return text
	}
	want := answers()
	catalog, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "lake", "catalog.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer catalog.Close()
	c := program.Command(dir, "compact", "--store", "lake:lake")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	written := files()
	for deadline := time.Now().Add(time.Minute); files() == written && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	lock, err := catalog.Begin() // so that it cannot commit what it writes
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || files() == written {
		t.Fatalf("the compaction was not killed in the middle: %d files, %d before, %v", files(), written, err)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := answers(); got != want {
		t.Errorf("after the kill:\n%s, want\n%s", got, want)
	}
	program.Must(t, dir, "compact", "--store", "lake:lake")
	made := files()
	program.Must(t, dir, "compact", "--store", "lake:lake")
	if got := answers(); got != want || files() != made {
		t.Errorf("after the next compactions, with %d and %d files:\n%s, want\n%s", made, files(), got, want)
	}
}
