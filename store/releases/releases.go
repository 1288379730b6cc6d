// Package releases shows what a service pushed as runs of benchmarks, so that every query
// compares its releases as it compares runs.
//
//	windows of a service ──by version──▶ instances or blocks of time ──▶ runs of both sides
//
// A release is all series of a service with one value of a label, such as service_version.
// The newest release is compared with the ones that ran beside it (a canary and the rest),
// or, if none did, with the one before. Each type is a benchmark (group: the service). An
// operation is a request, if the service pushes how many it answered, or a second of one
// instance.
//
// Of releases that ran at the same time, a run is some of the instances, all the time: what
// changes over the day changes for both sides alike, and the noise between runs is that
// between instances. Else a run is a block of time of all instances, and the noise is what
// changes from block to block: load, requests, instances that come and go.
package releases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/pushed"
	"github.com/dendroprof/dendro/testrun"
)

// machineLabels are labels that say on what kind of machine an instance runs.
var machineLabels = []string{"machine_type", "instance_type", "node_type", "cpu_model", "arch", "host.type", "host.arch"}

// The attributes of runs: the release, and whether it is tested or compared with.
const (
	VersionAttribute = "version"
	SideAttribute    = "side" // Base or Head
	Base             = "base"
	Head             = "head"
)

// Limits of what is compared.
const (
	headRuns       = 8   // blocks of the newest release
	baseRuns       = 30  // and of the one before: as many as a history has
	headSpread     = 16  // runs of instances of the newest release
	baseSpread     = 120 // and of those beside it
	leastInstances = 4   // of each side, so that runs are instances
	leastBase      = 3   // runs of the base that a comparison needs
	followed       = 10  // newest releases of a service whose changes are followed
	// longest is what is read of the newest release, from its first window on: a month of
	// a release says no more than its first days.
	longest = 4 * 24 * time.Hour
)

// Options choose a service and its releases.
type Options struct {
	Service string
	Labels  []continuous.Matcher // that its series have
	Label   string               // whose values are releases; empty: the first of continuous.VersionLabels that the service has
	Base    string               // release to compare with; empty: see Compared
	Head    string               // release to test; empty: the one whose first window is the newest
	Until   time.Time
	Skip    *time.Duration // of each instance, from its start on, is not compared; nil: its warm-up, if the releases ran for long enough
}

// Compared is a store with the runs of two sides, and what they are.
type Compared struct {
	*pushed.Store
	Label, Head string
	Base        []string // releases, in byte order
	Beside      bool     // they ran at the same time
	Instance    string   // label whose values are spread over the runs; empty: runs are blocks of time
	Block       time.Duration
	From, Until time.Time     // of the head
	Skip        time.Duration // from the start of each instance on is not compared
	Machines    string        // how the kinds of machine of the sides differ; empty: not, or unknown
	Operation   string        // of the runs: testrun.Requests or testrun.Seconds
	Uncounted   string        // the first run whose requests are unknown, though others have some
	// Pushed is what the service pushed, by benchmark and value type.
	Pushed map[[2]string]continuous.Type
	// Pending says why a side has no runs, and from when on there is a verdict; nil: both have some.
	Pending error

	aged    ages // of the windows that are compared
	drifted bool // those of the base are less what changed in it since
}

// spoken writes the operations of runs.
var spoken = map[string]string{testrun.Requests: "a request", testrun.Seconds: "a second of one instance"}

const clock = "2006-01-02 15:04"

// String describes the comparison.
func (c *Compared) String() string {
	how, run := "the time before", fmt.Sprintf("%s of all instances", pushed.SpokenStep(c.Block))
	if c.Beside {
		how = "at the same time"
	}
	if c.Instance != "" {
		run = fmt.Sprintf("some values of %q", c.Instance)
	}
	text := fmt.Sprintf("%s %q from %s to %s against %s, %s; a run is %s, an operation %s",
		c.Label, c.Head, c.From.Format(clock), c.Until.Format(clock)+" UTC", c.against(), how, run, spoken[c.Operation])
	if c.Uncounted != "" {
		text += fmt.Sprintf(" (the number of requests of run %s is unknown)", c.Uncounted)
	}
	if c.Machines != "" {
		text += "; the sides ran on other machines: " + c.Machines
	}
	return text + c.ages()
}

