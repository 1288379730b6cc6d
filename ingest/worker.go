package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// maxWarmStacks and maxWarmFunctions bound a worker's tables of raw names: about 50 bytes
// per stack and 800 per function. Names that change in every run add new ones with every
// file; the forest of normalised names stays.
const (
	maxWarmStacks    = 1 << 20
	maxWarmFunctions = 1 << 16
)

// worker reads sources. It keeps its tables from one to the next.
type worker struct {
	o      Options
	reader *format.Reader
	forest calltree.Forest

	projections map[string]*calltree.Projection // by root: a normalised thread name, or none
	callers     map[profile.FunctionID]bool     // the functions runN and runParallel among the first searched
	searched    int
	renamed     []renaming                // since the last file
	examples    map[string]map[int32]bool // of each group: functions of which a raw name was given
}

// renaming records that a function is stored under another name.
type renaming struct {
	fn  int32
	raw string
}

func newWorker(o Options) *worker {
	o.Limits.Sums = true // a store keeps sums; single samples are read from the original
	reader := format.NewReader(o.Limits)
	reader.Finish = o.Finish
	return &worker{
		o:           o,
		reader:      reader,
		projections: map[string]*calltree.Projection{},
		callers:     map[profile.FunctionID]bool{},
		examples:    map[string]map[int32]bool{},
	}
}

// read sends one source to the writer as batches. A large archive is split, so that it
// is never in memory as a whole. Errors are results.
func (w *worker) read(j job, out outlet) {
	b := &batch{index: j.index}
	src, err := j.source.Open()
	if err != nil {
		b.items = append(b.items, item{result: Result{File: j.source.Name, Err: err}})
	} else {
		b = w.decode(j, src, b, out)
		src.Close()
	}
	if b == nil {
		return
	}
	if len(b.items) == 0 && !b.more {
		b.items = append(b.items, item{result: Result{File: j.source.Name, Status: Skipped}})
	}
	b.last, b.bytes = true, j.source.Size
	out.send(b)
}

// cool drops the raw names if there are too many. No profile uses them any more.
func (w *worker) cool() {
	if s := w.reader.Symbols(); s.Stacks.Len() > maxWarmStacks || len(s.Functions) > maxWarmFunctions {
		w.reader.Reset()
		clear(w.projections)
	}
}

// decode reads src and returns the last batch, or nil if the import has stopped.
// A reader that panics is a defect, which fails this file and nothing else.
func (w *worker) decode(j job, src io.Reader, b *batch, out outlet) (last *batch) {
	defer func() {
		if p := recover(); p != nil {
			w.reader.Reset()
			clear(w.projections)
			b.items = append(b.items, item{result: Result{File: j.source.Name, Status: Failed,
				Err: fmt.Errorf("%w: the reader panicked, which is a defect of Dendro: %v", profile.ErrMalformed, p)}})
			last = b
		}
	}()
	in := src
	var original *capture
	if w.o.KeepSource {
		original = newCapture(src, w.o.Limits.WithDefaults().Message)
		in = original
	}
	w.reader.Context = out.ctx
	for d, err := range w.reader.Read(j.source.Name, in) {
		if out.full(b) {
			if original != nil {
				b.withoutOriginal()
			}
			if !out.send(b) {
				return nil
			}
			b = &batch{index: j.index, more: true}
		}
		b.items = append(b.items, w.item(j.source, d, err))
		w.cool()
	}
	if original != nil {
		original.attach(b)
	}
	return b
}

// item labels and projects one decoded profile.
func (w *worker) item(s *Source, d format.Decoded, err error) item {
	it := item{result: Result{File: d.Name}}
	it.result.File = cmp.Or(it.result.File, s.Name)
	member := it.result.File != s.Name
	if err != nil {
		it.result.Err = err
		if errors.Is(err, profile.ErrUnrecognized) && (member || !s.Named) {
			it.result.Status = Skipped
		}
		return it
	}
	if !s.Named && jmhReversed(it.result.File) {
		it.result.Status = Skipped
		return it
	}
	for _, warning := range d.Profile.Warnings {
		it.result.Warnings = append(it.result.Warnings, warning.String())
	}
	if err := w.fill(&it, s, d.Profile); err != nil {
		it.result.Err = fmt.Errorf("%s: %w", it.result.File, err)
		it.files = nil
	}
	return it
}

