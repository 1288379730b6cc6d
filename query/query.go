// Package query answers every question a user can ask, whatever the surface it comes
// from: the command line, the HTTP API, a page, a tool of an assistant.
//
//	request ──query.X(ctx, store, &request)──▶ result
//
// A request is plain data: a struct whose fields are the parameters of the question,
// with their names, defaults and help texts in tags (package param). A command reads
// the fields from flags, the API from the address; both call the same function here.
// A result is plain data with JSON tags, written by WriteJSON: one schema, described in
// docs/schema/json.md. Long lists of a result are made while they are written.
//
// Words: an input is what a view is made of, the sum of a selection or the samples of
// one file; a document is a result; notes are what a reader of the numbers has to know.
//
// What only the client has travels in the request: acknowledged changes, and the
// commits of its git repository. Files are read here too (Files), so that a view of a
// file is the view of a store.
//
// Errors of a request that makes no sense are *param.Error; the others are those of
// package store. The package does not print, does not know HTTP, and opens no store.
package query

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Selection chooses profiles of a store; it is the same in every request. Fields that
// are set narrow it.
type Selection struct {
	Groups     []string          `param:"group" arg:"name" help:"benchmark group, exact or glob; repeatable" json:"group,omitempty"`
	Benchmarks []string          `param:"benchmark" arg:"name" help:"benchmark, with or without its parameters, exact or glob; repeatable" json:"benchmark,omitempty"`
	Params     map[string]string `param:"param" arg:"key=value" help:"parameter in the benchmark's name; repeatable" json:"param,omitempty"`
	Branches   []string          `param:"branch" arg:"name" help:"branch of the run; repeatable" json:"branch,omitempty"`
	Commits    []string          `param:"commit" arg:"hash" help:"commit of the run, or its first 7 or more digits; repeatable" json:"commit,omitempty"`
	Machines   []string          `param:"machine" arg:"name" help:"machine of the run; repeatable" json:"machine,omitempty"`
	Attributes map[string]string `param:"attr" arg:"key=value" help:"attribute of the run; repeatable" json:"attr,omitempty"`
	Runs       []string          `param:"run" arg:"key" help:"key of the run, exact or glob; repeatable" json:"run,omitempty"`
	Profiles   []ID              `param:"profile" arg:"id" help:"profile id, or its first digits; repeatable" json:"profile,omitempty"`
	Since      Instant           `param:"since" arg:"date" help:"runs from this date on (RFC 3339, 2026-11-21, or an age: 30d, 12h)" json:"since,omitzero"`
	Until      Instant           `param:"until" arg:"date" help:"runs before this date" json:"until,omitzero"`
	Last       int               `param:"last" arg:"n" min:"0" help:"the newest n runs of each benchmark" json:"last,omitempty"`
	Types      []string          `param:"type" arg:"name" help:"value type: cpu, wall, alloc, …; repeatable (default: that of most benchmarks, or all where changes are judged)" json:"type,omitempty"`
}

// Query returns the selection as stores take it.
func (s *Selection) Query() store.Query {
	q := store.Query{Groups: s.Groups, Benchmarks: s.Benchmarks, Params: s.Params, Branches: s.Branches, Commits: s.Commits, Machines: s.Machines,
		Attributes: s.Attributes, Runs: s.Runs, Types: s.Types, Since: s.Since.Time, Until: s.Until.Time, Last: s.Last}
	for _, id := range s.Profiles {
		q.Profiles = append(q.Profiles, store.ProfileID(id))
	}
	return q
}

// SelectionOf returns a query as a selection.
func SelectionOf(q store.Query) Selection {
	s := Selection{Groups: q.Groups, Benchmarks: q.Benchmarks, Params: q.Params, Branches: q.Branches, Commits: q.Commits, Machines: q.Machines,
		Attributes: q.Attributes, Runs: q.Runs, Types: q.Types, Since: Instant{q.Since}, Until: Instant{q.Until}, Last: q.Last}
	for _, id := range q.Profiles {
		s.Profiles = append(s.Profiles, ID(id))
	}
	return s
}

// typ returns the one value type that is selected; empty: none or several.
func (s *Selection) typ() string {
	if len(s.Types) == 1 {
		return s.Types[0]
	}
	return ""
}

// ID is the id of a profile as users write it: at least 4 digits that no other id begins
// with.
type ID store.ProfileID

// UnmarshalText parses an id.
func (i *ID) UnmarshalText(text []byte) error {
	id := strings.ToLower(strings.TrimSpace(string(text)))
	if !idPrefix.MatchString(id) {
		return fmt.Errorf("%.60q is not a profile id (16 hexadecimal digits, as `dendro runs --profiles` prints them, or at least the first 4 of them)", text)
	}
	*i = ID(id)
	return nil
}

var idPrefix = regexp.MustCompile(`^[0-9a-f]{4,16}$`)

// Instant is a date, or an age that was subtracted from the time of parsing.
type Instant struct{ time.Time }

// UnmarshalText parses RFC 3339, a date, or an age (30d, 12h).
func (i *Instant) UnmarshalText(text []byte) (err error) {
	i.Time, err = ingest.ParseInstant(string(text), time.Now())
	return err
}

// Milli returns the instant in ms since 1970; 0 if it is not set.
func (i Instant) Milli() int64 {
	if i.IsZero() {
		return 0
	}
	return i.UnixMilli()
}

// SQLRequest are the parameters of a user's own query, whose text is the body.
type SQLRequest struct {
	Rows int `param:"rows" min:"0" default:"100000" help:"maximum number of rows (0: all)"`
}

// Share is a fraction from 0 to 1.
type Share float64

// UnmarshalText parses 5%, 5 % or 0.05.
func (s *Share) UnmarshalText(text []byte) error {
	v, err := parseShare(string(text))
	*s = Share(v)
	return err
}

// selected returns the profiles of a selection; that there are none is an error.
func selected(ctx context.Context, st store.Reader, q store.Query) ([]store.Profile, error) {
	list, err := st.Profiles(ctx, q)
	if err == nil && len(list) == 0 {
		err = store.OneType(nil, q)
	}
	return list, err
}

// newestAndBefore splits a selection into its newest runs and those before.
func newestAndBefore(ctx context.Context, st store.Reader, q store.Query) (now, before []store.Profile, err error) {
	now, before, err = store.NewestAndBefore(ctx, st, q)
	if err == nil && len(before) == 0 {
		err = fmt.Errorf("no run before the last %d to compare with: import more runs, or leave out --last: %w", q.Last, store.ErrNothing)
	}
	return now, before, err
}

// WrongRequest makes an error one of the request.
func WrongRequest(err error) error { return usage("%w", err) }

// usage is short for an error of the request.
func usage(format string, args ...any) error { return param.Errorf(format, args...) }