// against names the releases that the newest is compared with.
func (c *Compared) against() string {
	if n := len(c.Base); n > 1 {
		return fmt.Sprintf("%d other releases", n)
	}
	return fmt.Sprintf("%q", c.Base[0])
}

// release is what a value of the label pushed.
type release struct {
	version     string
	first, last time.Time
}

// Open reads the windows of the releases that are compared. Errors wrap store.ErrNothing
// if there are no two releases.
func Open(ctx context.Context, st continuous.Store, o Options) (*Compared, error) {
	of := o.matchers()
	series, err := st.Series(ctx, continuous.Query{Matchers: of, Until: o.Until})
	if err != nil {
		return nil, err
	}
	if len(series) == 0 && len(o.Labels) > 0 {
		return nil, fmt.Errorf("service %q has no profiles with these labels: %w", o.Service, store.ErrNothing)
	} else if len(series) == 0 {
		return nil, noService(ctx, st, o.Service)
	}
	p, err := plan(st, series, o)
	if err != nil {
		return nil, err
	}
	return p.Read(ctx)
}

// matchers select the series of the service.
func (o *Options) matchers() []continuous.Matcher {
	return append(slices.Clone(o.Labels), continuous.Matcher{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: o.Service})
}

// Plan is what a comparison of two releases reads. Equal plans read the same windows, but for
// those that were pushed late.
type Plan struct {
	Compared // without its store
	Service  string
	Types    []continuous.Type

	st        continuous.Store
	of        []continuous.Matcher // of the series
	head      release
	base      []release
	label     string        // that tells instances apart; may be empty
	instances [2][]instance // of the head, of the base
	began     time.Time     // the first window of the service
	requests  continuous.Type
}

// String describes all that the comparison depends on.
func (p *Plan) String() string {
	return fmt.Sprintf("%q %v %v %q %v %v %v", p.Compared.String(), p.head, p.base, p.label, p.instances, p.Types, p.requests)
}

// plan chooses what is compared of the series of a service.
func plan(st continuous.Store, series []continuous.Series, o Options) (*Plan, error) {
	p := &Plan{Compared: Compared{Label: cmp.Or(o.Label, versionLabel(series)), Operation: testrun.Seconds}, Service: o.Service, st: st,
		of: o.matchers()}
	all := releasesOf(series, p.Label, o.Until)
	var err error
	if p.head, p.base, err = choose(all, &p.Compared, o); err != nil {
		return nil, fmt.Errorf("service %q: %w", o.Service, err)
	}
	p.label, p.instances = instancesOf(series, &p.Compared)
	if p.Beside && min(len(p.instances[0]), len(p.instances[1])) >= leastInstances {
		p.Instance = p.label
	}
	if err := p.age(o, all[0].first); err != nil {
		return nil, fmt.Errorf("service %q: %w", o.Service, err)
	}
	p.Machines = machines(series, &p.Compared)
	if p.Types, p.requests = typesOf(series); p.requests != (continuous.Type{}) {
		p.Operation = testrun.Requests
	}
	return p, nil
}

// Plans returns for each service that a name fits, by name, the comparisons of its newest releases
// with those before, oldest first; none of services with one release.
func Plans(ctx context.Context, st continuous.Store, fits func(service string) bool, until time.Time) ([][]*Plan, error) {
	series, err := st.Series(ctx, continuous.Query{Until: until})
	if err != nil {
		return nil, err
	}
	var list [][]*Plan
	for own := range continuous.ByService(series) {
		service := own[0].Service
		if !fits(service) {
			continue
		}
		var of []*Plan
		all := releasesOf(own, versionLabel(own), until)
		for _, r := range all[max(0, len(all)-followed):] {
			p, err := plan(st, own, Options{Service: service, Head: r.version, Until: until})
			if err == nil && r.version != "" && p.Until.Truncate(p.Block).Sub(r.first) >= p.Block { // before, each look would judge it anew
				of = append(of, p)
			} else if err != nil && !errors.Is(err, store.ErrNothing) {
				return nil, err
			}
		}
		if len(of) > 0 {
			list = append(list, of)
		}
	}
	return list, nil
}

