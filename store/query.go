package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/calltree/callpath"
	"github.com/dendroprof/dendro/internal/column"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/testrun"
)

// Query selects profiles. It is plain data and travels as JSON, and as the parameters of
// requests that the tags describe (package query/param). Every field that is set narrows
// the selection; the zero Query selects everything.
//
// Texts select by equality if some profile has exactly that text, else as globs
// (`*`, `?`); the values of Params and Attributes by either. Several texts of
// one field are alternatives. A value type has several names (profile.NamedTypes).
type Query struct {
	Groups     []string          `param:"group" arg:"name" help:"benchmark group, exact or glob; repeatable" json:"group,omitempty"`
	Benchmarks []string          `param:"benchmark" arg:"name" help:"benchmark, with or without its parameters, exact or glob; repeatable" json:"benchmark,omitempty"`
	Params     map[string]string `param:"param" arg:"key=value" help:"parameter in the benchmark's name; repeatable" json:"param,omitempty"`
	Branches   []string          `param:"branch" arg:"name" help:"branch of the run; repeatable" json:"branch,omitempty"`
	Commits    []string          `param:"commit" arg:"hash" help:"commit of the run, or its first 7 or more digits; repeatable" json:"commit,omitempty"`
	Machines   []string          `param:"machine" arg:"name" help:"machine of the run; repeatable" json:"machine,omitempty"`
	Attributes map[string]string `param:"attr" arg:"key=value" help:"attribute of the run; repeatable" json:"attr,omitempty"`
	Runs       []string          `param:"run" arg:"key" help:"key of the run, exact or glob; repeatable" json:"run,omitempty"`
	Profiles   []ProfileID       `param:"profile" arg:"id" help:"profile id, or its first digits; repeatable" json:"profile,omitempty"`
	Since      time.Time         `param:"since" arg:"date" help:"runs from this date on (RFC 3339, 2026-11-21, Monday, or an age: 30d, 12h)" json:"since,omitzero"`
	Until      time.Time         `param:"until" arg:"date" help:"runs before this date" json:"until,omitzero"`
	Last       int               `param:"last" arg:"n" min:"0" help:"the newest n runs of each benchmark" json:"last,omitempty"`
	Types      []string          `param:"type" arg:"name" help:"value type: cpu, wall, alloc, …; repeatable (default: that of most benchmarks, or all where changes are judged)" json:"type,omitempty"`
	Pushed
}

// Pushed selects profiles that programs push, in place of runs. No run of a store is one: package
// query reads them as runs of a store of their own.
type Pushed struct {
	Service string `param:"service" arg:"name" help:"pushed profiles of this service in place of runs; --type may be the type as pushed (list: dendro services)" json:"service,omitempty"`
	Labels  string `param:"labels" arg:"{name=\"value\"}" help:"pushed profiles whose labels match, in the syntax of Prometheus: {version=~\"1.*\",zone!=\"b\"}" json:"labels,omitempty"`
}

// Chosen reports whether pushed profiles are selected.
func (p *Pushed) Chosen() bool { return p.Service != "" || p.Labels != "" }

// Selected returns the query, of a request that contains it.
func (q *Query) Selected() *Query { return q }

// Filter returns the selected profiles of all: by run date, then run key, then
// import order; with Last, the newest n runs of each benchmark among what the
// other fields select. It defines what a Query means. The result is all itself if that is
// so, as lists are long and each Profile is large.
func (q *Query) Filter(all []Profile) []Profile {
	if q.Pushed.Chosen() {
		return nil
	}
	match := q.matcher(all)
	var picked []*Profile // a Profile is too large to be moved about while sorting
	for i := range all {
		if match(&all[i]) {
			picked = append(picked, &all[i])
		}
	}
	if picked = ofTypes(picked, q.Types); len(picked) == 0 {
		return nil
	}
	sorted := slices.IsSortedFunc(picked, compareProfiles)
	if !sorted {
		slices.SortStableFunc(picked, compareProfiles)
	}
	if q.Last > 0 {
		picked = newest(picked, q.Last)
	}
	if sorted && len(picked) == len(all) {
		return slices.Clip(all)
	}
	return column.Of(picked, func(p *Profile) Profile { return *p })
}

func compareProfiles(a, b *Profile) int {
	return cmp.Or(a.Run.Date.Compare(b.Run.Date), cmp.Compare(a.Run.Key, b.Run.Key), cmp.Compare(a.Seq, b.Seq))
}

