package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dendroprof/dendro/app/internal/cli/command"
)

// batch runs lines and returns their answers.
func batch(t *testing.T, lines string) []batchAnswer {
	t.Helper()
	var out bytes.Buffer
	if err := runBatch(context.Background(), &command.Env{In: strings.NewReader(lines), Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	var answers []batchAnswer
	for line := range strings.Lines(out.String()) {
		var a batchAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	return answers
}

func TestBatchAnswersAsTheCommandItself(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.folded")
	write(t, file, "main;work 3\nmain;loop 1\n")
	commands := [][]string{
		{"tree", file, "-o", "json"},
		{"tree", file, "--invert"},
		{"tree", file, "--transform", "drop-function:loop", "-o", "tsv"},
		{"tree", file, "-o", "json"}, // what a transform before did is not left behind
		{"top", file, "--normalize", "-o", "tsv"},
		{"diff", file, file, "-o", "json"},
		{"tree", file, "--transform", "nonsense"},
	}
	var lines strings.Builder
	for range 2 { // the second time from what is kept
		for _, args := range commands {
			line, _ := json.Marshal(args)
			fmt.Fprintf(&lines, "%s\n", line)
		}
	}
	for i, got := range batch(t, lines.String()) {
		var out, errOut bytes.Buffer
		status := Main(commands[i%len(commands)], strings.NewReader(""), &out, &errOut)
		if want := (batchAnswer{status, out.String(), errOut.String()}); got != want {
			t.Errorf("%v: got %v, want %v", commands[i%len(commands)], got, want)
		}
	}
}

func TestBatchReadsAChangedFileAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.folded")
	write(t, file, "old 1\n")
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	go func() {
		out.CloseWithError(runBatch(context.Background(), &command.Env{In: in, Out: out, Err: io.Discard}))
	}()
	scan := bufio.NewScanner(answers)
	for _, want := range []string{"old", "new"} {
		fmt.Fprintf(lines, "[\"tree\",%q]\n", file)
		if !scan.Scan() || !strings.Contains(scan.Text(), want) {
			t.Errorf("%s: want %s", scan.Text(), want)
		}
		write(t, file, "new 1\n")
		if err := os.Chtimes(file, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	lines.Close()
	if scan.Scan() {
		t.Errorf("one more answer: %s", scan.Text())
	}
}

func TestBatchSkipsALineThatIsTooLong(t *testing.T) {
	long := `["` + strings.Repeat("x", batchLine) + `"]`
	answers := batch(t, long+"\n[\"version\"]")
	if len(answers) != 2 || answers[0].Status != exitUsage || answers[1].Status != exitFine {
		t.Errorf("%d answers", len(answers))
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