// Read reads the windows.
func (p *Plan) Read(ctx context.Context) (*Compared, error) {
	c := p.Compared
	c.Store, c.Pushed = pushed.New(p.st), map[[2]string]continuous.Type{}
	b := &builder{Plan: p, to: c.Store}
	for _, t := range p.Types {
		var err error
		if c.Instance != "" {
			err = b.addSpreads(ctx, t)
		} else {
			err = b.addBlocks(ctx, t)
		}
		if _, ok := errors.AsType[*continuous.SummedError](err); ok && p.label != "" { // instances are not kept for so long
			return p.summed().Read(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.aged == sameAge && b.fewOfBase() { // their first windows are not kept any more
		young := *p
		young.aged = anyAge
		return young.Read(ctx)
	}
	c.Pending, c.drifted = b.pending(), b.drift != nil
	return &c, b.store(ctx, &c)
}

// noService returns the error of a service without windows; it names those that have some.
func noService(ctx context.Context, st continuous.Store, service string) error {
	all, err := st.Series(ctx, continuous.Query{})
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range all {
		names[all[i].Service] = true
	}
	list := slices.Sorted(maps.Keys(names))
	switch {
	case len(list) == 0:
		return fmt.Errorf("no service has pushed profiles: %w", store.ErrNothing)
	case len(list) > 10:
		return fmt.Errorf("service %q has no profiles; %d services have, such as %.200q: %w", service, len(list), list[:10], store.ErrNothing)
	}
	return fmt.Errorf("service %q has no profiles; these services have: %.200q: %w", service, list, store.ErrNothing)
}

// versionLabel returns the first label of continuous.VersionLabels that a series has.
func versionLabel(series []continuous.Series) string {
	for _, name := range continuous.VersionLabels {
		if slices.ContainsFunc(series, func(s continuous.Series) bool { return s.Labels.Get(name) != "" }) {
			return name
		}
	}
	return continuous.VersionLabels[0]
}

// typesOf returns the types of series, in order of their text, without numbers of samples
// beside the time that is those times a constant, and the type that counts requests; zero if
// none does.
func typesOf(series []continuous.Series) (list []continuous.Type, requests continuous.Type) {
	types := map[continuous.Type]bool{}
	for i := range series {
		if t := series[i].Type; t.Requests() {
			requests = t
		} else {
			types[t] = true
		}
	}
	maps.DeleteFunc(types, func(t continuous.Type, _ bool) bool {
		timed := t
		timed.SampleType, timed.SampleUnit = t.PeriodType, t.PeriodUnit
		return t.SampleType == "samples" && types[timed]
	})
	return slices.SortedFunc(maps.Keys(types), func(a, b continuous.Type) int { return cmp.Compare(a.String(), b.String()) }), requests
}

// releasesOf returns the releases of series, oldest first window first.
func releasesOf(series []continuous.Series, label string, until time.Time) []release {
	of := map[string]*release{}
	for i := range series {
		s := &series[i]
		last := continuous.Earlier(s.Last, until)
		r := of[s.Labels.Get(label)]
		if r == nil {
			r = &release{s.Labels.Get(label), s.First, last}
			of[r.version] = r
		}
		r.first, r.last = continuous.Earlier(r.first, s.First), continuous.Later(r.last, last)
	}
	list := []release{}
	for _, r := range of {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b release) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.version, b.version))
	})
	return list
}

// choose finds the releases to compare and sets what c says of them.
func choose(all []release, c *Compared, o Options) (head release, base []release, err error) {
	at := len(all) - 1
	if o.Head != "" {
		if at = slices.IndexFunc(all, func(r release) bool { return r.version == o.Head }); at < 0 {
			return head, nil, fmt.Errorf("no windows with %s=%q: %w", c.Label, o.Head, store.ErrNothing)
		}
	}
	head = all[at]
	if head.last.Sub(head.first) > longest {
		head.last = head.first.Add(longest)
	}
	span := head.last.Sub(head.first)
	for i, r := range all {
		from, until := continuous.Later(r.first, head.first), continuous.Earlier(r.last, head.last)
		switch {
		case i == at || o.Base != "" && r.version != o.Base:
		case until.Sub(from) >= span/2:
			base = append(base, r)
		}
	}
	c.Beside = len(base) > 0
	for i, r := range all {
		before := o.Base == "" && i == at-1 || o.Base != "" && r.version == o.Base && i != at
		if len(base) == 0 && before {
			base = []release{r}
		}
	}
	switch {
	case len(base) == 0 && o.Base != "":
		return head, nil, fmt.Errorf("no windows with %s=%q: %w", c.Label, o.Base, store.ErrNothing)
	case len(base) == 0:
		return head, nil, fmt.Errorf("there is no release before %s=%q to compare with: %w", c.Label, head.version, store.ErrNothing)
	}
	c.Head, c.From, c.Block = head.version, head.first, pushed.Step(span, headRuns)
	for _, r := range base {
		c.Base = append(c.Base, r.version)
	}
	slices.Sort(c.Base)
	// A block that is not over yet waits, so that a release is judged again with each block. A
	// base that runs beside it is read as far.
	if whole := head.last.Truncate(c.Block); whole.Sub(head.first) >= c.Block {
		head.last = whole
	}
	for i := range base {
		base[i].last = continuous.Earlier(base[i].last, head.last)
	}
	c.Until = head.last
	return head, base, nil
}