func (w *worker) fill(it *item, s *Source, p *profile.Profile) error {
	label := w.o.Defaults.Or(s.Label)
	if w.o.Layout != nil {
		l, err := w.o.Layout.Label(it.result.File)
		if err != nil {
			return err
		}
		label = label.Or(l)
	}
	label, guesses, warnings := w.guess(label, it.result.File, p)
	var known []Guess
	label, it.added, known = w.o.Environment.label(label, w.o.Defaults.Run.Key != "", p, s.Mtime)
	if p.Dumps && it.added.Key != "" { // a pipeline takes several, and each is a run
		label.Run.Key, it.added.Key = "", ""
		known = slices.DeleteFunc(known, func(g Guess) bool { return g.What == "run" })
	}
	parts := []*profile.Profile{p}
	if label.Run.Key == "" && label.Run.Date.IsZero() {
		parts = p.EachDump() // a run each; a run that somebody names has their sum
	}
	for i, part := range parts {
		run, weak, dated := runOf(label, part, s.Mtime, dumpNumber(it.result.File, part))
		file, err := w.file(it, part, label, run)
		if err != nil {
			return err
		}
		it.files = append(it.files, file)
		if it.weak = weak; i == 0 {
			it.result.Guessed, it.result.Warnings = slices.Concat(guesses, known, dated), append(it.result.Warnings, warnings...)
			it.result.Run, it.result.Date, it.result.Group, it.result.Bench = run.Key, run.Date, label.Group, label.Benchmark
		}
	}
	if len(parts) > 1 {
		it.result.Dumps = len(parts)
	}
	for _, m := range it.files[0].Metrics {
		it.result.Metrics = append(it.result.Metrics, m.Name)
	}
	return nil
}

// file returns what is stored of a profile, and adds it to the result.
func (w *worker) file(it *item, p *profile.Profile, label Label, run testrun.Run) (*store.File, error) {
	file := &store.File{Name: it.result.File, Run: run, Metrics: label.Metrics}
	file.Benchmark.Group, file.Benchmark.Name = label.Group, label.Benchmark
	results, note := w.o.Metrics.Of(label.Group, label.Benchmark)
	file.Metrics = addMetrics(file.Metrics, results)
	if note != "" && it.files == nil {
		it.result.Warnings = append(it.result.Warnings, note)
	}
	tables, err := w.tables(p, label.Type)
	if err != nil {
		return nil, err
	}
	for _, i := range tables {
		rec, err := w.record(p, i, label.Group)
		if err != nil {
			return nil, err
		}
		file.Records = append(file.Records, rec)
		if !slices.Contains(it.result.Types, rec.Type.Name) {
			it.result.Types = append(it.result.Types, rec.Type.Name)
		}
		it.result.Samples += rec.Samples
		it.result.Taken = max(it.result.Taken, rec.Samples)
	}
	return file, nil
}

// tables returns the tables to import, under their names in the store. A text format
// without a value type uses the one set by the user.
func (w *worker) tables(p *profile.Profile, labelled string) ([]int, error) {
	want := w.o.Types
	if len(want) == 0 && labelled != "" {
		want = []string{labelled}
	}
	if untyped(p) && len(want) == 1 {
		p.Tables[0].Type = profile.NamedType(want[0])
		return []int{0}, nil
	}
	if t := &p.Tables[0].Type; len(p.Tables) == 1 && t.Name == "time" && (labelled == profile.CPU || labelled == profile.Wall) {
		t.Name = labelled // the format does not say which time it is
	}
	var tables []int
	var have []string
	for i := range p.Tables {
		have = append(have, p.Tables[i].Type.Name)
		if len(want) == 0 || slices.Contains(want, p.Tables[i].Type.Name) {
			tables = append(tables, i)
		}
	}
	if len(want) == 0 && p.Difference() {
		return nil, errors.New("a differential file has two columns: select one with --type base or --type head")
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("value type %[2]s not found; the file has %[1]s", strings.Join(have, ", "), strings.Join(want, ", "))
	}
	return tables, nil
}

// untyped reports whether the profile comes from a text that has only numbers of
// samples without a type.
func untyped(p *profile.Profile) bool {
	return len(p.Tables) == 1 && p.Tables[0].Type.Original == "" && p.Tables[0].Type.Name == profile.CPUSamples && p.Format == "folded"
}

