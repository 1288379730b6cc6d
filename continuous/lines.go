package continuous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dendroprof/dendro/internal/cost"
)

// Lines is what a service pushed of one type and version on one day, as one profile that has the
// lines of its functions, which the vectors of windows have not. Series has the service, the type
// and as its only label that of the version, if there is one; not its facts and times.
type Lines struct {
	Series  Series
	Day     time.Time     // its begin, in UTC
	Windows int64         // pushed windows in it
	Covered time.Duration // sum of their lengths
	Profile []byte        // of one value type, compressed; the writer and the reader agree on its format
}

// LineStore is a Store that keeps Lines too; package storetest tests it with the windows.
type LineStore interface {
	// PutLines stores profiles in one transaction, each in place of that of the same series and
	// day. Beyond what the room says, profiles are removed: those of the oldest days first, and
	// of a day those of the fewest windows.
	PutLines(ctx context.Context, list []*Lines, room LineRoom) error
	// Lines lists the profiles of series that match, of every day that the time of the query has
	// a part of, in order of day and series.
	Lines(ctx context.Context, q Query) ([]Lines, error)
}

// SpendLines counts the bytes of profiles that an engine is about to return.
func SpendLines(ctx context.Context, bytes int64) error {
	return cost.Of(ctx).Spend(cost.Memory, bytes)
}

// LineRoom is the maximum size of the profiles of a LineStore.
type LineRoom struct {
	Bytes int64 // of all of them; 0: no limit
	Share int   // of a service, in percent; 0: all
}

// Part returns the maximum of a service.
func (r *LineRoom) Part() int64 { return (&Room{Share: r.Share}).Part(r.Bytes) }

// Check reports what is wrong with a profile that is to be stored.
func (l *Lines) Check() error {
	switch {
	case l.Series.Service == "" || len(l.Profile) == 0:
		return errors.New("lines: the service or the profile is missing")
	case len(l.Series.Labels) > 1:
		return fmt.Errorf("lines of %s: %d labels in place of that of the version", l.Series.Service, len(l.Series.Labels))
	case !l.Day.Equal(DayOf(l.Day)):
		return fmt.Errorf("lines of %s: %s is not the begin of a day in UTC", l.Series.Service, l.Day)
	}
	return nil
}

// Compare orders profiles by day and series.
func (l *Lines) Compare(m *Lines) int {
	return cmp.Or(l.Day.Compare(m.Day), l.Series.Compare(&m.Series))
}

// DayOf returns the begin of the day that a time is on, in UTC.
func DayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Days returns the first and the last day that the time of the query has a part of; zero: no limit.
func (q *Query) Days() (first, last time.Time) {
	if !q.From.IsZero() {
		first = DayOf(q.From)
	}
	if !q.Until.IsZero() {
		last = DayOf(q.Until.Add(-1))
	}
	return first, last
}

// VersionLabels are the labels that name a release, the first that a service has.
var VersionLabels = []string{"service_version", "service.version", "version", "service_git_ref"}

// Version returns the first of VersionLabels that labels have, as the only label; nil: they have
// none.
func (l Labels) Version() Labels {
	for _, name := range VersionLabels {
		if i := slices.IndexFunc(l, func(a Label) bool { return a.Name == name && a.Value != "" }); i >= 0 {
			return l[i : i+1 : i+1]
		}
	}
	return nil
}
