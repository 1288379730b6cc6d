package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// feedIntake gives snapshots n … n+9 of a segment and a segment to a stream, and
// returns when they are stored. Noise makes the stacks longer.
func feedIntake(in *traceprof.Intake, who string, n int32, noise string) error {
	ctx := context.Background()
	s := in.Stream()
	for i := range int32(10) {
		stack := fmt.Sprintf("main %s.%s f%d", who, noise, (n+i)%7)
		err := s.Snapshot(ctx, &traceprof.Snapshot{Task: []byte("task of " + who), Segment: []byte("segment"), Sequence: n + i,
			Time: int64(n + i), Stack: []byte(stack),
			Frames: func(stack []byte, yield func([]byte) bool) error {
				for frame := range strings.FieldsSeq(string(stack)) {
					yield([]byte(frame))
				}
				return nil
			}})
		if err != nil {
			return err
		}
	}
	if err := s.Segment(ctx, traceprof.Segment{ID: fmt.Sprint(who, ".", n), Start: 1, Raw: []byte(noise)}); err != nil {
		return err
	}
	return s.Wait(ctx)
}

// intakeChild takes in for ever and prints what is acknowledged.
func intakeChild(st *Store) error {
	in := traceprof.NewIntake(st, traceprof.IntakeOptions{MaxDelay: 5 * time.Millisecond})
	var mu sync.Mutex
	for who := range 4 {
		go func() {
			for n := int32(0); ; n += 10 {
				err := feedIntake(in, fmt.Sprint("c", who), n, "x")
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
	time.Sleep(time.Hour)
	return nil
}

// storedOf checks that the snapshots of a client are those that it gave, without
// a gap, and returns how many there are.
func storedOf(t *testing.T, s *Store, who, noise string) int32 {
	t.Helper()
	n := int32(0)
	for v, err := range s.Snapshots(t.Context(), traceprof.SnapshotQuery{Tasks: []string{"task of " + who}}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range v.Path {
			got, want := strings.Join(v.Stacks.Names(p), " "), fmt.Sprintf("main %s.%s f%d", who, noise, i%7)
			if v.Sequence[i] != int32(i) || v.Time[i] != int64(i) || got != want {
				t.Fatalf("%s: snapshot %d: sequence %d, time %d, %s", who, i, v.Sequence[i], v.Time[i], got)
			}
		}
		n = int32(v.Len())
	}
	return n
}

// TestKillIntake kills a process that takes in, at some moment later each time:
// what was acknowledged is there, and the store goes on.
func TestKillIntake(t *testing.T) {
	acknowledged := 0
	for round := range 6 {
		path := filepath.Join(t.TempDir(), "store.duckdb")
		cmd, lines := startChild(t, "intake", path)
		killed := time.AfterFunc(time.Duration(60+round*97)*time.Millisecond, func() { cmd.Process.Kill() })
		stored := map[int]int32{}
		for lines.Scan() {
			who, n := 0, int32(0)
			if _, err := fmt.Sscanf(lines.Text(), "stored %d %d", &who, &n); err != nil {
				t.Fatal(lines.Text())
			}
			stored[who] = n + 10
			acknowledged++
		}
		killed.Stop()
		cmd.Wait()
		s := mustOpen(t, path, Options{})
		for who := range 4 {
			name := fmt.Sprint("c", who)
			n := storedOf(t, s, name, "x")
			if n < stored[who] || n > stored[who]+10 || n%10 != 0 {
				t.Errorf("round %d: %d snapshots of client %d, %d were acknowledged", round, n, who, stored[who])
			}
			for k := int32(0); k < stored[who]; k += 10 {
				if list, err := s.Segments(t.Context(), traceprof.SegmentQuery{IDs: []string{fmt.Sprint(name, ".", k)}}); err != nil || len(list) != 1 {
					t.Fatalf("round %d: segment %d of client %d: %v, %v", round, k, who, list, err)
				}
			}
			in := traceprof.NewIntake(s, traceprof.IntakeOptions{})
			if err := feedIntake(in, name, n, "x"); err != nil {
				t.Fatal(err)
			}
			if err := in.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := storedOf(t, s, name, "x"); again != n+10 {
				t.Errorf("round %d: %d snapshots, then %d", round, n, again)
			}
		}
		s.Close()
	}
	if acknowledged == 0 {
		t.Error("no child acknowledged anything")
	}
}

// fullIntakeChild takes in until its files may not grow any more, then lets them.
func fullIntakeChild(st *Store) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	whole := limit
	limit.Cur = 3 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	in := traceprof.NewIntake(st, traceprof.IntakeOptions{MaxDelay: time.Millisecond})
	noise, n := strings.Repeat("0123456789", 20_000), int32(0)
	refused := 0
	for ; refused < 3 && n < 10_000; n += 10 {
		err := feedIntake(in, "c", n, noise)
		switch {
		case err == nil:
			fmt.Println("stored", n)
		case errors.Is(err, store.ErrNoSpace):
			refused++
			n -= 10
		default:
			return err
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &whole); err != nil {
		return err
	}
	for range 5 {
		if err := feedIntake(in, "c", n, noise); err != nil {
			return fmt.Errorf("when there is space again: %w", err)
		}
		fmt.Println("stored", n)
		n += 10
	}
	fmt.Println("refused", refused)
	if err := in.Close(context.Background()); err != nil {
		return err
	}
	return st.Close()
}

// TestFullIntake fills a disk under an Intake and makes room again: what cannot
// be stored is refused, and later batches are stored in the same process.
func TestFullIntake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.duckdb")
	_, lines := startChild(t, "intake on a full disk", path)
	stored, refused := int32(-10), 0
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "stored %d", &stored); n == 1 {
			continue
		}
		if _, err := fmt.Sscanf(lines.Text(), "refused %d", &refused); err != nil {
			t.Fatal(lines.Text())
		}
	}
	if refused != 3 {
		t.Fatalf("%d batches were refused", refused)
	}
	s := mustOpen(t, path, Options{})
	if n := storedOf(t, s, "c", strings.Repeat("0123456789", 20_000)); n != stored+10 {
		t.Errorf("%d snapshots, %d were acknowledged", n, stored+10)
	}
}