// machines says of which kind of machine the sides have none in common.
func machines(series []continuous.Series, c *Compared) string {
	for _, name := range machineLabels {
		var of [2][]string
		for i := range series {
			kind, version := series[i].Labels.Get(name), series[i].Labels.Get(c.Label)
			if kind != "" && version == c.Head {
				of[0] = append(of[0], kind)
			} else if kind != "" && slices.Contains(c.Base, version) {
				of[1] = append(of[1], kind)
			}
		}
		common := slices.ContainsFunc(of[0], func(kind string) bool { return slices.Contains(of[1], kind) })
		if len(of[0]) > 0 && len(of[1]) > 0 && !common {
			return fmt.Sprintf("%s %.80q, not %.80q", name, of[0][0], of[1][0])
		}
	}
	return ""
}

// builder makes runs of windows.
type builder struct {
	*Plan
	to    *pushed.Store
	runs  []built
	drift drift // of the type's functions in the base; nil: unknown
}

// built is a run before it is known what its operations are.
type built struct {
	*store.File
	pushed            continuous.Type
	seconds, requests float64 // 0: unknown
}

// addSpreads makes the runs of both sides of a type that are some of the instances.
func (b *builder) addSpreads(ctx context.Context, t continuous.Type) (err error) {
	if b.aged == sameAge {
		if b.drift, err = b.driftOf(ctx, t); err != nil {
			return err
		}
	}
	head, base := b.compared(0), b.compared(1)
	each := (len(head) + headSpread - 1) / headSpread
	if err := b.addSpread(ctx, t, Head, []release{b.head}, head, each); err != nil {
		return err
	}
	return b.addSpread(ctx, t, Base, b.base, base, each)
}

// addSpread makes runs of a side of a type that have about each of the instances: as many
// on both sides, so that the noise between runs of the base is that of the head's.
func (b *builder) addSpread(ctx context.Context, t continuous.Type, side string, of []release, list []instance, each int) error {
	runs, from, until := max(1, len(list)/each), b.From, b.Until
	if side == Base && b.aged == sameAge {
		from, until = time.Time{}, time.Time{}
	}
	for i := range min(runs, baseSpread) {
		var some []instance
		for at := i; at < len(list); at += runs {
			some = append(some, list[at])
		}
		if err := b.run(ctx, t, side, of, from, until, fmt.Sprintf("#%d", i+1), some); err != nil {
			return err
		}
	}
	return nil
}

// addBlocks makes the runs of both sides of a type that are blocks of time.
func (b *builder) addBlocks(ctx context.Context, t continuous.Type) error {
	block := b.Block
	end := b.head.last.Add(-1)
	for i, from := 0, end.Truncate(block); i < headRuns && !from.Add(block).Before(b.From.Add(1)); i, from = i+1, from.Add(-block) {
		if err := b.run(ctx, t, Head, []release{b.head}, continuous.Later(from, b.From), from.Add(block), "", nil); err != nil {
			return err
		}
	}
	first := b.base[0].first
	switch {
	case b.aged == sameAge:
		end = continuous.Earlier(b.base[0].last, first.Add(b.Until.Sub(b.head.first))).Add(-1)
	case b.Beside:
		first = b.head.first
	default: // the block in which both ran belongs to neither's steady state
		end = continuous.Earlier(b.base[0].last, b.head.first.Truncate(block)).Add(-1)
	}
	first = first.Truncate(block)
	for i, from := 0, end.Truncate(block); i < baseRuns && !from.Before(first); i, from = i+1, from.Add(-block) {
		if err := b.run(ctx, t, Base, b.base, from, from.Add(block), "", nil); err != nil {
			return err
		}
	}
	return nil
}

