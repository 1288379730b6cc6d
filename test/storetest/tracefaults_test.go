package storetest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dendroprof/dendro/store/mem"
	"github.com/dendroprof/dendro/traceprof"
)

// TestTraceSuiteSeesFaults is TestSuiteSeesFaults for trace profiling.
func TestTraceSuiteSeesFaults(t *testing.T) {
	for name, fault := range traceFaults {
		t.Run(name, func(t *testing.T) {
			which, _, _ := strings.Cut(name, ":")
			for _, test := range traceTests {
				if test.name == which && fails(t, func(tb testing.TB) { test.run(newTraceLab(tb, faulty(fault))) }) {
					return
				}
			}
			t.Errorf("the suite's test %s does not see this fault", which)
		})
	}
}

// TestTraceHistorySeesFaults compares a good engine with faulty ones.
func TestTraceHistorySeesFaults(t *testing.T) {
	for _, name := range []string{
		"OneTaskWins: anybody does", "StopTask: again and again", "Logs: the last line stays", "Segments: the last one stays",
		"FirstWins: the last one does",
		"Languages: they are mixed", "ExpireTogether: segments go by their time alone", "ExpireUnknown: they stay",
		"Endpoints: all segments ever",
	} {
		t.Run(name, func(t *testing.T) {
			fault, ok := traceFaults[name]
			if !ok {
				t.Fatal("there is no such fault")
			}
			for seed := range uint64(60) {
				if fails(t, func(tb testing.TB) { TraceHistory(tb, seed, faulty(nil), faulty(fault)) }) {
					return
				}
			}
			t.Error("60 histories do not see this fault")
		})
	}
}

// faulty is the engine in memory with a fault, or without.
func faulty(fault func(traceprof.Store) traceprof.Store) TraceEngine {
	return TraceEngine{Open: func(testing.TB) traceprof.Store {
		if fault == nil {
			return mem.New()
		}
		return fault(mem.New())
	}}
}

// traceHooks is a store of which some methods are replaced.
type traceHooks struct {
	traceprof.Store
	create       func(context.Context, traceprof.Task) (traceprof.Task, error)
	tasks        func([]traceprof.Task, traceprof.TaskQuery) []traceprof.Task
	stop         func(context.Context, string, int64) error
	log          func(context.Context, ...traceprof.Log) error
	logs         func([]traceprof.Log) []traceprof.Log
	putInstances func(context.Context, ...traceprof.Instance) error
	instances    func([]traceprof.Instance) []traceprof.Instance
	putSegments  func(context.Context, ...traceprof.Segment) error
	segmentQuery func(traceprof.SegmentQuery) traceprof.SegmentQuery
	segments     func([]traceprof.Segment) []traceprof.Segment
	endpoints    func([]traceprof.Endpoint, string) []traceprof.Endpoint
	put          func(context.Context, ...traceprof.Snapshots) error
	query        func(traceprof.SnapshotQuery) traceprof.SnapshotQuery
	snapshots    func(iter.Seq2[traceprof.Snapshots, error]) iter.Seq2[traceprof.Snapshots, error]
	expire       func(context.Context, traceprof.Expiry) (traceprof.Expired, error)
}

func (h traceHooks) CreateTask(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
	if h.create != nil {
		return h.create(ctx, t)
	}
	return h.Store.CreateTask(ctx, t)
}

func (h traceHooks) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	list, err := h.Store.Tasks(ctx, q)
	if h.tasks != nil {
		list = h.tasks(list, q)
	}
	return list, err
}

func (h traceHooks) StopTask(ctx context.Context, id string, at int64) error {
	if h.stop != nil {
		return h.stop(ctx, id, at)
	}
	return h.Store.StopTask(ctx, id, at)
}

func (h traceHooks) AppendLog(ctx context.Context, lines ...traceprof.Log) error {
	if h.log != nil {
		return h.log(ctx, lines...)
	}
	return h.Store.AppendLog(ctx, lines...)
}

func (h traceHooks) Logs(ctx context.Context, tasks ...string) ([]traceprof.Log, error) {
	list, err := h.Store.Logs(ctx, tasks...)
	return hooked(h.logs, list, err)
}

