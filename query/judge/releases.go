package judge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/releases"
	"github.com/dendroprof/dendro/testrun"
)

// Releases says what a release of a service is, whose releases are compared in place of runs.
type Releases struct {
	By   string         `param:"by" group:"Side" arg:"label" help:"with --service: label whose values are releases (default: service_version, version or service_git_ref)" json:"by,omitempty"`
	Skip *query.Seconds `param:"skip" group:"Side" arg:"time" help:"with --service: time from the start of each instance on that is not compared: 1h, 0 (default: 30m, if the releases ran for an hour)" json:"skip,omitempty"`
}

// The sides of a store with runs of releases.
var ofReleases = Sides{Base: "attr." + releases.SideAttribute + "=" + releases.Base,
	Head: "attr." + releases.SideAttribute + "=" + releases.Head}

// OfPushed leaves the pushed profiles of a selection to the comparison of releases.
func (*Releases) OfPushed(_ context.Context, st store.Store) (store.Store, error) { return st, nil }

// open returns the store to judge, and its sides: that of the runs or, if the selection has pushed
// profiles, one with the runs of two releases, all of which are compared.
func (s Sides) open(ctx context.Context, st store.Store, q *query.Selection, req *regression.Request) (store.Store, Sides, []string,
	error) {
	if !q.Pushed.Chosen() {
		if s.By != "" || s.Skip != nil {
			return nil, s, nil, param.Errorf("--by and --skip need --service")
		}
		return st, s, nil, nil
	}
	if q.Service == "" {
		return nil, s, nil, param.Errorf("releases are those of a service: --labels needs --service here")
	}
	req.Service, req.Window = true, cmp.Or(req.Window, math.MaxInt32)
	windows, err := query.WindowsOf(st)
	if err != nil {
		return nil, s, nil, err
	}
	labels, err := query.LabelMatchers(q.Labels)
	if err != nil {
		return nil, s, nil, err
	}
	c, err := releases.Open(ctx, windows, releases.Options{Service: q.Service, Labels: labels, Label: s.By, Base: s.Base, Head: s.Head,
		Skip: (*time.Duration)(s.Skip)})
	if err == nil && c.Pending != nil {
		err = fmt.Errorf("service %q: %w", q.Service, c.Pending)
	}
	if err != nil {
		return nil, s, nil, err
	}
	q.Pushed = store.Pushed{}
	return c, Sides{Releases: s.Releases, Base: ofReleases.Base, Head: ofReleases.Head}, []string{c.String()}, nil
}

// asChanges makes the findings of a comparison of releases the changes that they are in the list.
func asChanges(st store.Store, res *regression.Result) {
	c, ok := st.(*releases.Compared)
	if !ok {
		return
	}
	of := map[[2]string]judgedType{}
	as := func(list []regression.Finding) {
		for i := range list {
			f := &list[i]
			ofCompared(c, f)
			if f.Status != regression.Transient && (f.Kind.Costs() || f.Kind == regression.Improvement) {
				t := of[[2]string{f.Benchmark, f.Type}]
				one := change.Of(*f, headOf(c), baseOf(c), t.Program, t.Runs)
				*f = listed(&one, &history.Series{Service: true})
			}
		}
	}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		of[[2]string{b.Benchmark.Name, b.Type.Name}] = judgedTypeOf(b)
		as(b.Findings)
	}
	as(res.Findings)
}

func headOf(c *releases.Compared) change.Run {
	return change.Run{Run: c.Head, Date: c.From.UTC()}
}

// baseOf returns the release before; nil of several.
func baseOf(c *releases.Compared) *change.Run {
	if len(c.Base) != 1 {
		return nil
	}
	return &change.Run{Run: c.Base[0]}
}

// ofCompared sets what a finding says of its releases.
func ofCompared(c *releases.Compared, f *regression.Finding) {
	pushed := c.Pushed[[2]string{f.Benchmark, f.Type}]
	f.Sides = &regression.Sides{Base: c.Base, Head: []string{c.Head}, Service: f.Group, Label: c.Label, Pushed: pushed.String()}
}

// judgedRelease is what the comparison of a release with those before found, as it is kept.
type judgedRelease struct {
	From  time.Time    `json:"from"` // its first window
	Types []judgedType `json:"types"`
}