// newest keeps the last n runs of each benchmark.
func newest(list []*Profile, n int) []*Profile {
	runs := map[testrun.Benchmark]map[string]bool{}
	keep := make([]bool, len(list))
	for i, p := range slices.Backward(list) {
		have := runs[p.Benchmark]
		if have == nil {
			have = map[string]bool{}
			runs[p.Benchmark] = have
		}
		if keep[i] = have[p.Run.Key] || len(have) < n; keep[i] {
			have[p.Run.Key] = true
		}
	}
	kept := list[:0]
	for i := range list {
		if keep[i] {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// NewestAndBefore splits a selection with Last into the newest runs of each
// benchmark and those before them. A benchmark that has none before is in
// neither: it cannot be compared. Both are empty if that goes for all; the
// errors are those of Select.
func NewestAndBefore(ctx context.Context, r Reader, q Query) (now, before []Profile, err error) {
	all := q
	all.Last = 0
	list, err := Select(ctx, r, all)
	if err != nil {
		return nil, nil, err
	}
	now = q.Filter(slices.Clone(list))
	before = without(list, now)
	compared := map[testrun.Benchmark]bool{}
	for i := range before {
		compared[before[i].Benchmark] = true
	}
	return slices.DeleteFunc(now, func(p Profile) bool { return !compared[p.Benchmark] }), before, nil
}

// Old returns the profiles that are beyond the newest runs to keep of each benchmark (0 or
// less: their number does not matter) and of a run before the date, if there is one; none
// without either. A run without a date has no age.
func Old(list []Profile, keep int, before time.Time) []ProfileID {
	if keep <= 0 && before.IsZero() {
		return nil
	}
	if keep > 0 {
		list = without(list, (&Query{Last: keep}).Filter(slices.Clone(list)))
	}
	if !before.IsZero() {
		list = slices.DeleteFunc(slices.Clone(list), func(p Profile) bool { return p.Run.Date.IsZero() || !p.Run.Date.Before(before) })
	}
	return IDs(list)
}

// without returns the profiles of a list that are not in another.
func without(list, other []Profile) []Profile {
	in := map[ProfileID]bool{}
	for i := range other {
		in[other[i].ID] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(p Profile) bool { return in[p.ID] })
}

// IDs returns the identities of profiles.
func IDs(list []Profile) []ProfileID {
	ids := make([]ProfileID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

// IDSet returns the ids of profiles as a set.
func IDSet(list []Profile) map[ProfileID]bool {
	is := make(map[ProfileID]bool, len(list))
	for i := range list {
		is[list[i].ID] = true
	}
	return is
}

// matcher returns the predicate of all fields but Types and Last.
func (q *Query) matcher(all []Profile) func(*Profile) bool {
	var tests []func(*Profile) bool
	add := func(want []string, values func(*Profile) []string) {
		if len(want) == 0 {
			return
		}
		ok := textMatcher(want, all, values)
		tests = append(tests, func(p *Profile) bool { return slices.ContainsFunc(values(p), ok) })
	}
	one := func(field func(*Profile) string) func(*Profile) []string {
		return func(p *Profile) []string { return []string{field(p)} }
	}
	add(q.Groups, one(func(p *Profile) string { return p.Benchmark.Group }))
	parsed := parsedNames{}
	if len(q.Benchmarks) > 0 {
		ok := parsed.matcher(q.Benchmarks, all)
		tests = append(tests, ok)
	}
	add(q.Branches, one(func(p *Profile) string { return p.Run.Branch }))
	add(q.Machines, one(func(p *Profile) string { return p.Run.Machine }))
	add(q.Runs, one(func(p *Profile) string { return p.Run.Key }))
	if len(q.Commits) > 0 {
		tests = append(tests, func(p *Profile) bool {
			return slices.ContainsFunc(q.Commits, func(c string) bool {
				return c == p.Run.Commit || len(c) >= 7 && strings.HasPrefix(p.Run.Commit, c)
			})
		})
	}
	if len(q.Profiles) > 0 {
		ids := make(map[ProfileID]bool, len(q.Profiles))
		for _, id := range q.Profiles {
			if id.IsShort() {
				id = beginningWith(id, all)
			}
			ids[id] = true
		}
		tests = append(tests, func(p *Profile) bool { return ids[p.ID] })
	}
	if !q.Since.IsZero() {
		tests = append(tests, func(p *Profile) bool { return !p.Run.Date.Before(q.Since) })
	}
	if !q.Until.IsZero() {
		tests = append(tests, func(p *Profile) bool { return !p.Run.Date.IsZero() && p.Run.Date.Before(q.Until) })
	}
	for k, v := range q.Params {
		ok := callpath.Glob(v)
		tests = append(tests, func(p *Profile) bool {
			for _, param := range parsed.of(p).params {
				if param.Key == k && (param.Value == v || ok(param.Value)) {
					return true
				}
			}
			return false
		})
	}
	for k, v := range q.Attributes {
		ok := callpath.Glob(v)
		tests = append(tests, func(p *Profile) bool {
			have, is := p.Run.Attributes[k]
			return is && (have == v || ok(have))
		})
	}
	return func(p *Profile) bool {
		for _, t := range tests {
			if !t(p) {
				return false
			}
		}
		return true
	}
}

// ofTypes keeps the profiles whose value type has one of the names, by the rules of
// profile.NamedTypes or, if none has it by these, as a glob.
func ofTypes(list []*Profile, want []string) []*Profile {
	if len(want) == 0 {
		return list
	}
	types := make([]*profile.ValueType, len(list))
	for i, p := range list {
		types[i] = &p.Type
	}
	keep := make([]bool, len(list))
	for _, text := range want {
		named := profile.NamedTypes(types, text)
		if len(named) == 0 && strings.ContainsAny(text, "*?") {
			match := callpath.Glob(text)
			for i, t := range types {
				if match(t.Name) {
					named = append(named, i)
				}
			}
		}
		for _, i := range named {
			keep[i] = true
		}
	}
	var kept []*Profile
	for i, p := range list {
		if keep[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// beginningWith returns the one id that begins with some digits; empty if none does, or
// several.
func beginningWith(digits ProfileID, all []Profile) (id ProfileID) {
	for i := range all {
		if p := &all[i]; strings.HasPrefix(string(p.ID), string(digits)) && p.ID != id {
			if id != "" {
				return ""
			}
			id = p.ID
		}
	}
	return id
}

// parsedNames caches the parsed names of benchmarks: there are far fewer of them
// than profiles.
type parsedNames map[testrun.Benchmark]*parsedName

type parsedName struct {
	names  []string // full, base
	others []string // as reports and go test print them
	params []testrun.Param
}

// goPrefix begins the names of Go benchmarks as go test prints them.
const goPrefix = "Benchmark"

func (m parsedNames) of(p *Profile) *parsedName {
	n := m[p.Benchmark]
	if n == nil {
		base, params := p.Benchmark.Params()
		full := p.Benchmark.Name
		n = &parsedName{[]string{full, base}, []string{goPrefix + full, goPrefix + base, p.Benchmark.Group + "/" + full,
			p.Benchmark.Group + "/" + base}, params}
		m[p.Benchmark] = n
	}
	return n
}

// matcher matches profiles whose benchmark one of the texts names: by its name, with or without
// parameters, exactly or as a glob; also as group/name, or as go test prints it.
func (m parsedNames) matcher(want []string, all []Profile) func(*Profile) bool {
	own := textMatcher(want, all, func(p *Profile) []string { return m.of(p).names })
	return func(p *Profile) bool {
		n := m.of(p)
		return slices.ContainsFunc(n.names, own) || slices.ContainsFunc(n.others, func(name string) bool { return slices.Contains(want, name) })
	}
}

// textMatcher matches a value against texts, each exact if any profile has it
// exactly, else a glob.
func textMatcher(want []string, all []Profile, values func(*Profile) []string) func(string) bool {
	isGlob := func(text string) bool { return strings.ContainsAny(text, "*?") }
	matches := map[string]bool{} // of each distinct value; without globs of the texts alone
	if slices.ContainsFunc(want, isGlob) {
		for i := range all {
			for _, v := range values(&all[i]) {
				matches[v] = false
			}
		}
	}
	for _, w := range want {
		if _, exact := matches[w]; exact || !isGlob(w) {
			matches[w] = true
			continue
		}
		ok := callpath.Glob(w)
		for v, already := range matches {
			matches[v] = already || ok(v)
		}
	}
	return func(v string) bool { return matches[v] }
}

// String describes the query for messages: the fields that are set.
func (q *Query) String() string {
	var parts []string
	list := func(name string, v []string) {
		if len(v) > 0 {
			parts = append(parts, name+" "+strings.Join(v, ", "))
		}
	}
	list("group", q.Groups)
	list("benchmark", q.Benchmarks)
	for _, kv := range []struct {
		name string
		m    map[string]string
	}{{"param", q.Params}, {"attr", q.Attributes}} {
		for _, k := range slices.Sorted(maps.Keys(kv.m)) {
			parts = append(parts, kv.name+" "+k+"="+kv.m[k])
		}
	}
	list("branch", q.Branches)
	list("commit", q.Commits)
	list("machine", q.Machines)
	list("run", q.Runs)
	list("type", q.Types)
	if n := len(q.Profiles); n > 0 {
		parts = append(parts, fmt.Sprintf("%d profile ids", n))
	}
	if !q.Since.IsZero() {
		parts = append(parts, "since "+q.Since.Format(time.RFC3339))
	}
	if !q.Until.IsZero() {
		parts = append(parts, "until "+q.Until.Format(time.RFC3339))
	}
	if q.Last > 0 {
		parts = append(parts, fmt.Sprintf("last %d", q.Last))
	}
	if q.Service != "" {
		parts = append(parts, "service "+q.Service)
	}
	if q.Labels != "" {
		parts = append(parts, "labels "+q.Labels)
	}
	if parts == nil {
		return "everything"
	}
	return strings.Join(parts, "; ")
}