func (h traceHooks) PutInstances(ctx context.Context, list ...traceprof.Instance) error {
	if h.putInstances != nil {
		return h.putInstances(ctx, list...)
	}
	return h.Store.PutInstances(ctx, list...)
}

func (h traceHooks) Instances(ctx context.Context, service string, since int64) ([]traceprof.Instance, error) {
	list, err := h.Store.Instances(ctx, service, since)
	return hooked(h.instances, list, err)
}

func (h traceHooks) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	if h.putSegments != nil {
		return h.putSegments(ctx, list...)
	}
	return h.Store.PutSegments(ctx, list...)
}

func (h traceHooks) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	q, _ = hooked(h.segmentQuery, q, nil)
	list, err := h.Store.Segments(ctx, q)
	return hooked(h.segments, list, err)
}

func (h traceHooks) Endpoints(ctx context.Context, service, keyword string, limit int) ([]traceprof.Endpoint, error) {
	list, err := h.Store.Endpoints(ctx, service, keyword, limit)
	if h.endpoints != nil {
		list = h.endpoints(list, keyword)
	}
	return list, err
}

func (h traceHooks) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	if h.put != nil {
		return h.put(ctx, list...)
	}
	return h.Store.PutSnapshots(ctx, list...)
}

func (h traceHooks) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	q, _ = hooked(h.query, q, nil)
	seq := h.Store.Snapshots(ctx, q)
	if h.snapshots != nil {
		return h.snapshots(seq)
	}
	return seq
}

func (h traceHooks) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	if h.expire != nil {
		return h.expire(ctx, e)
	}
	return h.Store.Expire(ctx, e)
}

type traceFault = func(traceprof.Store) traceprof.Store

// eachValue changes the values of Snapshots.
func eachValue(change func(*traceprof.Snapshots)) traceFault {
	return func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, snapshots: func(seq iter.Seq2[traceprof.Snapshots, error]) iter.Seq2[traceprof.Snapshots, error] {
			return func(yield func(traceprof.Snapshots, error) bool) {
				for v, err := range seq {
					if err == nil {
						change(&v)
					}
					if !yield(v, err) {
						return
					}
				}
			}
		}}
	}
}

// puts changes what is put.
func puts(change func(list []traceprof.Snapshots) []traceprof.Snapshots) traceFault {
	return func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, put: func(ctx context.Context, list ...traceprof.Snapshots) error {
			return s.PutSnapshots(ctx, change(slices.Clone(list))...)
		}}
	}
}

// expiring calls another Expire.
func expiring(change func(e traceprof.Expiry) traceprof.Expiry) traceFault {
	return func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, expire: func(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
			return s.Expire(ctx, change(e))
		}}
	}
}

// backward is a store in which the last of two snapshots wins.
type backward struct {
	traceprof.Store
	mu  sync.Mutex
	all []traceprof.Snapshots
}

func (f *backward) PutSnapshots(ctx context.Context, list ...traceprof.Snapshots) error {
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	f.all = append(slices.Clone(list), f.all...)
	return nil
}

func (f *backward) Snapshots(ctx context.Context, q traceprof.SnapshotQuery) iter.Seq2[traceprof.Snapshots, error] {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := mem.New()
	if err := s.PutSnapshots(ctx, f.all...); err != nil {
		return func(yield func(traceprof.Snapshots, error) bool) { yield(traceprof.Snapshots{}, err) }
	}
	return s.Snapshots(ctx, q)
}