func (w *worker) record(p *profile.Profile, i int, group string) (*store.Record, error) {
	s := &p.Tables[i]
	rec := &store.Record{
		Type: s.Type, Default: i == p.Default, Profiler: p.Profiler, ProfilerVersion: p.ProfilerVersion, Duration: p.Duration,
		Samples: s.Taken(), Hash: p.Hash(i),
	}
	if w.o.ByThread {
		if err := w.byThread(rec, p, s); err != nil {
			return nil, err
		}
	} else {
		pr := w.projection(p.Symbols, "")
		rec.Self = pr.Vector(s, nil)
		rec.Modes = modes(p, s, pr, func(int) bool { return true })
	}
	rec.RawNames = w.rawNames(group)
	rec.Forest = w.forest.Snapshot()
	return rec, nil
}

// projection returns the projection under a root.
func (w *worker) projection(sym *profile.Symbols, root string) *calltree.Projection {
	pr := w.projections[root]
	if pr == nil {
		at := calltree.NoNode
		if root != "" {
			at = w.forest.Path(calltree.NoNode, w.forest.Function(profile.Function{Name: root}))
		}
		pr = calltree.NewProjection(sym, &w.forest, at, w.function)
		w.projections[root] = pr
	}
	return pr
}

// function returns the forest's function of a raw one, under its stable name, and
// records the raw name if it has more information. A Java name that only changed its
// slashes has not.
func (w *worker) function(f profile.Function) int32 {
	stable := w.o.Normalizer.Function(f)
	fn := w.forest.Function(stable)
	if !inDots(f.Name, stable.Name) {
		w.renamed = append(w.renamed, renaming{fn, f.Name})
	}
	return fn
}

// inDots reports whether a name becomes the other when its slashes become dots.
func inDots(name, dotted string) bool {
	if len(name) != len(dotted) {
		return false
	}
	for i := range len(name) {
		if name[i] != dotted[i] && (name[i] != '/' || dotted[i] != '.') {
			return false
		}
	}
	return true
}

// rawNames returns the first raw names since the last call, of functions without an
// example in the group.
func (w *worker) rawNames(group string) map[int32]string {
	given := w.examples[group]
	if given == nil {
		given = map[int32]bool{}
		w.examples[group] = given
	}
	var raw map[int32]string
	for _, r := range w.renamed {
		if given[r.fn] {
			continue
		}
		given[r.fn] = true
		if raw == nil {
			raw = map[int32]string{}
		}
		raw[r.fn] = r.raw
	}
	clear(w.renamed) // of names
	w.renamed = w.renamed[:0]
	return raw
}

// byThread projects the samples of each thread below its normalised name.
func (w *worker) byThread(rec *store.Record, p *profile.Profile, s *profile.Samples) error {
	if s.Thread == nil {
		return errors.New("--by-thread: the samples of this profile have no threads")
	}
	roots := map[string][]bool{} // thread ids below each root
	for id := range p.Threads {
		name := cmp.Or(normalize.ThreadName(p.Threads[id].Name), "(no thread)")
		if roots[name] == nil {
			roots[name] = make([]bool, len(p.Threads))
		}
		roots[name][id] = true
	}
	var parts []calltree.Vector
	byMode := map[profile.FrameType][]calltree.Vector{}
	for _, name := range slices.Sorted(maps.Keys(roots)) {
		in, pr := roots[name], w.projection(p.Symbols, name)
		keep := func(i int) bool { return in[s.Thread[i]] }
		parts = append(parts, pr.Vector(s, keep))
		for _, m := range modes(p, s, pr, keep) {
			byMode[m.Mode] = append(byMode[m.Mode], m.Vector)
		}
	}
	rec.Self = calltree.AddVectors(parts...)
	for mode := profile.FrameType(0); mode < profile.FrameTypes; mode++ {
		if v := byMode[mode]; v != nil {
			rec.Modes = append(rec.Modes, store.ModeVector{Mode: mode, Vector: calltree.AddVectors(v...)})
		}
	}
	return nil
}

// modes sums the samples for which keep returns true by the compile mode of their
// innermost frames.
func modes(p *profile.Profile, s *profile.Samples, pr *calltree.Projection, keep func(int) bool) []store.ModeVector {
	var present [profile.FrameTypes]bool
	leaf := make([]profile.FrameType, s.Len())
	for i, st := range s.Stack {
		if st != profile.NoStack && keep(i) {
			leaf[i] = p.Symbols.Frames[p.Symbols.Leaf(st)].Type
			present[leaf[i]] = true
		}
	}
	var list []store.ModeVector
	for mode := range profile.FrameType(profile.FrameTypes) {
		if present[mode] && mode.CompileMode() {
			v := pr.Vector(s, func(i int) bool { return leaf[i] == mode && keep(i) })
			if v.Len() > 0 {
				list = append(list, store.ModeVector{Mode: mode, Vector: v})
			}
		}
	}
	return list
}
