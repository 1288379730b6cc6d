package duckdb

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/test/storetest"
)

var firstPush = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// pushWindows stores the windows n … n+4 of a client in one call.
func pushWindows(s *Store, m *storetest.WindowMaker, who, n int) ([]continuous.Outcome, error) {
	var list []*continuous.Window
	for i := n; i < n+5; i++ {
		stack := []string{"main", fmt.Sprint("client", who), fmt.Sprint("f", i%7)}
		list = append(list, m.Window("shop", firstPush.Add(time.Duration(i)*3*time.Minute), []string{"client", fmt.Sprint(who)},
			storetest.Sample{Stack: stack, Value: int64(i) + 1}))
	}
	return s.PutWindows(context.Background(), list)
}

// rollAt rolls up at a time after the first push and keeps raw windows for three hours.
func rollAt(s *Store, after time.Duration) error {
	_, err := s.RollUp(context.Background(), firstPush.Add(after), continuous.Policy{Keep: [3]time.Duration{3 * time.Hour, 48 * time.Hour, 0}})
	return err
}

// windowsChild pushes and rolls up for ever, and prints what is acknowledged.
func windowsChild(s *Store) error {
	var mu sync.Mutex
	for who := range 3 {
		go func() {
			m := storetest.NewWindowMaker()
			for n := 0; ; n += 5 {
				_, err := pushWindows(s, m, who, n)
				mu.Lock()
				if err != nil {
					fmt.Println("error:", err)
				} else {
					fmt.Println("stored", who, n)
				}
				mu.Unlock()
			}
		}()
	}
	for hour := 1; ; hour++ {
		if err := rollAt(s, time.Duration(hour)*time.Hour); err != nil {
			fmt.Println("error:", err)
		}
	}
}

// pushedBy requires that each window of a client is stored once, up to one of them, and
// returns how many there are.
func pushedBy(t *testing.T, s *Store, who int) int {
	t.Helper()
	merged, err := s.Tree(t.Context(), continuous.Query{Matchers: []continuous.Matcher{{Name: "client", Op: continuous.Equal,
		Value: fmt.Sprint(who)}}})
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int64{}, map[string]int64{}
	for i := range merged.Parts {
		want[fmt.Sprintf("main;client%d;f%d", who, i%7)] += i + 1
	}
	for n, self := range merged.Tree.Self {
		if self != 0 {
			got[strings.Join(merged.Tree.Path(int32(n)), ";")] = self
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("client %d, %d windows:\n%s", who, merged.Parts, d)
	}
	return int(merged.Parts)
}

// TestKillWindows kills a process that stores windows, rolls them up and removes old ones,
// at some moment later each time: nothing is counted twice, what was acknowledged is
// there, and the store goes on.
func TestKillWindows(t *testing.T) {
	acknowledged, sums := 0, int64(0)
	for round := range 8 {
		path := filepath.Join(t.TempDir(), "store.duckdb")
		cmd, lines := startChild(t, "windows", path)
		killed := time.AfterFunc(time.Duration(100+round*123)*time.Millisecond, func() { cmd.Process.Kill() })
		stored := map[int]int{}
		for lines.Scan() {
			who, n := 0, 0
			if _, err := fmt.Sscanf(lines.Text(), "stored %d %d", &who, &n); err != nil {
				t.Fatal(lines.Text())
			}
			stored[who] = n + 5
			acknowledged++
		}
		killed.Stop()
		cmd.Wait()
		s := mustOpen(t, path, Options{})
		m := storetest.NewWindowMaker()
		var now [3]int
		for who := range 3 {
			n := pushedBy(t, s, who)
			if n < stored[who] || n > stored[who]+5 || n%5 != 0 {
				t.Errorf("round %d: %d windows of client %d, %d were acknowledged", round, n, who, stored[who])
			}
			if _, err := pushWindows(s, m, who, n); err != nil {
				t.Fatal(err)
			}
			now[who] = n + 5
		}
		for _, after := range []time.Duration{0, 50 * time.Hour, 1000 * time.Hour} {
			if err := rollAt(s, after); err != nil {
				t.Fatal(err)
			}
			for who := range 3 {
				if n := pushedBy(t, s, who); n != now[who] {
					t.Errorf("round %d, rolled up after %s: %d windows of client %d, want %d", round, after, n, who, now[who])
				}
			}
		}
		stats, err := s.WindowStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sums += stats.Windows[continuous.Day]
		s.Close()
	}
	if acknowledged < 50 || sums == 0 {
		t.Errorf("%d calls were acknowledged and %d days made: the test shows nothing", acknowledged, sums)
	}
}