// traceFaults are engines gone wrong, by the test that is to notice.
var traceFaults = map[string]traceFault{
	"OneTaskWins: anybody does": func(s traceprof.Store) traceprof.Store {
		var mu sync.Mutex
		created := map[string]traceprof.Task{}
		return traceHooks{Store: s, create: func(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
			mu.Lock()
			defer mu.Unlock()
			made, err := s.CreateTask(ctx, t)
			if err != nil && ctx.Err() == nil {
				t.ID = fmt.Sprint("extra", len(created))
				created[t.ID] = t
				return t, nil
			}
			return made, err
		}}
	},
	"CreateTask: lists are lost": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, create: func(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
			t.Instances, t.Events = nil, nil
			return s.CreateTask(ctx, t)
		}}
	},
	"TaskIDs: of each kind": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, create: func(ctx context.Context, t traceprof.Task) (traceprof.Task, error) {
			made, err := s.CreateTask(ctx, t)
			made.ID, made.Created = fmt.Sprintf("%d_%s", t.Created, t.ServiceID), t.Created
			return made, err
		}}
	},
	"TaskQueries: another order": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, tasks: func(list []traceprof.Task, _ traceprof.TaskQuery) []traceprof.Task {
			slices.Reverse(list)
			return list
		}}
	},
	"TaskQueries: no limit": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, tasks: func(list []traceprof.Task, q traceprof.TaskQuery) []traceprof.Task {
			q.Limit = 0
			all, _ := s.Tasks(context.Background(), q)
			return all
		}}
	},
	"StopTask: again and again": func(s traceprof.Store) traceprof.Store {
		return &stopper{Store: s, at: map[string]int64{}}
	},
	"NoTasks: unknown tasks are stopped": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, stop: func(ctx context.Context, id string, at int64) error { s.StopTask(ctx, id, at); return ctx.Err() }}
	},
	"Logs: repeats stay": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, logs: func(list []traceprof.Log) []traceprof.Log { return append(list, list[max(0, len(list)-1):]...) }}
	},
	"Logs: the last line stays": func(s traceprof.Store) traceprof.Store {
		texts := map[traceprof.Log]string{}
		key := func(l traceprof.Log) traceprof.Log { l.Text = ""; return l }
		return traceHooks{Store: s, log: func(ctx context.Context, lines ...traceprof.Log) error {
			for _, l := range lines {
				texts[key(l)] = l.Text
			}
			return s.AppendLog(ctx, lines...)
		}, logs: func(list []traceprof.Log) []traceprof.Log {
			for i := range list {
				list[i].Text = texts[key(list[i])]
			}
			return list
		}}
	},
	"Logs: oldest first": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, logs: func(list []traceprof.Log) []traceprof.Log { slices.Reverse(list); return list }}
	},
	"Instances: properties in another order": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, instances: func(list []traceprof.Instance) []traceprof.Instance {
			for i := range list {
				slices.Reverse(list[i].Properties)
			}
			return list
		}}
	},
	"Instances: the first report stays": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, putInstances: func(ctx context.Context, list ...traceprof.Instance) error {
			for _, i := range list {
				have, err := s.Instances(ctx, i.Service, 0)
				if err != nil {
					return err
				}
				if !slices.ContainsFunc(have, func(h traceprof.Instance) bool { return h.Name == i.Name }) {
					if err := s.PutInstances(ctx, i); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	},
	"Segments: the last one stays": func(s traceprof.Store) traceprof.Store {
		last := map[string]traceprof.Segment{}
		return traceHooks{Store: s, putSegments: func(ctx context.Context, list ...traceprof.Segment) error {
			for _, g := range list {
				last[g.ID] = g
			}
			return s.PutSegments(ctx, list...)
		}, segments: func(list []traceprof.Segment) []traceprof.Segment {
			for i := range list {
				list[i] = last[list[i].ID]
			}
			return list
		}}
	},
	"Segments: raw bytes always": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, segmentQuery: func(q traceprof.SegmentQuery) traceprof.SegmentQuery { q.NoRaw = false; return q }}
	},
	"SegmentQueries: one list is enough": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, segmentQuery: func(q traceprof.SegmentQuery) traceprof.SegmentQuery {
			if len(q.IDs) > 0 {
				q.Traces = nil
			}
			return q
		}}
	},
	"SegmentQueries: no offset": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, segmentQuery: func(q traceprof.SegmentQuery) traceprof.SegmentQuery { q.Offset = 0; return q }}
	},
	"SegmentQueries: the slowest in any order": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, segmentQuery: func(q traceprof.SegmentQuery) traceprof.SegmentQuery { q.BySlowest = false; return q }}
	},
	"Endpoints: in one case": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, endpoints: func(list []traceprof.Endpoint, keyword string) []traceprof.Endpoint {
			return slices.DeleteFunc(list, func(e traceprof.Endpoint) bool { return !strings.Contains(e.Name, keyword) })
		}}
	},
	"Endpoints: all segments ever": func(s traceprof.Store) traceprof.Store {
		count := map[string]int64{}
		return traceHooks{Store: s, putSegments: func(ctx context.Context, list ...traceprof.Segment) error {
			for _, g := range list {
				count[g.Service+g.Endpoint]++
			}
			return s.PutSegments(ctx, list...)
		}, endpoints: func(list []traceprof.Endpoint, _ string) []traceprof.Endpoint {
			for i := range list {
				list[i].Segments = count[list[i].Service+list[i].Name]
			}
			return list
		}}
	},
	"FirstWins: the last one does": func(s traceprof.Store) traceprof.Store { return &backward{Store: s} },
	"FirstWins: within a call the last one does": puts(func(list []traceprof.Snapshots) []traceprof.Snapshots {
		slices.Reverse(list)
		return list
	}),
	"FirstWins: tasks are one": puts(func(list []traceprof.Snapshots) []traceprof.Snapshots {
		for i := range list {
			list[i].Task = "t"
		}
		return list
	}),
	"Snapshots: empty stacks are dropped": puts(func(list []traceprof.Snapshots) []traceprof.Snapshots {
		for k := range list {
			v := &list[k]
			var kept traceprof.Snapshots
			for i, p := range v.Path {
				if p >= 0 {
					kept.Sequence, kept.Time, kept.Path = append(kept.Sequence, v.Sequence[i]), append(kept.Time, v.Time[i]), append(kept.Path, p)
				}
			}
			v.Sequence, v.Time, v.Path = kept.Sequence, kept.Time, kept.Path
		}
		return list
	}),
	"SnapshotQueries: segments are ignored": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, query: func(q traceprof.SnapshotQuery) traceprof.SnapshotQuery { q.Segments = nil; return q }}
	},
	"SnapshotQueries: another order": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, snapshots: func(seq iter.Seq2[traceprof.Snapshots, error]) iter.Seq2[traceprof.Snapshots, error] {
			return func(yield func(traceprof.Snapshots, error) bool) {
				var all []traceprof.Snapshots
				for v := range seq {
					all = append(all, v)
				}
				for _, v := range slices.Backward(all) {
					if !yield(v, nil) {
						return
					}
				}
			}
		}}
	},
	"Sequences: negative ones are lost": eachValue(func(v *traceprof.Snapshots) {
		for len(v.Sequence) > 0 && v.Sequence[0] < 0 {
			v.Sequence, v.Time, v.Path = v.Sequence[1:], v.Time[1:], v.Path[1:]
		}
	}),
	"GoProfiles: weights are one": eachValue(func(v *traceprof.Snapshots) {
		for i := range v.Count {
			v.Count[i] = 1
		}
	}),
	"Languages: they are mixed": puts(func(list []traceprof.Snapshots) []traceprof.Snapshots {
		for i := range list {
			if list[i].Check() == nil {
				list[i].Language, list[i].Count, list[i].Nanos = traceprof.Dumps, nil, nil
			}
		}
		return list
	}),
	"HostileNames: a zero ends a text": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, put: func(ctx context.Context, list ...traceprof.Snapshots) error {
			for i := range list {
				list[i].Segment, _, _ = strings.Cut(list[i].Segment, "\x00")
			}
			return s.PutSnapshots(ctx, list...)
		}}
	},
	"LargeStacks: 500 frames at most": eachValue(func(v *traceprof.Snapshots) {
		for i, p := range v.Path {
			for range len(v.Stacks.Names(p)) - 500 {
				v.Path[i] = v.Stacks.Paths.Parent[v.Path[i]]
			}
		}
	}),
	"BadSnapshots: the good ones are stored": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, put: func(ctx context.Context, list ...traceprof.Snapshots) error {
			for _, v := range list {
				if err := s.PutSnapshots(ctx, v); err != nil {
					return err
				}
			}
			return nil
		}}
	},
	"OwnCopies: raw bytes are shared": func(s traceprof.Store) traceprof.Store {
		raw := map[string][]byte{}
		return traceHooks{Store: s, putSegments: func(ctx context.Context, list ...traceprof.Segment) error {
			for _, g := range list {
				raw[g.ID] = g.Raw
			}
			return s.PutSegments(ctx, list...)
		}, segments: func(list []traceprof.Segment) []traceprof.Segment {
			for i := range list {
				list[i].Raw = raw[list[i].ID]
			}
			return list
		}}
	},
	"ExpireTasks: a moment late":     expiring(func(e traceprof.Expiry) traceprof.Expiry { e.Before--; return e }),
	"ExpireTasks: with running ones": expiring(func(e traceprof.Expiry) traceprof.Expiry { e.Before += 10_000; return e }),
	"ExpireTogether: segments go by their time alone": func(s traceprof.Store) traceprof.Store {
		return &splitter{Store: s, segments: mem.New()}
	},
	"ExpireUnknown: they stay": func(s traceprof.Store) traceprof.Store {
		return &keeper{Store: s}
	},
	"ExpireBySize: never":      expiring(func(e traceprof.Expiry) traceprof.Expiry { e.MaxBytes = 0; return e }),
	"ExpireBySize: everything": expiring(func(e traceprof.Expiry) traceprof.Expiry { e.MaxBytes = min(e.MaxBytes, 1); return e }),
	"EndedContext: writes go on": func(s traceprof.Store) traceprof.Store {
		return traceHooks{Store: s, put: func(_ context.Context, list ...traceprof.Snapshots) error {
			return s.PutSnapshots(context.Background(), list...)
		}}
	},
}

