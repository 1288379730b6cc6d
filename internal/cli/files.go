package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// input is what `tree`, `top`, `diff` and `export` take: files, or else a
// selection from the store.
type input struct {
	selection
	averaging
	normalize, rawNames bool
	limits              profile.Limits
}

func (in *input) addFlags(c *cobra.Command) {
	in.selection.addFlags(c)
	in.averaging.addFlags(c)
	c.Flags().BoolVar(&in.normalize, "normalize", false, "of files: make names that change from run to run stable (the store's always are)")
	c.Flags().BoolVar(&in.rawNames, "raw-names", false, "from the store: show an example of the name before it was normalised")
	addLimits(c, &in.limits)
}

// typ returns the value of --type for one view.
func (in *input) typ() string {
	if len(in.query.Types) == 1 {
		return in.query.Types[0]
	}
	return ""
}

// recording is a profile to look at, or the sum of several.
type recording struct {
	name     string           // of the file; empty for what comes from the store
	viewer   *calltree.Viewer // of its samples; nil for a sum
	tree     *calltree.Tree   // of a sum
	profiles int              // 1, or how many are in the sum
	interval time.Duration    // between samples, if the file says so
	duration time.Duration    // of all profiles; 0 when not known of each
	metrics  map[string]float64
	warnings []profile.Warning // of the reader
}

// prefix begins a message about the recording.
func (r *recording) prefix() string {
	if r.name == "" {
		return ""
	}
	return words.Clean(r.name) + ": "
}

// tree returns the merged call tree of the selection, and says on stderr what it
// was made of.
func (in *input) tree(ctx context.Context, e *env) (*calltree.Tree, error) {
	q, err := in.resolve()
	if err != nil {
		return nil, err
	}
	var t *calltree.Tree
	err = in.ask(ctx, e, engines.Read, func(st store.Store, _ store.Query) error {
		r, err := in.sum(ctx, e, st, q)
		if err == nil {
			t = r.tree
		}
		return err
	})
	return t, err
}

// recordings returns what the command was asked to look at: every profile in the
// files, or the sum of the selection. Where the view needs single samples, the
// originals of the selected profiles are decoded again.
func (in *input) recordings(ctx context.Context, e *env, files []string, v *viewOptions) ([]recording, error) {
	if err := v.parse(); err != nil {
		return nil, err
	}
	if len(in.query.Types) > 1 && len(files) > 0 {
		return nil, usagef("of files one --type can be shown at a time")
	}
	if len(files) > 0 {
		if in.average != "" {
			return nil, usagef("--average is of a selection from the store, not of files")
		}
		list, err := in.ofNames(ctx, e, files)
		if err != nil {
			return nil, err
		}
		return v.ofThreads(e, list)
	}
	var list []recording
	err := in.ask(ctx, e, engines.Read, func(st store.Store, q store.Query) (err error) {
		list, err = in.ofStore(ctx, e, st, q, v)
		return err
	})
	return list, err
}

// ofStore returns the sum of a selection, or the profiles in its originals.
func (in *input) ofStore(ctx context.Context, e *env, st store.Store, q store.Query, v *viewOptions) ([]recording, error) {
	if flag, needed := v.needsSamples(in.typ()); needed {
		if in.average != "" {
			return nil, usagef("%s needs single samples, which an average has none of", flag)
		}
		list, err := in.originals(ctx, e, st, q)
		if errors.Is(err, store.ErrNoSource) {
			err = fmt.Errorf("%s needs single samples: %w, or give the file", flag, err)
		}
		if err != nil {
			return nil, err
		}
		return v.ofThreads(e, list)
	}
	r, err := in.sum(ctx, e, st, q)
	return []recording{r}, err
}

// sum returns the sum of the selected profiles.
func (in *input) sum(ctx context.Context, e *env, st store.Store, q store.Query) (recording, error) {
	if in.average != "" {
		r, err := in.averaging.recording(ctx, e, st, q)
		if err == nil && in.rawNames {
			r.tree, err = withRawNames(ctx, st, r.tree, q)
		}
		return r, err
	}
	t, profiles, err := store.MergeTrees(ctx, st, q)
	if err != nil {
		return recording{}, err
	}
	if len(profiles) > 1 {
		fmt.Fprintf(e.err, "%d profiles, %s\n", len(profiles), words.Clean(t.Type.String()))
	}
	if in.rawNames {
		if t, err = withRawNames(ctx, st, t, q); err != nil {
			return recording{}, err
		}
	}
	r := recording{tree: t, profiles: len(profiles)}
	r.measure(profiles)
	return r, nil
}

// measure adds up how long the profiles took and what was measured beside them.
// What is missing of one is missing of all.
func (r *recording) measure(profiles []store.Profile) {
	r.metrics = map[string]float64{}
	of := map[string]int{}
	timed := 0
	for i := range profiles {
		p := &profiles[i]
		if p.Duration > 0 {
			timed++
			r.duration += p.Duration
		}
		for _, m := range p.Metrics {
			r.metrics[m.Name] += m.Mean
			of[m.Name]++
		}
	}
	if timed < len(profiles) {
		r.duration = 0
	}
	for name, n := range of {
		if n < len(profiles) {
			delete(r.metrics, name)
		}
	}
}

