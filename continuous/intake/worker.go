package intake

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/cost"
	"github.com/dendroprof/dendro/profile"
)

// Worker decodes profiles and makes windows of them, for one push at a time. It keeps its
// tables from push to push: a known path costs one array look-up.
type Worker struct {
	in       *Intake
	symbols  *profile.Symbols
	decoders map[string]profile.Decoder

	forest     *calltree.Forest // that projection maps to
	projection *calltree.Projection
	depth      []int32                   // of each stack, in frames
	cuts       map[profile.StackID]int32 // paths of the callers in stacks deeper than MaxDepth
	entries    int64                     // bytes that a profile took for its entries, at most
	names      int                       // bytes of names in symbols, of the first counted functions
	counted    int
	rows       []row              // scratch
	own        []continuous.Label // scratch
	lines      *lineSet           // nil: nobody takes lines
	lined      []linedTable       // of the push
	lineRows   []lineRow          // of lined

	// Of the push:
	cost    *cost.Account
	client  string
	windows []*continuous.Window
	held    []*active        // their places
	bytes   map[string]int64 // about as many as they take, by service
}

// maxWarmStacks, maxWarmFunctions and maxWarmNames bound the tables of raw names: about 50 bytes
// per stack and 800 per function, and bytes of long names; maxWarmEntries bounds the bytes that
// decoders keep of the entries of a profile.
const (
	maxWarmStacks    = 1 << 19
	maxWarmFunctions = 1 << 16
	maxWarmNames     = 64 << 20
	maxWarmEntries   = 32 << 20
)

// maxNewFrames and maxNewStacks bound what one push may add to them: a stack takes one byte of
// it and a hundred of memory. maxCutFrames bounds the frames of its stacks that are cut: one byte of it
// may be a further stack of MaxDepth frames.
const (
	maxNewFrames = 1 << 20
	maxNewStacks = 1 << 21
	maxCutFrames = 1 << 26
)

func (w *Worker) reset() {
	*w = Worker{in: w.in, symbols: profile.NewSymbols(), decoders: map[string]profile.Decoder{},
		cost: w.cost, client: w.client, windows: w.windows, held: w.held, bytes: w.bytes, lines: w.lines}
}

// cool drops the tables if they are too large, and what refers to the last push.
func (w *Worker) cool() {
	w.windows, w.held, w.bytes, w.cost = nil, nil, nil, nil
	for ; w.counted < len(w.symbols.Functions); w.counted++ {
		f := &w.symbols.Functions[w.counted]
		w.names += len(f.Name) + len(f.SystemName) + len(f.Module) + len(f.File) + len(f.Language)
	}
	if w.symbols.Stacks.Len() > maxWarmStacks || len(w.symbols.Functions) > maxWarmFunctions || w.names > maxWarmNames ||
		w.entries > maxWarmEntries {
		w.reset()
	}
	if cap(w.rows) > maxWarmStacks {
		w.rows, w.lineRows = nil, nil
	}
	clear(w.lined[:cap(w.lined)])
	clear(w.own[:cap(w.own)])
}

// MaxProfile returns the maximum size of a decompressed profile, in bytes.
func (w *Worker) MaxProfile() int64 { return w.in.opts.Limits.Message }

// Expand counts bytes that a caller is about to make of what was sent, besides a profile, and
// fails if they are too many for one push.
func (w *Worker) Expand(bytes int64) error { return w.spend(cost.Expanded, bytes) }

// spend counts what a push costs before it is spent.
func (w *Worker) spend(u cost.Unit, n int64) error {
	err := w.cost.Spend(u, n)
	if exceeded, ok := errors.AsType[*cost.Exceeded](err); ok {
		return &Refusal{over: *exceeded, Reason: "size"}
	}
	return err
}

// Decode decodes a profile with the worker's decoder of that name, which make makes. The
// profile is valid until the push ends.
func (w *Worker) Decode(name string, content []byte, makeDecoder func() profile.Decoder) (p *profile.Profile, err error) {
	err = w.Read(name, int64(len(content)), makeDecoder, func(d profile.Decoder, s *profile.Symbols, l profile.Limits) (err error) {
		p, err = d.Decode(bytes.NewBuffer(content), s, l)
		return err
	})
	return p, err
}

