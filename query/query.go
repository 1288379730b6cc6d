// Package query answers every question a user can ask, whatever the surface it comes
// from: the command line, the HTTP API, a page, a tool of an assistant.
//
//	request ──judge.X(ctx, store, &request)──▶ result
//
// A request is plain data: a struct whose fields are the parameters of the question,
// with their names, defaults and help texts in tags (package param). A command reads
// the fields from flags, the API from the address; both call the same function here.
// A result is plain data with JSON tags, written by document.Write: one schema, described in
// docs/schema/json.md. Long lists of a result are made while they are written.
//
// Words: an input is what a view is made of, the sum of a selection or the samples of
// one file; a document is a result; notes are what a reader of the numbers has to know.
//
// What only the client has travels in the request: acknowledged changes, and the
// commits of its git repository. Files are read here too (Files), so that a view of a
// file is the view of a store.
//
// The questions have rooms: trees answers where samples are spent and what differs between
// two sides, judge what is slow and what became slower, tasks is about trace profiling. This
// package has what they share, and the lists of runs, profiles, functions and services.
//
// Errors of a request that makes no sense are *param.Error; the others are those of
// package store. The package does not print, does not know HTTP, and opens no store.
package query

import (
	"context"
	"fmt"
	"time"

	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// Selection chooses profiles; it is the same in every request. Its fields are the
// parameters, with their names and help texts.
type Selection = store.Query

// TypeOf returns the one value type that is selected; empty: none or several.
func TypeOf(s *Selection) string {
	if len(s.Types) == 1 {
		return s.Types[0]
	}
	return ""
}

// Milli returns a time in ms since 1970; 0 if it is not set.
func Milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Share is a fraction from 0 to 1.
type Share float64

// UnmarshalText parses 5%, 5 % or 0.05.
func (s *Share) UnmarshalText(text []byte) error {
	v, err := words.ParseShare(string(text))
	if err != nil {
		return param.Errorf("%w", err)
	}
	*s = Share(v)
	return nil
}

// ShareOf returns part ÷ whole; 0 of nothing.
func ShareOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// ProfilesOf returns the profiles of a selection; that there are none is an error.
func ProfilesOf(ctx context.Context, st store.Reader, q store.Query) ([]store.Profile, error) {
	list, err := st.Profiles(ctx, q)
	if err == nil && len(list) == 0 {
		err = store.OneType(nil, q)
	}
	return list, err
}

// NewestAndBefore splits a selection into its newest runs and those before.
func NewestAndBefore(ctx context.Context, st store.Reader, q store.Query) (now, before []store.Profile, err error) {
	now, before, err = store.NewestAndBefore(ctx, st, q)
	if err == nil && len(before) == 0 {
		err = fmt.Errorf("no run before the last %d to compare with: import more runs, or leave out --last: %w", q.Last, store.ErrNothing)
	}
	return now, before, err
}

// Selected returns the selected profiles of all value types; that there are none is an
// error.
func Selected(ctx context.Context, st store.Reader, s *Selection) ([]store.Profile, error) {
	list, err := ProfilesOf(ctx, st, *s)
	return list, Hinted(ctx, st, s, err)
}

// Original returns the original file of the one selected profile.
func Original(ctx context.Context, st store.Store, s *Selection) ([]byte, error) {
	list, err := st.Profiles(ctx, *s)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, param.Errorf("--source writes the file of one profile; %d are selected", len(list))
	}
	return st.Source(ctx, list[0].ID)
}