// originals decodes the source files of the selected profiles, each once, with
// the names that the store gives their functions.
func (in *input) originals(ctx context.Context, e *env, st store.Store, q store.Query) ([]recording, error) {
	if isStrategy(in.typ()) {
		q.Types = nil // it is a way to weigh samples, not a type that profiles have
	}
	profiles, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(profiles) == 0 {
		return nil, store.OneType(nil, q)
	}
	type file struct {
		benchmark testrun.Benchmark
		run       string
	}
	seen := map[file]bool{}
	var list []recording
	for i := range profiles {
		p := &profiles[i]
		key := file{p.Benchmark, p.Run.Key}
		if seen[key] {
			continue
		}
		seen[key] = true
		data, err := st.Source(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		part, err := decodeAlone(p.File, bytes.NewReader(data), in.limits, normalize.New(nil))
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return list, nil
}

// withRawNames replaces the names of a tree's functions by raw examples.
func withRawNames(ctx context.Context, st store.Store, t *calltree.Tree, q store.Query) (*calltree.Tree, error) {
	names := make([]string, len(t.Functions))
	for i := range names {
		names[i] = t.Functions[i].Name
	}
	group := ""
	if len(q.Groups) == 1 {
		group = q.Groups[0]
	}
	raw, err := st.RawNames(ctx, group, names)
	if err != nil {
		return nil, err
	}
	table := *t.Table
	table.Functions = slices.Clone(t.Functions)
	for i := range table.Functions {
		if name, ok := raw[names[i]]; ok {
			table.Functions[i].Name = name
		}
	}
	named := *t
	named.Table = &table
	return &named, nil
}

// decodeFiles reads files into one Symbols and hands every profile in them to
// use. A file that cannot be read is an error, after all others were used.
func decodeFiles(e *env, files []string, limits profile.Limits, use func(name string, p *profile.Profile) error) error {
	sources, err := ingest.Expand(files, e.in)
	errs := []error{err}
	reader := format.NewReader(limits)
	for i := range sources {
		errs = append(errs, decodeSource(&sources[i], reader, func(name string, p *profile.Profile) error {
			warn(e, name, p.Warnings)
			return use(name, p)
		}))
	}
	return errors.Join(errs...)
}

// decodeSource hands every profile of a source to use.
func decodeSource(source *ingest.Source, reader *format.Reader, use func(name string, p *profile.Profile) error) error {
	src, err := source.Open()
	if err != nil {
		return err
	}
	var errs []error
	for d, err := range reader.Read(source.Name, src) {
		if err == nil {
			err = use(d.Name, d.Profile)
		} else if errors.Is(err, profile.ErrUnrecognized) && !source.Named {
			continue
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, src.Close())...)
}

func warn(e *env, name string, list []profile.Warning) {
	for _, w := range list {
		fmt.Fprintf(e.err, "dendro: warning: %s: %s\n", words.Clean(name), words.Clean(w.String()))
	}
}

// ofFiles returns the profiles in the files, each file in Symbols of its own, as
// views want it: ties go by the order of a file's own tables.
func (in *input) ofFiles(e *env, files []string) ([]recording, error) {
	sources, err := ingest.Expand(files, e.in)
	errs := []error{err}
	var names *normalize.Normalizer
	if in.normalize {
		names = normalize.New(nil)
	}
	var list []recording
	for i := range sources {
		part, err := e.decoded(&sources[i], in, names)
		for i := range part {
			warn(e, part[i].name, part[i].warnings)
		}
		list = append(list, part...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no profile in %q", files)
	}
	if len(list) > 1 {
		fmt.Fprintf(e.err, "%d profiles\n", len(list))
	}
	return list, nil
}

// decoded returns the profiles in a source, from those kept of an earlier command
// if there are any.
func (e *env) decoded(source *ingest.Source, in *input, names *normalize.Normalizer) ([]recording, error) {
	key, cacheable := e.kept.key(source, in)
	if list, ok := e.kept.get(key); ok {
		return list, nil
	}
	var list []recording
	var size int64
	err := decodeSource(source, format.NewReader(in.limits), func(name string, p *profile.Profile) error {
		list = append(list, recordingOf(name, p, names))
		size += sizeOf(p)
		return nil
	})
	if err == nil && cacheable {
		e.kept.put(key, list, size)
	}
	return list, err
}

// decodeAlone decodes one file into Symbols of its own.
func decodeAlone(name string, r io.Reader, limits profile.Limits, names *normalize.Normalizer) ([]recording, error) {
	var list []recording
	for d, err := range format.NewReader(limits).Read(name, r) {
		if err != nil {
			return nil, err
		}
		list = append(list, recordingOf(d.Name, d.Profile, names))
	}
	return list, nil
}

func recordingOf(name string, p *profile.Profile, names *normalize.Normalizer) recording {
	if names != nil {
		p = p.Rename(names.Function)
	}
	return recording{name: name, viewer: calltree.NewViewer(p), profiles: 1, interval: p.Interval, duration: p.Duration, warnings: p.Warnings}
}
