package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/render"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
)

// progress shows how an import goes: a bar on a terminal, a JSON line per file,
// or only what failed.
type progress struct {
	mu       sync.Mutex // readers report while results are printed
	e        *env
	json     bool
	bar      bool
	unit     string // of files and allFiles, for people
	began    time.Time
	drawn    time.Time
	files    int
	bytes    int64
	read     int64 // bytes of files that are being read or were
	allFiles int
	allBytes int64
	failures []ingest.Result
	labels   []ingest.Result // of a dry run: of all files; else of those with a guess, until each guess is known
	dryRun   bool
	certain  bool // labels of files come from the recording: nothing to print
	guesses  map[ingest.Guess]bool
	errors   map[string]int    // printed and counted, by kind
	example  map[string]string // of each kind
}

// A file of at most smallFile bytes has no bar of its own, and reading draws none in the
// first patience: most ends before anybody waits.
const (
	smallFile = 1 << 20
	patience  = time.Second
)

// newProgress returns the progress of sources; with a bar, they report what is read of them.
func newProgress(e *env, how string, sources []ingest.Source) *progress {
	p := &progress{e: e, unit: "files", began: time.Now(), allFiles: len(sources), failures: []ingest.Result{}, labels: []ingest.Result{},
		guesses: map[ingest.Guess]bool{}, errors: map[string]int{}, example: map[string]string{}}
	p.json = how == "json"
	for i := range sources {
		p.allBytes += sources[i].Size
	}
	p.bar = how == "bar" || how == "auto" && !e.quiet && terminal(e.err) && (len(sources) > 1 || p.allBytes > smallFile)
	if p.bar {
		metered(sources, p.reads)
	}
	return p
}

// newCopyProgress is newProgress of what store.Copy tells.
func newCopyProgress(e *env, how string) *progress {
	p := newProgress(e, how, nil)
	p.unit, p.bar = "profiles", how == "bar" || how == "auto" && !e.quiet && terminal(e.err)
	return p
}

func addProgressFlag(c *cobra.Command, how *string) {
	*how = "auto"
	c.Flags().Var(choose(how, "auto", "bar", "json", "none"), "progress", "`how` to report progress: auto (a bar on a terminal), bar, json (one line per committed file), none")
}

// reads counts bytes that were read.
func (p *progress) reads(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read += int64(n); time.Since(p.began) > patience {
		p.draw()
	}
}

// copied counts what store.Copy has told.
func (p *progress) copied(c store.Copied) {
	p.files, p.allFiles = c.Done, c.All
	p.draw()
}

// report is called once per result, after its commit.
func (p *progress) report(r ingest.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		p.e.writeJSON(r) //nolint:errcheck // a reader that has gone away ends the process at the next write
	}
	if r.Status == ingest.Failed {
		p.failures = append(p.failures, r)
		p.say(r.File, r.Err)
	} else if r.Status != ingest.Skipped {
		p.label(r)
	}
	for _, w := range r.Warnings {
		if !p.json {
			p.clear()
			fmt.Fprintf(p.e.err, "dendro: warning: %s: %s\n", words.Clean(r.File), words.Clean(w))
		}
	}
	if r.Last {
		p.files++
		p.bytes += r.Bytes
		p.draw()
	}
}

// label keeps the labels of a file that a dry run lists, or that an example of a guess
// needs.
func (p *progress) label(r ingest.Result) {
	keep := p.dryRun
	for _, g := range r.Guessed {
		keep = keep || !p.guesses[g]
		p.guesses[g] = true
	}
	if keep {
		p.labels = append(p.labels, r)
	}
}

// maxAlike is how many errors of one kind are printed; the others are counted.
const maxAlike = 3

// varying are the parts of messages that differ between errors of one kind.
var varying = regexp.MustCompile(`"[^"]*"|\d+`)

// say prints an error behind the name of its file, once.
func (p *progress) say(file string, err error) {
	text := err.Error()
	kind := varying.ReplaceAllString(strings.ReplaceAll(text, file, ""), "…")
	if errors.Is(err, store.ErrConflict) {
		kind = store.ErrConflict.Error()
	}
	if p.errors[kind]++; p.errors[kind] > maxAlike {
		return
	}
	if !strings.HasPrefix(text, file) {
		text = file + ": " + text
	}
	p.example[kind] = text
	p.clear()
	fmt.Fprintln(p.e.err, "dendro: "+escapeLines(text))
}

const barWidth = 28

func (p *progress) draw() {
	if !p.bar || time.Since(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn = time.Now()
	done := float64(p.files) / float64(max(1, p.allFiles))
	if p.allBytes > 0 {
		done = min(1, float64(max(p.bytes, p.read))/float64(p.allBytes))
	}
	elapsed := time.Since(p.began)
	left := "…"
	if done > 0 {
		left = rounded(time.Duration(float64(elapsed) * (1 - done) / done))
	}
	fill := int(done * barWidth)
	bar := strings.Repeat("█", fill) + strings.Repeat("░", barWidth-fill)
	if p.allFiles == 1 {
		size, _ := words.Amount(float64(p.allBytes), "bytes")
		fmt.Fprintf(p.e.err, "\r\x1b[K%s %3.0f%% of %s  %s left", bar, done*100, size, left)
		return
	}
	fmt.Fprintf(p.e.err, "\r\x1b[K%s %3.0f%%  %d/%d %s  %.0f/s  %s left", bar,
		done*100, p.files, p.allFiles, p.unit, float64(p.files)/max(0.001, elapsed.Seconds()), left)
}

func (p *progress) clear() {
	if p.bar && !p.drawn.IsZero() {
		fmt.Fprint(p.e.err, "\r\x1b[K")
	}
}

// end prints the number of repeated errors, and the guessed labels.
func (p *progress) end() {
	p.clear()
	for _, kind := range slices.Sorted(maps.Keys(p.errors)) {
		if n := p.errors[kind] - maxAlike; n > 0 {
			fmt.Fprintf(p.e.err, "dendro: %s more like: %s (--progress json prints all)\n", words.Count(n), escapeLines(p.example[kind]))
		}
	}
	if text := render.Guesses(p.labels); text != "" && !p.json && !p.certain {
		p.e.notes([]string{text})
	}
}

// rounded prints a duration with about two digits.
func rounded(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= 10*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return d.String()
}
