package releases

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/pushed"
)

// warmUp is the time in which an instance compiles its code and fills its caches. It is not compared, unless
// a release has run for less than twice as long, or Options.Skip is another time.
const warmUp = 30 * time.Minute

// ages says which windows of instances are compared. The age of a window is the time from the first
// window of its instance on.
type ages uint8

const (
	allAges ages = iota
	anyAge       // all, of a young release: what the base was like at this age is unknown
	sameAge      // of a young release: those of the base that are as old
	older        // those of a minimum age
	later        // the same of the head as a whole: its instances do not live so long
)

// ages describes which windows are compared.
func (c *Compared) ages() string {
	same := "instances of the same age are compared"
	if c.drifted {
		same += ", less what changed in the base since"
	}
	skipped, young := pushed.SpokenStep(c.Skip), fmt.Sprintf("; %q is younger than %s: ", c.Head, pushed.SpokenStep(2*warmUp))
	return [...]string{"", young + "what is found may be its warm-up", young + same,
		fmt.Sprintf("; the first %s of each instance are not compared", skipped),
		fmt.Sprintf("; the first %s of %q are not compared", skipped, c.Head)}[c.aged]
}

// instance is a value of the label that tells instances apart.
type instance struct {
	name        string
	first, last time.Time // of its windows
	from, until time.Time // of those that are compared; zero: no limit
}

// instancesOf returns the label whose values tell most instances of both sides apart, empty if there is none,
// and the instances of the head and of the base by name.
func instancesOf(series []continuous.Series, c *Compared) (label string, of [2][]instance) {
	each := func(f func(s *continuous.Series, side int)) {
		for i := range series {
			if s := &series[i]; !s.First.Before(c.Until) {
				continue
			} else if v := s.Labels.Get(c.Label); v == c.Head {
				f(s, 0)
			} else if slices.Contains(c.Base, v) {
				f(s, 1)
			}
		}
	}
	values := map[string][2]map[string]bool{} // by label
	each(func(s *continuous.Series, side int) {
		for _, l := range s.Labels {
			if values[l.Name][0] == nil {
				values[l.Name] = [2]map[string]bool{{}, {}}
			}
			values[l.Name][side][l.Value] = true
		}
	})
	delete(values, c.Label)
	most := 0
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if n := min(len(values[name][0]), len(values[name][1])); n > most {
			most, label = n, name
		}
	}
	known := [2]map[string]instance{{}, {}}
	each(func(s *continuous.Series, side int) {
		name := s.Labels.Get(label)
		x := known[side][name]
		known[side][name] = instance{name: name, first: continuous.Earlier(x.first, s.First),
			last: continuous.Later(x.last, continuous.Earlier(s.Last, c.Until))}
	})
	for side := range known {
		for _, name := range slices.Sorted(maps.Keys(known[side])) {
			of[side] = append(of[side], known[side][name])
		}
	}
	return label, of
}

// age decides which windows are compared. Began is the first window of the service: what ran then may have run
// before.
func (p *Plan) age(o Options, began time.Time) error {
	ran := p.head.last.Sub(p.head.first)
	known := len(p.base) == 1 && p.base[0].first.After(began)
	if p.Instance != "" {
		known = len(p.startedAfter(began)) >= leastInstances
	}
	p.began = began
	switch skip := o.Skip; {
	case skip != nil && *skip >= ran:
		return p.young(*skip)
	case skip != nil && *skip > 0:
		p.aged, p.Skip = older, *skip
	case skip != nil:
		p.aged = allAges
	case min(ran, p.baseRan()) >= 2*warmUp:
		p.aged, p.Skip = older, warmUp
	case known:
		p.aged = sameAge
	default:
		p.aged = anyAge
	}
	if p.aged == older && !p.outlived() {
		p.aged = later
	}
	p.From = p.head.first.Add(p.Skip)
	return nil
}

// youngError says that too little of a release ran for a verdict, and from when on it has one.
type youngError struct{ text string }

func (e *youngError) Error() string { return e.text }
func (*youngError) Unwrap() error   { return store.ErrNothing }

// young returns the error of a release without windows that are compared.
func (p *Plan) young(skip time.Duration) error {
	text := fmt.Sprintf("%s %q has run for %s", p.Label, p.Head, p.head.last.Sub(p.head.first).Round(time.Second))
	if skip > 0 {
		text += fmt.Sprintf(", and the first %s of each instance are not compared (--skip)", skip)
	}
	at := whole(p.head.first.Add(skip)).Truncate(p.Block).Add(p.Block)
	return &youngError{text + fmt.Sprintf("; it has a verdict from %s UTC on", at.UTC().Format(clock))}
}

