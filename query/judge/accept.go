package judge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dendroprof/dendro/analysis/change"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
)

// AcceptRequest accepts a change: it stays in the results, and neither fails nor counts.
type AcceptRequest struct {
	Finding   string      `param:"finding" arg:"id" help:"id of the finding" json:"finding"`
	Also      []string    `param:"also" arg:"id" help:"ids of the other findings of its row, to accept with it; repeatable" json:"also,omitempty"`
	Benchmark []string    `param:"benchmark" arg:"name" help:"its benchmark, as group/name; repeated, those of the others in their order" json:"benchmark,omitempty"`
	By        string      `param:"by" arg:"name" help:"who accepts it" json:"by,omitempty"`
	Reason    string      `param:"reason" arg:"text" help:"why" json:"reason,omitempty"`
	Until     string      `param:"until" arg:"date" help:"end of the acceptance (default: none)" json:"until,omitempty"`
	UpTo      query.Share `param:"up-to" arg:"share" help:"largest change to accept, as a share of the program; it returns beyond 1.5 times that (default: any size)" json:"upTo,omitempty"`
}

// AcceptedRequest asks what the store accepts.
type AcceptedRequest struct{}

// AcceptedResult lists accepted changes, by finding.
type AcceptedResult struct {
	Rows []store.Acceptance `json:"rows"`
}

// WithdrawRequest ends an acceptance.
type WithdrawRequest struct {
	Finding string   `param:"finding" arg:"id" help:"id of the finding" json:"finding"`
	Also    []string `param:"also" arg:"id" help:"ids of the other findings of its row; repeatable" json:"also,omitempty"`
}

// errNotKept is the error of engines that keep no accepted changes.
var errNotKept = errors.New("this store keeps no accepted changes: write the entry to .dendro/acknowledged.json of the repository")

// Accept answers an AcceptRequest with all accepted changes.
func Accept(ctx context.Context, st store.Store, r *AcceptRequest) (*AcceptedResult, error) {
	s, ok := store.As[store.Accepter](st)
	if !ok {
		return nil, errNotKept
	}
	a := store.Acceptance{By: r.By, Reason: r.Reason, UpTo: float64(r.UpTo), At: time.Now()}
	findings := append([]string{r.Finding}, r.Also...)
	switch n := len(r.Benchmark); {
	case r.Finding == "":
		return nil, param.Errorf("--finding: give the id of the finding to accept")
	case n > 1 && n != len(findings):
		return nil, param.Errorf("--benchmark: %d benchmarks of %d findings; give that of --finding, or one of each", n, len(findings))
	}
	if r.Until != "" {
		var err error
		if a.Until, err = words.ParseDate(r.Until); err != nil {
			return nil, param.Errorf("--until: %w", err)
		}
	}
	row := make([]store.Acceptance, len(findings))
	for i, id := range findings {
		row[i] = a
		row[i].Finding = id
		if i < len(r.Benchmark) {
			row[i].Benchmark = r.Benchmark[i]
		}
	}
	if _, err := store.NormalAcceptances(row); err != nil {
		return nil, param.Errorf("%w", err)
	}
	if err := s.Accept(ctx, row...); err != nil {
		return nil, err
	}
	return Accepted(ctx, st, nil)
}

// Withdraw answers a WithdrawRequest with the accepted changes that are left.
func Withdraw(ctx context.Context, st store.Store, r *WithdrawRequest) (*AcceptedResult, error) {
	s, ok := store.As[store.Accepter](st)
	if !ok {
		return nil, errNotKept
	}
	if r.Finding == "" {
		return nil, param.Errorf("--finding: give the id of the finding")
	}
	if err := s.Withdraw(ctx, append([]string{r.Finding}, r.Also...)...); err != nil {
		return nil, err
	}
	return Accepted(ctx, st, nil)
}

// Accepted answers an AcceptedRequest; a store that keeps none has none.
func Accepted(ctx context.Context, st store.Store, _ *AcceptedRequest) (*AcceptedResult, error) {
	out := &AcceptedResult{}
	if s, ok := store.As[store.Accepter](st); ok {
		var err error
		if out.Rows, err = s.Accepted(ctx); err != nil {
			return nil, err
		}
	}
	out.Rows = words.Filled(out.Rows)
	return out, nil
}

// acknowledged returns the changes that the client accepts, then those that the store does.
func acknowledged(ctx context.Context, st store.Reader, f *facts.Facts) (facts.Acknowledgements, error) {
	s, ok := store.As[store.Accepter](st)
	if !ok {
		return f.Acknowledged, nil
	}
	list, err := s.Accepted(ctx)
	all := slices.Clone(f.Acknowledged)
	for _, a := range list {
		all = append(all, regression.Acknowledgement{ID: a.Finding, Benchmark: a.Benchmark, By: a.By, At: a.At, Until: a.Until, UpTo: a.UpTo,
			Reason: a.Reason, Stored: true})
	}
	return all, err
}

// leastSince is the minimum number of runs since a change for a history that begins with it.
const leastSince = 3

// levelled returns a request whose histories begin with the changes that last, as the levels of the list do: what a head
// costs more, or a gain that it takes back, is no part of the difference between two levels of the base. Of a comparison that
// the request chooses, only accepted costs begin a history. Counted are runs of the base; nil: all but the newest ones of each
// line, which may be tested.
func levelled(ctx context.Context, st store.Reader, q store.Query, req regression.Request, base []store.Profile, newest int,
	chosen bool) (regression.Request, error) {
	if req.Service || chosen && len(req.Acknowledged) == 0 {
		return req, nil
	}
	l, err := openLedger(ctx, st, linesOf(q), nil, regression.Options{Own: req.Own})
	if err != nil {
		return req, err
	}
	is := store.IDSet(base)
	starts := map[store.ProfileID]bool{}
	for i, v := range l.verdicts {
		if v.Key.Pair != "" {
			continue
		}
		runs := l.lines[i].Profiles
		for k, c := range v.Accept(req.Acknowledged, req.Now).Changes {
			state := v.Changes[k].State
			if state != change.Confirmed && state != change.Ended || chosen && (c.State != change.Accepted || !c.Costs()) {
				continue
			}
			since, ended := 0, false
			for at := c.Head[0]; at < len(runs)-newest; at++ {
				if base == nil || is[runs[at].ID] {
					since++
					ended = ended || c.End != nil && c.End.Run == runs[at].Run.Key
				}
			}
			if since >= leastSince && !ended {
				starts[runs[c.Head[0]].ID] = true
			}
		}
	}
	req.Starts = func(p *store.Profile) bool { return starts[p.ID] }
	return req, nil
}
