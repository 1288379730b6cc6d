package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/store"
)

// selection holds the flags that choose profiles; they are the same everywhere.
type selection struct {
	query         store.Query
	params, attrs []string
	profiles      []string
	since, until  string
}

func (s *selection) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&s.query.Groups, "group", nil, "benchmark `group`, exact or glob; repeatable")
	f.StringArrayVar(&s.query.Benchmarks, "benchmark", nil, "benchmark `name`, full or without parameters, exact or glob; repeatable")
	f.StringArrayVar(&s.params, "param", nil, "parameter in the benchmark's name, `key=value`; repeatable")
	f.StringArrayVar(&s.query.Branches, "branch", nil, "`branch` of the run")
	f.StringArrayVar(&s.query.Commits, "commit", nil, "`commit` of the run, or its first 7 digits or more")
	f.StringArrayVar(&s.query.Machines, "machine", nil, "`machine` of the run")
	f.StringArrayVar(&s.attrs, "attr", nil, "attribute of the run, `key=value`; repeatable")
	f.StringArrayVar(&s.query.Runs, "run", nil, "`key` of the run, exact or glob; repeatable")
	f.StringArrayVar(&s.profiles, "profile", nil, "profile `id`; repeatable")
	f.StringVar(&s.since, "since", "", "runs from this `date` on (RFC 3339, 2026-11-21, or an age: 30d, 12h)")
	f.StringVar(&s.until, "until", "", "runs before this `date`")
	f.IntVar(&s.query.Last, "last", 0, "the newest `n` runs of each benchmark")
	f.StringArrayVar(&s.query.Types, "type", nil, "value `type`: cpu, cpu-samples, wall, alloc, …; repeatable")
}

// resolve turns the texts of the flags into the query.
func (s *selection) resolve() (store.Query, error) {
	q := s.query
	var err error
	if q.Params, err = pairs("--param", s.params); err != nil {
		return q, err
	}
	if q.Attributes, err = pairs("--attr", s.attrs); err != nil {
		return q, err
	}
	for _, text := range s.profiles {
		id, err := store.ParseID(text)
		if err != nil {
			return q, usageError{err}
		}
		q.Profiles = append(q.Profiles, id)
	}
	if q.Since, err = dateFlag("--since", s.since); err != nil {
		return q, err
	}
	if q.Until, err = dateFlag("--until", s.until); err != nil {
		return q, err
	}
	if q.Last < 0 {
		return q, usagef("--last is %d; it must be positive", q.Last)
	}
	return q, nil
}

// ask opens the store and calls f with it and the query of the flags.
func (s *selection) ask(ctx context.Context, e *env, access engines.Access, f func(st store.Store, q store.Query) error) error {
	q, err := s.resolve()
	if err != nil {
		return err
	}
	st, err := e.open(ctx, access)
	if err != nil {
		return err
	}
	return errors.Join(f(st, q), st.Close())
}

// pairs parses repeated key=value flags.
func pairs(flag string, texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, t := range texts {
		k, v, ok := strings.Cut(t, "=")
		if !ok || k == "" {
			return nil, usagef("%s %q is not key=value", flag, t)
		}
		m[k] = v
	}
	return m, nil
}

// dateFlag parses a date or an age before now.
func dateFlag(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := ingest.ParseInstant(text, time.Now())
	if err != nil {
		return t, usagef("%s: %w", flag, err)
	}
	return t, nil
}

// parseShare parses 5%, 5 % or 0.05 into a fraction.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, usagef("%q is not a share (5%% or 0.05)", text)
	}
	return v, nil
}