// pending returns why one side has no runs; nil if both have.
func (b *builder) pending() error {
	of := func(side string) bool {
		return slices.ContainsFunc(b.runs, func(r built) bool { return r.Run.Attributes[SideAttribute] == side })
	}
	switch {
	case !of(Head):
		return b.young(b.Skip)
	case !of(Base):
		return &youngError{fmt.Sprintf("%s %q has nothing to be compared with: too little of %s ran before; the release after it has a verdict",
			b.Label, b.Head, b.against())}
	}
	return nil
}

// baseRan returns for how long the release before ran, and of releases that run beside the head as long as that.
func (p *Plan) baseRan() time.Duration {
	if p.Beside {
		return p.head.last.Sub(p.head.first)
	}
	return p.base[0].last.Sub(p.base[0].first)
}

// startedAfter returns the instances of the base that started after a time.
func (p *Plan) startedAfter(t time.Time) []instance {
	return slices.DeleteFunc(slices.Clone(p.instances[1]), func(x instance) bool { return !x.first.After(t) })
}

// old reports whether some of the windows of an instance are of the minimum age.
func (p *Plan) old(x *instance) bool { return p.aged != older || x.last.Sub(x.first) > p.Skip }

// outlived reports whether half of the instances of each side have windows of the minimum age, and enough to compare.
func (p *Plan) outlived() bool {
	for _, list := range p.instances {
		n := 0
		for i := range list {
			if p.old(&list[i]) {
				n++
			}
		}
		if 2*n < len(list) || p.Instance != "" && n < leastInstances {
			return false
		}
	}
	return true
}

// compared returns the instances of a side with the windows that are compared of each. Those of the base at the
// same age are as old as one of the head.
func (p *Plan) compared(side int) (list []instance) {
	of := p.instances[side]
	if p.aged == sameAge && side == 1 && p.Instance != "" {
		of = p.startedAfter(p.began)
	}
	for i, x := range of {
		switch head := p.instances[0]; {
		case p.Instance != "" && !p.old(&x):
			continue
		case p.aged == older:
			x.from = whole(x.first.Add(p.Skip))
		case p.aged == sameAge && side == 1:
			x.from, x.until = x.first, whole(x.first.Add(p.Until.Sub(head[i%len(head)].first)))
		}
		list = append(list, x)
	}
	return list
}

// summed returns the plan of the same releases without their instances.
func (p *Plan) summed() *Plan {
	s := *p
	s.Instance, s.label = "", ""
	for side, list := range p.instances {
		all := instance{}
		for i := range list {
			all.first, all.last = continuous.Earlier(all.first, list[i].first), continuous.Later(all.last, list[i].last)
		}
		s.instances[side] = []instance{all}
	}
	switch p.aged {
	case older:
		s.aged = later
	case sameAge:
		s.aged = anyAge
	}
	return &s
}

// whole returns the first full minute at or after a time: instances that started together are read together.
func whole(t time.Time) time.Time {
	if full := t.Truncate(time.Minute); full.Before(t) {
		return full.Add(time.Minute)
	}
	return t
}

// namedAtOnce is how many instances one selection names: patterns have a maximum size.
const namedAtOnce = 200

// windows divides a selection by instances into those of which the same time is compared. All: the instances
// are all that the selection has.
func windows(q continuous.Query, label string, of []instance, all bool) (list []continuous.Query) {
	type span struct{ from, until time.Time }
	names := map[span][]string{}
	var spans []span
	for i := range of {
		s := span{continuous.Later(q.From, of[i].from), continuous.Earlier(q.Until, of[i].until)}
		if !s.from.Before(s.until) {
			continue
		}
		if names[s] == nil {
			spans = append(spans, s)
		}
		names[s] = append(names[s], of[i].name)
	}
	for _, s := range spans {
		q.From, q.Until = s.from, s.until
		if all && len(names[s]) == len(of) {
			return []continuous.Query{q}
		}
		for some := range slices.Chunk(names[s], namedAtOnce) {
			one := q
			one.Matchers = append([]continuous.Matcher{{Name: label, Op: continuous.Matches, Value: alternatives(some)}}, q.Matchers...)
			list = append(list, one)
		}
	}
	return list
}