// Read is Decode for decoders that return something else: it calls read with the worker's
// decoder, for a content of size bytes, and with the symbols and limits to decode with.
func (w *Worker) Read(name string, size int64, makeDecoder func() profile.Decoder,
	read func(profile.Decoder, *profile.Symbols, profile.Limits) error) error {
	d := w.decoders[name]
	if d == nil {
		d = makeDecoder()
		w.decoders[name] = d
	}
	limits := w.in.opts.Limits.WithDefaults()
	if size > limits.Message {
		return TooLarge(size, limits.Message)
	}
	if err := w.spend(cost.Read, size); err != nil {
		return err
	}
	w.symbols.Limit(maxNewFrames, maxNewStacks)
	full := roomFree + roomRatio*size
	left := &room{full}
	limits.Room = left
	err := read(d, w.symbols, limits)
	w.entries = max(w.entries, full-left.left)
	if w.symbols.Full() {
		err = fmt.Errorf("%w: a push has at most %d functions and frames, and %d call paths", profile.ErrTooLarge, maxNewFrames, maxNewStacks)
		w.reset()
	}
	if err != nil && errors.Is(err, profile.ErrTooLarge) {
		return &tooLarge{err}
	}
	return err
}

// room is what a reader may take in memory besides functions, frames, stacks and samples: so many
// times the bytes of the content, and something for small ones. Large profiles of programs take three
// times their bytes.
type room struct{ left int64 }

const (
	roomFree  = 64 << 20
	roomRatio = 4
)

// Take counts bytes of memory. It implements the Room of profile.Limits.
func (r *room) Take(n int64) error {
	if r.left -= n; r.left < 0 {
		return profile.OutOfRoom(roomRatio)
	}
	return nil
}

// tooLarge is an error of a reader. It names the flag of this server, where that has one, in
// place of that of the importer.
type tooLarge struct{ error }

func (e *tooLarge) Unwrap() error { return e.error }

// Error returns the text of the error.
func (e *tooLarge) Error() string { return pushFlags.Replace(e.error.Error()) }

var pushFlags = strings.NewReplacer("--max-message", "--continuous-max-profile", "--max-size", "--continuous-max-profile",
	" (raise it with --max-depth)", "", " (raise it with --max-frames)", "", " (raise it with --max-line)", "")

// Profile is a decoded profile to add.
type Profile struct {
	*profile.Profile
	Service string
	Default bool              // nobody gave Service: a label service.name of a sample replaces it
	Labels  continuous.Labels // of the request, from Labels; they win over those of samples
	Start   time.Time
	Length  time.Duration

	// Type names table i; false: the table is not kept.
	Type func(i int) (continuous.Type, bool)
	// Scale is what values of table i are multiplied by; nil: 1.
	Scale func(i int) int64

	ID string // of the push, if it has one: pushes with different ids are never repeats
	// Arrival says that Start is when the push arrived. With an ID it is found when it is
	// sent again, see continuous.Window.Untimed; without one every push counts.
	Arrival bool
	Bytes   int64 // as received, for the rate
}

