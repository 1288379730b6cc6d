package command

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

// Progress shows how an import goes: a bar on a terminal, a JSON line per file,
// or only what failed.
type Progress struct {
	mu       sync.Mutex // readers report while results are printed
	e        *Env
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
	Failures []ingest.Result
	Labels   []ingest.Result // of a dry run: of all files; else of those with a guess, until each guess is known
	DryRun   bool
	Certain  bool // labels of files come from the recording: nothing to print
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

// NewProgress returns the progress of reading sources. If it has a bar, it counts the bytes that are read.
func NewProgress(e *Env, how string, sources []ingest.Source) *Progress {
	p := &Progress{e: e, unit: "files", began: time.Now(), allFiles: len(sources), Failures: []ingest.Result{}, Labels: []ingest.Result{},
		guesses: map[ingest.Guess]bool{}, errors: map[string]int{}, example: map[string]string{}}
	p.json = how == "json"
	for i := range sources {
		p.allBytes += sources[i].Size
	}
	p.bar = how == "bar" || how == "auto" && !e.Quiet && Terminal(e.Err) && (len(sources) > 1 || p.allBytes > smallFile)
	if p.bar {
		metered(sources, p.reads)
	}
	return p
}

// NewCopyProgress is newProgress of what store.Copy tells.
func NewCopyProgress(e *Env, how string) *Progress {
	p := NewProgress(e, how, nil)
	p.unit, p.bar = "profiles", how == "bar" || how == "auto" && !e.Quiet && Terminal(e.Err)
	return p
}

// AddProgressFlag adds --progress to a command.
func AddProgressFlag(c *cobra.Command, how *string) {
	*how = "auto"
	c.Flags().Var(Choice(how, "auto", "bar", "json", "none"), "progress", "`how` to report progress: auto (a bar on a terminal), bar, json (one line per committed file), none")
}

// reads counts bytes that were read.
func (p *Progress) reads(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read += int64(n); time.Since(p.began) > patience {
		p.draw()
	}
}

// Copied counts what store.Copy has told.
func (p *Progress) Copied(c store.Copied) {
	p.files, p.allFiles = c.Done, c.All
	p.draw()
}

// Report is called once per result, after its commit.
func (p *Progress) Report(r ingest.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		p.e.WriteJSON(r) //nolint:errcheck // a reader that has gone away ends the process at the next write
	}
	if r.Status == ingest.Failed {
		p.Failures = append(p.Failures, r)
		p.say(r.File, r.Err)
	} else if r.Status != ingest.Skipped {
		p.label(r)
	}
	for _, w := range r.Warnings {
		if !p.json {
			p.Clear()
			fmt.Fprintf(p.e.Err, "dendro: warning: %s: %s\n", words.Clean(r.File), words.Clean(w))
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
func (p *Progress) label(r ingest.Result) {
	keep := p.DryRun
	for _, g := range r.Guessed {
		keep = keep || !p.guesses[g]
		p.guesses[g] = true
	}
	if keep {
		p.Labels = append(p.Labels, r)
	}
}

// maxAlike is how many errors of one kind are printed; the others are counted.
const maxAlike = 3

// varying are the parts of messages that differ between errors of one kind.
var varying = regexp.MustCompile(`"[^"]*"|\d+`)

// say prints an error behind the name of its file, once.
func (p *Progress) say(file string, err error) {
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
	p.Clear()
	fmt.Fprintln(p.e.Err, "dendro: "+EscapeLines(text))
}

const barWidth = 28

func (p *Progress) draw() {
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
		left = Rounded(time.Duration(float64(elapsed) * (1 - done) / done))
	}
	fill := int(done * barWidth)
	bar := strings.Repeat("█", fill) + strings.Repeat("░", barWidth-fill)
	if p.allFiles == 1 {
		size, _ := words.Amount(float64(p.allBytes), "bytes")
		fmt.Fprintf(p.e.Err, "\r\x1b[K%s %3.0f%% of %s  %s left", bar, done*100, size, left)
		return
	}
	fmt.Fprintf(p.e.Err, "\r\x1b[K%s %3.0f%%  %d/%d %s  %.0f/s  %s left", bar,
		done*100, p.files, p.allFiles, p.unit, float64(p.files)/max(0.001, elapsed.Seconds()), left)
}

// Clear erases the bar before something else is printed.
func (p *Progress) Clear() {
	if p.bar && !p.drawn.IsZero() {
		fmt.Fprint(p.e.Err, "\r\x1b[K")
	}
}

// End prints the number of repeated errors, and the guessed labels.
func (p *Progress) End() {
	p.Clear()
	for _, kind := range slices.Sorted(maps.Keys(p.errors)) {
		if n := p.errors[kind] - maxAlike; n > 0 {
			fmt.Fprintf(p.e.Err, "dendro: %s more like: %s (--progress json prints all)\n", words.Count(n), EscapeLines(p.example[kind]))
		}
	}
	if text := render.Guesses(p.Labels); text != "" && !p.json && !p.Certain {
		p.e.Notes([]string{text})
	}
}

// Rounded prints a duration with about two digits.
func Rounded(d time.Duration) string {
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
