package uploads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dendroprof/dendro/app/internal/server/skywalking/signatures"
	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/traceprof"
)

// Event selects data of a recording, with the names of SkyWalking's protocol. Pprof files
// have one event each and need none.
type Event string

// The events of JFR files.
const (
	ExecutionSample Event = "EXECUTION_SAMPLE"               // samples of cpu, or of wall if there are none
	Lock            Event = "LOCK"                           // ns
	AllocInTLAB     Event = "OBJECT_ALLOCATION_IN_NEW_TLAB"  // bytes
	AllocOutside    Event = "OBJECT_ALLOCATION_OUTSIDE_TLAB" // bytes
	LiveObject      Event = "PROFILER_LIVE_OBJECT"           // bytes
)

// Tree is a call tree as columns of equal length: depth first, parents before
// children, siblings in byte order. Node 0 is a root above all stacks, whose
// parent is -1; an empty Tree has no nodes.
type Tree struct {
	Parent    []int32
	Signature []string
	Total     []int64
	Self      []int64
}

// Names of the root above all stacks.
const (
	rootOfJFR   = "all"
	rootOfPprof = "root"
)

// stackBytes is the memory of a stack of a recording and of its path, while a tree is made.
const stackBytes = 256

// Tree returns the sum of the recordings of instances for a task, each once. Instances without a
// recording and recordings without the event are skipped. What reading takes is counted.
//
// For JFR, nodes are functions and values those of the event; for pprof, nodes are
// "function:line" and values are samples. SkyWalking's OAP counts the rows of a pprof file
// instead, even if a row represents a thousand samples.
func (u *Uploads) Tree(ctx context.Context, t *traceprof.Task, instances []string, event Event) (*Tree, error) {
	b := &builder{root: rootOfJFR}
	if t.Kind == traceprof.PprofKind {
		b.root, b.lines = rootOfPprof, true
	}
	for _, instance := range slices.Compact(slices.Sorted(slices.Values(instances))) {
		recording, err := u.original(ctx, t, instance)
		if errors.Is(err, store.ErrNoSource) {
			continue
		}
		if err != nil {
			return nil, err
		}
		reader := format.NewReader(u.opts.Ingest.Limits)
		reader.Context, reader.StackBytes = ctx, stackBytes
		for d, err := range reader.Read(t.ID+"/"+instance, bytes.NewBuffer(recording)) {
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
			}
			b.add(d.Profile, event)
		}
	}
	return b.tree(), nil
}

// builder sums samples over call paths.
type builder struct {
	root   string
	lines  bool // the line is a part of the name
	forest calltree.Forest
	self   []int64 // of each path
}

// add adds the samples of an event.
func (b *builder) add(p *profile.Profile, event Event) {
	samples, keep := tableOf(p, event, b.lines)
	if samples == nil {
		return
	}
	top := b.forest.Path(calltree.NoNode, b.forest.Function(profile.Function{Name: b.root}))
	path := signatures.Paths(&b.forest, top, p.Symbols, b.lines)
	b.self = append(b.self, make([]int64, b.forest.Paths.Len()-len(b.self))...)
	for i, st := range samples.Stack {
		if st != profile.NoStack && (keep == profile.FrameUnknown || p.Symbols.Frames[p.Symbols.Leaf(st)].Type == keep) {
			b.self[path[st]] += samples.Value[i]
		}
	}
}

// tableOf returns the table of an event and, if only a part of it counts, the type of the
// innermost frames of that part: the JFR reader marks with it where an object was
// allocated.
func tableOf(p *profile.Profile, event Event, pprof bool) (*profile.Samples, profile.FrameType) {
	if pprof {
		return counts(p), profile.FrameUnknown
	}
	switch event {
	case ExecutionSample:
		return table(p, profile.CPUSamples, profile.WallSamples), profile.FrameUnknown
	case Lock:
		return table(p, profile.Lock), profile.FrameUnknown
	case AllocInTLAB:
		return table(p, profile.Alloc), profile.FrameInlined
	case AllocOutside:
		return table(p, profile.Alloc), profile.FrameKernel
	case LiveObject:
		return table(p, profile.Live), profile.FrameUnknown
	}
	return nil, profile.FrameUnknown
}

// table returns the first table of one of the value types.
func table(p *profile.Profile, names ...string) *profile.Samples {
	for _, name := range names {
		if i, err := p.Table(name); err == nil {
			return &p.Tables[i]
		}
	}
	return nil
}

// counts returns the table with the sample counts of the default table, or the default
// table if there is none.
func counts(p *profile.Profile) *profile.Samples {
	if len(p.Tables) == 0 {
		return nil
	}
	def := &p.Tables[p.Default]
	if s := table(p, strings.TrimSuffix(def.Type.Name, "-samples")+"-samples"); s != nil {
		return s
	}
	return def
}

// tree returns the sum.
func (b *builder) tree() *Tree {
	var v calltree.Vector
	for path, self := range b.self {
		if self != 0 {
			v.Nodes, v.Self = append(v.Nodes, int32(path)), append(v.Self, self)
		}
	}
	if v.Len() == 0 {
		return &Tree{}
	}
	cut := b.forest.Cut(v.Nodes)
	t := &Tree{Parent: cut.Parent, Signature: make([]string, cut.Len()), Self: make([]int64, cut.Len())}
	for n, path := range cut.Paths {
		t.Signature[n], t.Self[n] = cut.Name(int32(n)), b.self[path]
	}
	t.Total = slices.Clone(t.Self)
	for n := len(t.Parent) - 1; n > 0; n-- {
		t.Total[t.Parent[n]] += t.Total[n]
	}
	return t
}
