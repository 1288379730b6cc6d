package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dendroprof/dendro/profile"
)

// Accepter is implemented by engines that keep which changes people accepted. Accepted
// changes belong to no profile: they stay when profiles are deleted.
type Accepter interface {
	// Accept stores acceptances, all or none of them, each in place of an earlier one of the same finding.
	Accept(ctx context.Context, list ...Acceptance) error
	// Accepted lists the acceptances in byte order of findings, also expired ones.
	Accepted(ctx context.Context) ([]Acceptance, error)
	// Withdraw removes the acceptances of findings, all or none. It is no error if one has none.
	Withdraw(ctx context.Context, findings ...string) error
}

// Acceptance is a change that somebody accepted.
type Acceptance struct {
	Finding   string    `json:"finding"`             // id, see docs/schema/findings.md
	Benchmark string    `json:"benchmark,omitempty"` // group/name or name
	By        string    `json:"by,omitempty"`        // who accepted it, as they call themselves
	At        time.Time `json:"at"`                  // when; stored in microseconds
	Until     time.Time `json:"until,omitzero"`      // when it ends; zero: never
	UpTo      float64   `json:"upTo,omitempty"`      // share of the program; 0: any size
	Reason    string    `json:"reason,omitempty"`
}

// maxAcceptance is the maximum length of a text of an acceptance in bytes.
const maxAcceptance = 4 << 10

// NormalAcceptances returns acceptances as engines store them, or an error if no engine stores one of them.
func NormalAcceptances(list []Acceptance) ([]Acceptance, error) {
	out := slices.Clone(list)
	for i := range out {
		var err error
		if out[i], err = out[i].normalized(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (a Acceptance) normalized() (Acceptance, error) {
	for _, text := range []string{a.Finding, a.Benchmark, a.By, a.Reason} {
		switch {
		case len(text) > maxAcceptance:
			return a, fmt.Errorf("%w: a text of %d bytes; the maximum is %d", profile.ErrMalformed, len(text), maxAcceptance)
		case strings.ToValidUTF8(text, "") != text:
			return a, fmt.Errorf("%w: %q is not UTF-8", profile.ErrMalformed, text)
		}
	}
	switch {
	case a.Finding == "":
		return a, fmt.Errorf("%w: an acceptance without the id of a finding", profile.ErrMalformed)
	case !(a.UpTo >= 0 && a.UpTo <= 1):
		return a, fmt.Errorf("%w: up to %g: give a share of the program between 0 and 1 (5%% is 0.05)", profile.ErrMalformed, a.UpTo)
	}
	a.At, a.Until = normalTime(a.At), normalTime(a.Until)
	return a, nil
}

func normalTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// SortAcceptances sorts by finding.
func SortAcceptances(list []Acceptance) {
	slices.SortFunc(list, func(a, b Acceptance) int { return strings.Compare(a.Finding, b.Finding) })
}
