package lines

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/continuous"
	"github.com/dendroprof/dendro/continuous/intake"
)

// Keeper stores the lines that an intake collects. One goroutine at a time may use it.
type Keeper struct {
	in   *intake.Intake
	st   continuous.LineStore
	room continuous.LineRoom
	plan map[key]next
}

// key is what one profile is of.
type key struct {
	series continuous.Key
	day    int64
}

func keyOf(l *intake.Lines) key { return key{l.Series.Key(), l.Day.Unix()} }

// next is when a profile is written again. A write takes as long for the lines of a minute as for
// those of an hour: the first come soon, so that somebody who tries it sees them.
type next struct {
	at    time.Time
	after time.Duration
}

// Every is how often Keep is to be called. A profile is written after one, two, four times that,
// and each hour in the end.
const (
	Every    = 15 * time.Second
	seldom   = time.Hour
	together = 64 // profiles of a transaction
)

// NewKeeper returns a keeper of an intake's lines (intake.Options.Lines) in a store.
func NewKeeper(in *intake.Intake, st continuous.LineStore, room continuous.LineRoom) *Keeper {
	return &Keeper{in: in, st: st, room: room, plan: map[key]next{}}
}

// Keep stores the lines that are due, or all, and returns how many profiles it wrote.
func (k *Keeper) Keep(ctx context.Context, now time.Time, all bool) (written int, err error) {
	for id, n := range k.plan {
		if now.Sub(n.at) > 24*time.Hour {
			delete(k.plan, id)
		}
	}
	of := map[key][]*intake.Lines{}
	var order []key
	for _, l := range k.in.TakeLines(func(l *intake.Lines) bool { return all || !now.Before(k.plan[keyOf(l)].at) }) {
		id := keyOf(l)
		if of[id] == nil {
			order = append(order, id)
		}
		of[id] = append(of[id], l)
	}
	for part := range slices.Chunk(order, together) {
		var list []*continuous.Lines
		for _, id := range part {
			merged, failed := k.merge(ctx, of[id])
			if ctx.Err() != nil {
				return written, ctx.Err()
			}
			if failed != nil {
				err = failed
				continue
			}
			list = append(list, merged)
			after := min(max(2*k.plan[id].after, Every), seldom)
			k.plan[id] = next{now.Add(after), after}
		}
		if failed := k.st.PutLines(ctx, list, k.room); failed != nil {
			return written, failed
		}
		written += len(list)
	}
	return written, err
}

// merge adds lines to what is stored of them. A stored profile that cannot be read or added to is
// replaced.
func (k *Keeper) merge(ctx context.Context, list []*intake.Lines) (*continuous.Lines, error) {
	l := list[0]
	stored, err := k.stored(ctx, l)
	if err != nil {
		return nil, err
	}
	out, err := merge(stored, list)
	if err != nil && stored != nil {
		out, err = merge(nil, list)
	}
	if err != nil {
		return nil, fmt.Errorf("lines of %s: %w", intake.Name(&l.Series), err)
	}
	return out, nil
}

func (k *Keeper) stored(ctx context.Context, l *intake.Lines) (*continuous.Lines, error) {
	q := continuous.Query{Type: l.Series.Type, From: l.Day, Until: l.Day.AddDate(0, 0, 1),
		Matchers: []continuous.Matcher{{Name: continuous.ServiceLabel, Op: continuous.Equal, Value: l.Series.Service}}}
	for _, name := range continuous.VersionLabels {
		q.Matchers = append(q.Matchers, continuous.Matcher{Name: name, Op: continuous.Equal, Value: l.Series.Labels.Get(name)})
	}
	list, err := k.st.Lines(ctx, q)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