// Add makes windows of a profile: one of each of its types and of each set of labels of its
// samples.
func (w *Worker) Add(p *Profile) (err error) {
	in := w.in
	base, err := in.identity(p.Service, p.Labels)
	if err != nil {
		return err
	}
	now := in.opts.Now()
	most, setting := in.opts.MaxAge, "--continuous-max-age"
	if aging, ok := in.st.(continuous.Aging); ok {
		if limit, raises := aging.MaxAge(); limit > 0 && (most <= 0 || limit < most) {
			most, setting = limit, raises
		}
	}
	if most > 0 && p.Start.Add(p.Length).Before(now.Add(-most)) {
		return refusal("age", "age of a window in seconds", int64(now.Sub(p.Start.Add(p.Length)).Seconds()), int64(most.Seconds()),
			setting).of(base.Service)
	}
	if wait := in.series.spend(base.Service, p.Bytes, now); wait > 0 {
		return refusal("rate", "bytes per second of a service", p.Bytes, in.opts.MaxRate,
			"--continuous-max-rate").of(base.Service).later(max(wait, time.Second))
	}
	if err := in.share(base.Service, w.bytes[base.Service]); err != nil {
		return err
	}
	sets, err := w.sets(p, base)
	if err != nil {
		return err
	}
	in.paths.mu.Lock()
	defer in.paths.mu.Unlock()
	w.follow()
	var made []*continuous.Window
	held, lined := len(w.held), len(w.lined)
	defer func() {
		if err != nil { // other profiles of the push may be stored: these places are not theirs
			in.series.settle(w.held[held:], false, now)
			w.held, w.lined = w.held[:held], w.lined[:lined]
		}
	}()
	for i := range p.Tables {
		typ, ok := p.Type(i)
		if !ok {
			continue
		}
		if n := (&continuous.Series{Type: typ}).Bytes(); n > MaxType {
			return &invalid{fmt.Sprintf("the names and units of a type have more than %d bytes", MaxType)}
		}
		scale := int64(1)
		if p.Scale != nil {
			scale = p.Scale(i)
		}
		list, err := w.table(p, i, typ, scale, sets, now)
		if err != nil {
			return err
		}
		made = append(made, list...)
	}
	snapshot := w.forest.Snapshot()
	for _, win := range made {
		win.Forest = snapshot
		if err := win.Check(); err != nil { // one of them would fail the whole commit
			return &invalid{err.Error()}
		}
	}
	for _, win := range made {
		w.bytes[win.Series.Service] += windowBytes(win)
	}
	w.windows = append(w.windows, made...)
	return nil
}

// follow makes the worker project to the current forest, and begins another forest if that
// became too large. The caller holds the lock of the forest.
func (w *Worker) follow() {
	paths := &w.in.paths
	if paths.current.Paths.Len() > w.in.opts.MaxPaths || paths.text > w.in.opts.MaxText {
		paths.current, paths.text = &calltree.Forest{}, 0
	}
	if w.forest != paths.current {
		w.forest, w.cuts = paths.current, map[profile.StackID]int32{}
		w.projection = calltree.NewProjection(w.symbols, w.forest, calltree.NoNode, func(f profile.Function) int32 {
			return w.function(f)
		})
	}
}

// MaxType is the maximum of bytes of a type: its names and units.
const MaxType = 1 << 10

// maxText is the maximum of bytes of what a function has besides its name, which the
// normalizer cuts.
const maxText = 1 << 10

// function returns the forest's function of one as it was pushed.
func (w *Worker) function(f profile.Function) int32 {
	f = w.in.opts.Normalizer.Function(f)
	for _, text := range []*string{&f.SystemName, &f.Module, &f.File, &f.Language} {
		if len(*text) > maxText {
			*text = strings.Clone(strings.ToValidUTF8((*text)[:maxText], ""))
		}
	}
	known := len(w.forest.Functions)
	id := w.forest.Function(f)
	if int(id) == known {
		w.in.paths.text += int64(len(f.Name) + len(f.SystemName) + len(f.Module) + len(f.File) + len(f.Language))
	}
	return id
}

// sets are the series of a profile without their types, by the labels of samples. Index 0
// is the one of samples without labels.
type sets struct {
	list []continuous.Series
	keys []continuous.Key // without a type
	at   map[continuous.Key]int
	of   []int                     // of each label set of the profile: index in list
	bare map[string]continuous.Key // of services, the key of the series without labels
}

// add adds a series once, because two windows of one would be taken for a repeat, and returns
// its index.
func (s *sets) add(series continuous.Series, key continuous.Key) int {
	at, ok := s.at[key]
	if !ok {
		at = len(s.list)
		s.at[key] = at
		s.list, s.keys = append(s.list, series), append(s.keys, key)
	}
	return at
}