type judgedType struct {
	Name       string               `json:"name"` // of the benchmark
	Type       profile.ValueType    `json:"type"`
	Runs       int                  `json:"runs"`
	Program    *regression.Estimate `json:"program,omitempty"` // change of the whole
	Reason     string               `json:"reason,omitempty"`
	Detectable float64              `json:"detectable,omitempty"`
	Findings   []regression.Finding `json:"findings"`
}

// judgedTypeOf returns what the comparison of one type found.
func judgedTypeOf(b *regression.Benchmark) judgedType {
	t := judgedType{Name: b.Benchmark.Name, Type: b.Type, Reason: b.Reason, Findings: b.Findings, Detectable: b.Detectable()}
	if a := regression.Most(b.Analyses); a != nil { // of all runs of the head
		t.Runs, t.Program = len(a.Tested), change.ProgramOf(a)
	}
	return t
}

// judgeRelease compares a release with those before, as `regressions --service` does.
func judgeRelease(ctx context.Context, p *releases.Plan, o regression.Options) (*judgedRelease, error) {
	c, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	list, err := c.Profiles(ctx, store.Query{})
	if err != nil {
		return nil, err
	}
	out := &judgedRelease{From: p.From.UTC()}
	o.Service = true
	if c.Pending != nil {
		for _, p := range list {
			t := judgedType{Name: p.Benchmark.Name, Type: p.Type, Reason: c.Pending.Error()}
			if !slices.ContainsFunc(out.Types, func(x judgedType) bool { return x.Name == t.Name && x.Type == t.Type }) {
				out.Types = append(out.Types, t)
			}
		}
		return out, nil
	}
	compared, _, err := ofReleases.compare(ctx, c, store.Query{}, history.Distinct(list), 0,
		regression.Request{Options: o, Tests: history.Tests{Window: math.MaxInt32}}, &facts.Facts{})
	if errors.Is(err, store.ErrNothing) {
		return out, nil
	} else if err != nil {
		return nil, err
	}
	for i := range compared.Benchmarks {
		t := judgedTypeOf(&compared.Benchmarks[i])
		for k := range t.Findings {
			ofCompared(c, &t.Findings[k])
		}
		out.Types = append(out.Types, t)
	}
	return out, nil
}

// serviceReleases are the verdicts on releases: those that the store keeps and those judged now.
type serviceReleases struct {
	ledger *ledger // without lines: its options, stamp and keeper
	plans  [][]*releases.Plan
	of     map[*releases.Plan]*judgedRelease
}

// ofServices returns whether a selection has what a service pushes, whose group is the service; nil:
// it has none.
func ofServices(q *store.Query) func(service string) bool {
	runs := store.Query{Branches: q.Branches, Machines: q.Machines, Params: q.Params}
	if runs.String() != (&store.Query{}).String() {
		return nil
	}
	groups := store.Query{Groups: q.Groups}
	return func(service string) bool {
		return service != "" && len(groups.Filter([]store.Profile{{Benchmark: testrun.Benchmark{Group: service}}})) > 0
	}
}

// readReleases returns what the newest releases of each selected service changed. It judges those
// that the store has no current verdict on.
func readReleases(ctx context.Context, st store.Reader, q store.Query, o regression.Options) (*serviceReleases, error) {
	r := &serviceReleases{ledger: &ledger{st: st, options: o}, of: map[*releases.Plan]*judgedRelease{}}
	windows, err := query.WindowsOf(st)
	fits := ofServices(&q)
	if err != nil || fits == nil {
		return r, nil // of an engine without, or on what no release is
	}
	if r.plans, err = releases.Plans(ctx, windows, fits, q.Until); err != nil || len(r.plans) == 0 {
		return r, err
	}
	l := r.ledger
	if err = l.begin(ctx, []testrun.Benchmark{{}}); err != nil {
		return r, err
	}
	kept := map[string]*store.Verdict{}
	for i := range l.stored.List {
		kept[l.stored.List[i].Key] = &l.stored.List[i]
	}
	fresh := false
	for _, plans := range r.plans {
		for _, p := range plans {
			if r.of[p] = l.keptRelease(kept[l.keyOfRelease(p)], p); r.of[p] != nil {
				continue
			}
			fresh = true
			if r.of[p], err = judgeRelease(ctx, p, o); err != nil {
				return r, fmt.Errorf("release %q of service %q: %w", p.Head, p.Service, err)
			}
		}
	}
	if !fresh || l.keeper == nil || !q.Until.IsZero() {
		return r, nil
	}
	return r, r.keep(ctx, kept, len(q.Groups) == 0)
}

