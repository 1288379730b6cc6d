package api

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/testrun"
)

// runAnswer is a test run with what is stored of it.
type runAnswer struct {
	testrun.Run
	Benchmarks int      `json:"benchmarks"`
	Profiles   int      `json:"profiles"`
	Types      []string `json:"types"` // sorted
}

// selected returns the profiles that a request selects, which says nothing else.
func (a *api) selected(r *http.Request) ([]store.Profile, error) {
	p := paramsOf(r)
	q := p.selection()
	if err := p.finish(); err != nil {
		return nil, err
	}
	return a.Store.Profiles(r.Context(), q)
}

// runs lists the runs of the selected profiles, oldest first.
func (a *api) runs(w http.ResponseWriter, r *http.Request) error {
	list, err := a.selected(r)
	if err != nil {
		return err
	}
	rows := []*runAnswer{}
	at := map[string]*runAnswer{}
	type part struct {
		run       string
		benchmark testrun.Benchmark
	}
	seen := map[part]bool{}
	for i := range list {
		run := &list[i].Run
		row := at[run.Key]
		if row == nil {
			row = &runAnswer{Run: *run}
			at[run.Key] = row
			rows = append(rows, row)
		}
		row.Profiles++
		if key := (part{run.Key, list[i].Benchmark}); !seen[key] {
			seen[key] = true
			row.Benchmarks++
		}
		if !slices.Contains(row.Types, list[i].Type.Name) {
			row.Types = append(row.Types, list[i].Type.Name)
		}
	}
	for _, row := range rows {
		slices.Sort(row.Types)
	}
	return writeJSON(w, map[string]any{"rows": rows})
}

// profiles lists the selected profiles.
func (a *api) profiles(w http.ResponseWriter, r *http.Request) error {
	list, err := a.selected(r)
	if err != nil {
		return err
	}
	d := newDocument(w)
	d.list("rows", len(list), func(i int) any { return &list[i] })
	d.close()
	return nil
}

func (a *api) one(r *http.Request) (*store.Profile, error) {
	id, err := pathID(r)
	if err != nil {
		return nil, err
	}
	list, err := a.Store.Profiles(r.Context(), store.Query{Profiles: []store.ProfileID{id}})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, gone(id)
	}
	return &list[0], nil
}

// profile describes one profile.
func (a *api) profile(w http.ResponseWriter, r *http.Request) error {
	p, err := a.one(r)
	if err != nil {
		return err
	}
	return writeJSON(w, p)
}

// source answers with the original file of a profile.
func (a *api) source(w http.ResponseWriter, r *http.Request) error {
	p, err := a.one(r)
	if err != nil {
		return err
	}
	data, err := a.Store.Source(r.Context(), p.ID)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename="+strconv.QuoteToASCII(string(p.ID)))
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
	return nil
}

// deleteProfile removes one profile.
func (a *api) deleteProfile(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	n, err := a.Store.Delete(r.Context(), []store.ProfileID{id})
	if err != nil {
		return err
	}
	if n == 0 {
		return gone(id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// prune removes old profiles.
func (a *api) prune(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	q := p.selection()
	keep, before, dry := p.whole("keep", -1, 0), p.date("older-than"), p.flag("dry-run")
	if keep < 0 && before.IsZero() {
		p.fail("say what to remove: keep, older-than, or both")
	}
	if err := p.finish(); err != nil {
		return err
	}
	list, err := a.Store.Profiles(r.Context(), q)
	if err != nil {
		return err
	}
	ids := store.Old(list, keep, before)
	removed := len(ids)
	if !dry {
		if removed, err = a.Store.Delete(r.Context(), ids); err != nil {
			return err
		}
	}
	return writeJSON(w, map[string]any{"removed": removed, "kept": len(list) - removed, "dryRun": dry})
}

// compact gives back space.
func (a *api) compact(w http.ResponseWriter, r *http.Request) error {
	before, err := a.Store.Info(r.Context())
	if err != nil {
		return err
	}
	if err := a.Store.Compact(r.Context()); err != nil {
		return err
	}
	after, err := a.Store.Info(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]any{"before": before, "after": after})
}

// functionAnswer is a function as it is listed.
type functionAnswer struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Module   string `json:"module"`
	Language string `json:"language"`
	Kind     string `json:"kind"`
}

// functionNames lists the functions of the store.
func (a *api) functionNames(w http.ResponseWriter, r *http.Request) error {
	p := paramsOf(r)
	text, rows := p.text("pattern", ""), p.whole("rows", 0, 0)
	var pattern *calltree.Pattern
	if text != "" {
		var err error
		if pattern, err = calltree.ParsePattern(text); err != nil {
			p.fail("pattern: %w", err)
		} else if !pattern.Single() {
			p.fail("pattern %.60q is a call path; it is one piece here", text)
		}
	}
	if err := p.finish(); err != nil {
		return err
	}
	list, err := a.Store.FunctionNames(r.Context())
	if err != nil {
		return err
	}
	if pattern != nil {
		names := make([]string, len(list))
		for i := range list {
			names[i] = list[i].Name
		}
		match := pattern.Functions(names)[0]
		kept := list[:0]
		for i := range list {
			if match[i] {
				kept = append(kept, list[i])
			}
		}
		list = kept
	}
	all := len(list)
	list = words.First(list, rows)
	d := newDocument(w)
	d.member("functions", all)
	d.list("rows", len(list), func(i int) any { return describe(&list[i]) })
	d.close()
	return nil
}