// bareKey returns the key of a service's series without labels.
func (s *sets) bareKey(service string) continuous.Key {
	key, ok := s.bare[service]
	if !ok {
		key = (&continuous.Series{Service: service}).LabelKey()
		s.bare[service] = key
	}
	return key
}

// sets groups the samples of a profile by their labels. Every series is counted before it is
// made.
func (w *Worker) sets(p *Profile, base continuous.Series) (*sets, error) {
	s := &sets{at: map[continuous.Key]int{}, of: make([]int, len(p.LabelSets)), bare: map[string]continuous.Key{}}
	if err := w.spend(cost.Expanded, base.Bytes()); err != nil {
		return nil, err
	}
	s.add(base, base.LabelKey())
	known := map[continuous.Key]int{(&continuous.Series{}).LabelKey(): 0}
	for id, labels := range p.LabelSets {
		own, folded := w.ownLabels(p, &base, labels)
		if folded {
			w.in.counts.folded.Add(1)
		}
		key := (&continuous.Series{Labels: own}).LabelKey()
		at, ok := known[key]
		if !ok {
			series := base
			if p.Default {
				if name, rest := own.Cut("service.name"); name != "" {
					series.Service, own = name, rest
				}
			}
			// Labels of the request win, so no name is in both.
			if series.Labels = slices.Concat(base.Labels, own); len(own) > 0 {
				slices.SortFunc(series.Labels, func(a, b continuous.Label) int { return cmp.Compare(a.Name, b.Name) })
			}
			if err := w.spend(cost.Expanded, series.Bytes()); err != nil {
				return nil, err
			}
			at = s.add(series, series.LabelKey())
			known[key] = at
		}
		s.of[id] = at
	}
	return s, nil
}

// ownLabels returns the labels of a sample that make a series, valid until the next call. Too
// many or too large ones are none: folded.
func (w *Worker) ownLabels(p *Profile, base *continuous.Series, labels []profile.Label) (own continuous.Labels, folded bool) {
	o := &w.in.opts
	w.own = w.own[:0]
	for _, l := range labels {
		if l.Text == "" || perSample(l.Key) || o.isFact(l.Key) {
			continue // numbers, such as sizes of allocations, are no labels of series
		}
		if len(l.Key) > o.MaxLabelBytes || len(l.Text) > o.MaxLabelBytes {
			folded = true
			continue
		}
		name := strings.ToValidUTF8(l.Key, "\uFFFD")
		if p.Labels.Get(name) == "" && base.Label(name) == "" {
			w.own = append(w.own, continuous.Label{Name: name, Value: strings.ToValidUTF8(l.Text, "\uFFFD")})
		}
	}
	own = sorted(w.own)
	if len(own)+len(base.Labels) > o.MaxLabels || base.Bytes()+own.Bytes() > o.MaxSeriesBytes {
		return nil, true
	}
	return own, folded
}

// row is one sample of a table: its series, its path and its value.
type row struct {
	set  int32
	path int32
	self int64
}