func (l *ledger) keyOfRelease(p *releases.Plan) string {
	return strings.Join([]string{l.variant, p.Service, p.Label, p.Head}, "\x00")
}

// stampOfRelease is what the verdict on a release rests on.
func (l *ledger) stampOfRelease(p *releases.Plan) string {
	return fmt.Sprintf("%s windows %x", l.stamp(), sha256.Sum256([]byte(p.String())))
}

// keptRelease returns the stored verdict on a release; nil if there is none, or if it rests on
// other windows than there are now. It stays when windows of the release expired.
func (l *ledger) keptRelease(v *store.Verdict, p *releases.Plan) *judgedRelease {
	out := &judgedRelease{}
	if v == nil || json.Unmarshal(v.Document, out) != nil ||
		v.Stamp != l.stampOfRelease(p) && !(strings.HasPrefix(v.Stamp, l.stamp()+" ") && out.From.Before(p.From)) {
		return nil
	}
	return out
}

// keep stores all verdicts, and those of services that were not selected.
func (r *serviceReleases) keep(ctx context.Context, kept map[string]*store.Verdict, all bool) error {
	l := r.ledger
	var list []store.Verdict
	for _, plans := range r.plans {
		for _, p := range plans {
			document, err := json.Marshal(r.of[p])
			if err != nil {
				return fmt.Errorf("verdict on release %q of service %q: %w", p.Head, p.Service, err)
			}
			key, stamp := l.keyOfRelease(p), l.stampOfRelease(p)
			if old := kept[key]; old != nil && r.of[p].From.Before(p.From) {
				stamp = old.Stamp
			}
			list = append(list, store.Verdict{Key: key, Stamp: stamp, Document: document})
			delete(kept, key)
		}
	}
	for _, v := range kept {
		if strings.HasPrefix(v.Stamp, l.stamp()+" ") && !(all && strings.HasPrefix(v.Key, l.variant+"\x00")) {
			list = append(list, *v)
		}
	}
	if err := l.keeper.KeepVerdicts(ctx, list); err != nil && !errors.Is(err, store.ErrReadOnly) {
		return ctx.Err()
	}
	return nil
}

// lines returns a line of each type of each service, whose runs are its releases, with its verdict.
func (r *serviceReleases) lines(q store.Query) (lines []history.Series, verdicts []*change.Verdict) {
	for _, plans := range r.plans {
		at := map[history.Key]int{}
		for _, p := range plans {
			head := headOf(&p.Compared)
			for _, t := range r.of[p].Types {
				k := history.Key{Benchmark: testrun.Benchmark{Group: p.Service, Name: t.Name}, Type: t.Type.Name}
				one := store.Profile{Benchmark: k.Benchmark, Type: t.Type, Run: testrun.Run{Key: head.Run, Date: p.Until}}
				if len(q.Filter([]store.Profile{one})) == 0 && p == plans[len(plans)-1] {
					delete(at, k) // the newest release is not selected
					continue
				}
				i, ok := at[k]
				if !ok {
					i = len(lines)
					at[k] = i
					lines = append(lines, history.Series{Benchmark: k.Benchmark, Type: t.Type, Service: true})
					verdicts = append(verdicts, &change.Verdict{Key: change.Key{Benchmark: k.Benchmark, Type: t.Type.Key()}, Type: t.Type})
				}
				one.Run.Date = head.Date
				v := verdicts[i]
				lines[i].Profiles = append(lines[i].Profiles, one)
				v.AddRelease(head, baseOf(&p.Compared), t.Findings, t.Program, t.Runs)
				v.Status, v.Reason, v.Detectable = change.Unchanged, "", t.Detectable
				if t.Reason != "" {
					v.Status, v.Reason = change.Unknown, t.Reason
				}
			}
		}
	}
	return lines, verdicts
}

// addReleases adds what releases of services changed.
func (c *changes) addReleases(ctx context.Context, st store.Reader, q store.Query, req *regression.Request) error {
	r, err := readReleases(ctx, st, q, req.Options)
	if err != nil {
		return err
	}
	lines, verdicts := r.lines(q)
	for i := range lines {
		v := verdicts[i].Accept(req.Acknowledged, req.Now)
		c.lines, c.verdicts, c.findings = append(c.lines, lines[i]), append(c.verdicts, v), append(c.findings, listedOf(v, &lines[i]))
	}
	return nil
}