// run adds up windows of releases to a run, unless there is none: those of some instances, or of all.
func (b *builder) run(ctx context.Context, t continuous.Type, side string, of []release, from, until time.Time, name string,
	some []instance) error {
	all := some == nil
	if all && side == Head {
		some = b.compared(0)
	} else if all {
		some = b.compared(1)
	}
	list := windows(b.selection(t, of, from, until), b.label, some, all)
	if len(list) == 0 {
		return nil
	} else if from.IsZero() {
		from = list[0].From
	}
	version := cmp.Or(of[0].version, "(none)")
	if len(of) > 1 {
		version = "(others)"
	}
	f, merged, err := b.to.Read(ctx, &pushed.Run{Benchmark: testrun.Benchmark{Group: b.Service, Name: t.Name}, Windows: list, Instance: true,
		Run: testrun.Run{Key: version + cmp.Or(name, "@"+from.UTC().Format("2006-01-02T15:04")), Date: from.UTC(), Commit: version,
			Attributes: map[string]string{VersionAttribute: version, SideAttribute: side}}})
	if err != nil || f == nil {
		return err
	}
	if side == Base && b.drift != nil {
		b.drift.apply(f.Records[0])
	}
	made := built{File: f, pushed: t}
	if !t.Gauge() {
		made.seconds = merged.Covered.Seconds()
		if made.requests, err = b.counted(ctx, list); err != nil {
			return err
		}
	}
	b.runs = append(b.runs, made)
	return nil
}

// selection selects windows of releases.
func (p *Plan) selection(t continuous.Type, of []release, from, until time.Time) continuous.Query {
	versions := column.Of(of, func(r release) string { return r.version })
	return continuous.Query{Type: t, From: from, Until: until, Matchers: append([]continuous.Matcher{
		{Name: p.Label, Op: continuous.Matches, Value: alternatives(versions)}}, p.of...)}
}

// fewOfBase reports whether a type has fewer runs of the base than a comparison needs.
func (b *builder) fewOfBase() bool {
	n := map[continuous.Type]int{}
	for _, r := range b.runs {
		if r.Run.Attributes[SideAttribute] == Base {
			n[r.pushed]++
		}
	}
	return slices.ContainsFunc(b.Types, func(t continuous.Type) bool { return n[t] < leastBase })
}

// counted returns the number of requests in the time of selections, 0 if it is unknown.
func (b *builder) counted(ctx context.Context, list []continuous.Query) (sum float64, err error) {
	if b.requests == (continuous.Type{}) {
		return 0, nil
	}
	for _, q := range list {
		q.Type = b.requests
		merged, err := b.st.Tree(ctx, q)
		if err != nil {
			return 0, err
		}
		for _, x := range merged.Tree.Self {
			sum += float64(x)
		}
	}
	return sum, nil
}

// store stores the runs. An operation is a request if the requests of all runs are known.
func (b *builder) store(ctx context.Context, c *Compared) error {
	for _, of := range b.runs {
		if of.seconds > 0 && of.requests == 0 && c.Operation == testrun.Requests {
			c.Operation, c.Uncounted = testrun.Seconds, of.Run.Key
		}
	}
	for _, of := range b.runs {
		served := testrun.NewServed(of.seconds, c.Operation)
		if c.Operation == testrun.Requests {
			served.Mean = of.requests
		}
		if served.Mean > 0 {
			of.Metrics = []testrun.Metric{served}
		}
		at := [2]string{of.Benchmark.Name, of.Records[0].Type.Name}
		if _, ok := c.Pushed[at]; !ok {
			c.Pushed[at] = of.pushed
		}
		if err := b.to.Add(ctx, of.File); err != nil {
			return err
		}
	}
	return nil
}

// alternatives is a pattern of values.
func alternatives(values []string) string {
	quoted := column.Of(values, regexp.QuoteMeta)
	return strings.Join(quoted, "|")
}