// table returns the windows of one table.
func (w *Worker) table(p *Profile, i int, typ continuous.Type, scale int64, sets *sets, now time.Time) ([]*continuous.Window, error) {
	samples := &p.Tables[i]
	valueType, values, err := whole(samples, typ)
	if err != nil {
		return nil, err
	}
	target, err := w.admitted(sets, typ, samples, now)
	if err != nil {
		return nil, err
	}
	w.rows = w.rows[:0]
	from, lined := len(w.lineRows), w.lines != nil && p.Symbols == w.symbols && !typ.Requests() && w.hasLines(samples)
	for k, st := range samples.Stack {
		v := values(k)
		switch {
		case st == profile.NoStack || v == 0:
			continue
		case v < 0:
			w.in.counts.negative.Add(1)
			continue
		case v > maxValue/max(scale, 1):
			return nil, &invalid{fmt.Sprintf("a value of %s, times the period of %d, has more than 63 bits", typ, scale)}
		}
		at := target[0]
		if samples.Labels != nil {
			at = target[sets.of[samples.Labels[k]]]
		}
		path, err := w.path(st)
		if err != nil {
			return nil, err
		}
		w.rows = append(w.rows, row{int32(at), path, v * scale})
		if lined {
			w.lineRows = append(w.lineRows, lineRow{int32(at), st, v * scale})
		}
	}
	if lined {
		w.lined = append(w.lined, linedTable{sets: sets, typ: typ, values: valueType, start: p.Start, length: p.Length, from: from,
			to: len(w.lineRows)})
	}
	slices.SortFunc(w.rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.path, b.path)) })
	var list []*continuous.Window
	hash := w.hash(p, i)
	for rest := w.rows; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].set == rest[0].set {
			n++
		}
		series := sets.list[rest[0].set]
		series.Type = typ
		if err := w.spend(cost.Expanded, windowSize(&series, n)); err != nil {
			return nil, err
		}
		self, err := vector(rest[:n], typ)
		if err != nil {
			return nil, err
		}
		list = append(list, &continuous.Window{Series: series, Start: p.Start, Length: p.Length, Type: valueType, Self: self, Hash: hash,
			Untimed: p.Arrival && p.ID != ""})
		rest = rest[n:]
	}
	return list, nil
}

const maxValue = 1<<63 - 1

// admitted returns for each set of labels the set whose series takes its samples: itself, or the
// bare series of its service, which is added to the sets, if there are too many series.
func (w *Worker) admitted(sets *sets, typ continuous.Type, samples *profile.Samples, now time.Time) ([]int, error) {
	in := w.in
	used := make([]int64, len(sets.list))
	if samples.Labels == nil {
		used[0] = int64(samples.Len())
	}
	for _, id := range samples.Labels {
		used[sets.of[id]]++
	}
	target := make([]int, len(sets.list))
	for at, n := range used {
		if target[at] = at; n == 0 {
			continue
		}
		to, err := w.admit(sets, at, typ, now)
		if err == nil && to != at && at != 0 && sets.list[at].Service == sets.list[0].Service {
			to, err = w.admit(sets, 0, typ, now) // it keeps the labels of the request
		}
		if err != nil {
			return nil, err
		}
		if target[at] = to; to != at {
			in.counts.folded.Add(n)
		}
	}
	return target, nil
}

// admit returns the set whose series takes the samples of one: itself, or the bare one of its
// service.
func (w *Worker) admit(sets *sets, at int, typ continuous.Type, now time.Time) (to int, err error) {
	series := sets.list[at]
	bare := sets.bareKey(series.Service)
	c := candidate{key: sets.keys[at].OfType(typ), labels: len(series.Labels) > 0, bytes: series.Labels.Bytes() + series.Facts.Bytes(),
		service: series.Service, bare: bare.OfType(typ)}
	e, refused := w.in.series.admit(&c, w.client, now)
	if refused != nil {
		series.Type = typ
		return 0, refused.of(Name(&series))
	}
	w.held = append(w.held, e)
	if e.key == c.key {
		return at, nil
	}
	return sets.add(continuous.Series{Service: series.Service, Facts: series.Facts}, bare), nil
}

// Name returns a series for people, as Prometheus writes one.
func Name(s *continuous.Series) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s{service_name=%q", s.Type, s.Service)
	for _, l := range s.Labels {
		fmt.Fprintf(&b, ",%s=%q", l.Name, l.Value)
	}
	return b.String() + "}"
}