// stopper stops tasks again and again.
type stopper struct {
	traceprof.Store
	at map[string]int64
}

func (s *stopper) StopTask(ctx context.Context, id string, at int64) error {
	t, err := s.Store.Task(ctx, id)
	if err == nil && t.Stopped != 0 {
		s.at[id] = at
		return nil
	}
	return s.Store.StopTask(ctx, id, at)
}

func (s *stopper) Task(ctx context.Context, id string) (traceprof.Task, error) {
	t, err := s.Store.Task(ctx, id)
	if at, ok := s.at[id]; ok {
		t.Stopped = at
	}
	return t, err
}

func (s *stopper) Tasks(ctx context.Context, q traceprof.TaskQuery) ([]traceprof.Task, error) {
	list, err := s.Store.Tasks(ctx, q)
	for i := range list {
		if at, ok := s.at[list[i].ID]; ok {
			list[i].Stopped = at
		}
	}
	return list, err
}

// splitter keeps segments where no task protects them.
type splitter struct {
	traceprof.Store
	segments *mem.Store
}

func (s *splitter) PutSegments(ctx context.Context, list ...traceprof.Segment) error {
	return s.segments.PutSegments(ctx, list...)
}

func (s *splitter) Segments(ctx context.Context, q traceprof.SegmentQuery) ([]traceprof.Segment, error) {
	return s.segments.Segments(ctx, q)
}

func (s *splitter) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	out, err := s.Store.Expire(ctx, e)
	if err == nil {
		var loose traceprof.Expired
		loose, err = s.segments.Expire(ctx, e)
		out.Segments = loose.Segments
	}
	return out, err
}

// keeper brings snapshots of unknown tasks back.
type keeper struct{ traceprof.Store }

func (s *keeper) Expire(ctx context.Context, e traceprof.Expiry) (traceprof.Expired, error) {
	var unknown []traceprof.Snapshots
	for v, err := range s.Snapshots(ctx, traceprof.SnapshotQuery{}) {
		if err != nil {
			return traceprof.Expired{}, err
		}
		if _, err := s.Task(ctx, v.Task); err != nil {
			unknown = append(unknown, v)
		}
	}
	out, err := s.Store.Expire(ctx, e)
	if err == nil {
		err = s.PutSnapshots(ctx, unknown...)
	}
	return out, err
}