// path returns the forest's path of a stack. A stack deeper than MaxDepth loses its
// outermost frames, which (truncated) stands for.
func (w *Worker) path(st profile.StackID) (int32, error) {
	for n := len(w.depth); n < w.symbols.Stacks.Len(); n++ {
		depth := int32(1)
		if up := w.symbols.Parent(profile.StackID(n)); up != profile.NoStack {
			depth += w.depth[up]
		}
		w.depth = append(w.depth, depth)
	}
	most := w.in.opts.MaxDepth
	if int(w.depth[st]) <= most {
		return w.projection.Path(st), nil
	}
	w.in.counts.cut.Add(1)
	up := w.symbols.Parent(st)
	path, known := w.cuts[up]
	if !known {
		if err := w.spend(cost.Steps, int64(most)); err != nil {
			return 0, err
		}
		before := w.forest.Paths.Len()
		frames := make([]int32, 0, most)
		for x := up; len(frames) < most-1; x = w.symbols.Parent(x) {
			frames = append(frames, w.projection.Function(w.symbols.Frames[w.symbols.Leaf(x)].Function))
		}
		path = w.forest.Path(calltree.NoNode, w.forest.Function(profile.Function{Name: Truncated, Kind: profile.KindLabel}))
		for _, fn := range slices.Backward(frames) {
			path = w.forest.Path(path, fn)
		}
		if err := w.spend(cost.Paths, int64(w.forest.Paths.Len()-before)); err != nil {
			return 0, err
		}
		w.cuts[up] = path
	}
	return w.forest.Path(path, w.projection.Function(w.symbols.Frames[w.symbols.Leaf(st)].Function)), nil
}

// Truncated is the function that stands for the outermost frames of a stack that was cut.
const Truncated = "(truncated)"

// vector adds up rows of one series, sorted by path.
func vector(rows []row, typ continuous.Type) (calltree.Vector, error) {
	v := calltree.Vector{Nodes: make([]int32, 0, len(rows)), Self: make([]int64, 0, len(rows))}
	sum := uint64(0)
	for _, r := range rows {
		if sum += uint64(r.self); sum > maxValue {
			return v, &invalid{fmt.Sprintf("the values of %s add up to more than 63 bits", typ)}
		}
		if n := len(v.Nodes); n > 0 && v.Nodes[n-1] == r.path {
			v.Self[n-1] += r.self
			continue
		}
		v.Nodes, v.Self = append(v.Nodes, r.path), append(v.Self, r.self)
	}
	return v, nil
}

// whole returns the type of the values of a table, without what differs between windows of
// a series, and its values as whole numbers.
func whole(s *profile.Samples, typ continuous.Type) (profile.ValueType, func(int) int64, error) {
	t := profile.ValueType{Name: s.Type.Name, Unit: typ.SampleUnit, Original: typ.SampleType}
	if t.Unit != "count" { // samples that were scaled to time
		t.Name = strings.TrimSuffix(t.Name, "-samples")
	}
	with := t
	if with.Period, with.PeriodUnit, with.PeriodName = s.Type.Period, s.Type.PeriodUnit, s.Type.PeriodName; with.AddKey() == t.AddKey() {
		t = with // time and bytes add whatever a sample stands for
	}
	if s.Type.Scale == 0 {
		return t, func(k int) int64 { return s.Value[k] }, nil
	}
	scaling, err := s.Unscale()
	if err != nil {
		return t, nil, err
	}
	return t, func(k int) int64 { return scaling.Apply(s.Value[k]) }, nil
}

// hash returns the identity of the content of a table: what the samples say, which process
// they are of and the push's own id. Two idle replicas may say the same at the same time.
func (w *Worker) hash(p *Profile, i int) profile.Hash {
	content := p.Hash(i)
	text := content[:]
	for _, l := range p.Labels {
		text = append(append(append(append(text, l.Name...), 0), l.Value...), 0)
	}
	text = append(text, p.ID...)
	if p.Arrival && p.ID == "" { // in the same millisecond too, every push counts
		text = binary.BigEndian.AppendUint64(text, w.in.arrivals.Add(1))
	}
	h := xxh3.Hash128(text)
	var out profile.Hash
	binary.BigEndian.PutUint64(out[:8], h.Hi)
	binary.BigEndian.PutUint64(out[8:], h.Lo)
	return out
}

// windowBytes estimates the memory of a window.
func windowBytes(win *continuous.Window) int64 { return windowSize(&win.Series, win.Self.Len()) }

// windowSize estimates the memory of a window of a series with so many paths.
func windowSize(s *continuous.Series, paths int) int64 { return 400 + s.Bytes() + 12*int64(paths) }
