package continuous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/dendroprof/dendro/internal/cost"
)

// maxMatchers is the maximum number of conditions of a query: each is compared with each series.
const maxMatchers = 1000

// maxProgram limits the instructions of the compiled patterns of a query. Each byte of a value
// may cost as many steps.
const maxProgram = 20_000

// Selection is a query that is ready to be compared with series. Each distinct value of a
// label is compared once. It serves one goroutine.
type Selection struct {
	typ      Type
	matchers []matcher // those without patterns first
}

// matcher is a Matcher that remembers the values that it has seen.
type matcher struct {
	Matcher
	pattern *regexp.Regexp // nil: compared with Value
	size    int64          // instructions of the pattern
	known   map[string]bool
}

// Compile returns the query's type and matchers, compiled. The patterns of all matchers have a
// maximum size together.
func (q *Query) Compile() (*Selection, error) {
	s, size := &Selection{typ: q.Type}, int64(0)
	if n := len(q.Matchers); n > maxMatchers {
		return nil, fmt.Errorf("the selectors have %d conditions: the maximum is %d", n, maxMatchers)
	}
	for _, m := range q.Matchers {
		c := matcher{Matcher: m}
		switch m.Op {
		case Equal, NotEqual:
			s.matchers = slices.Insert(s.matchers, 0, c)
			continue
		case Matches, NotMatches:
		default:
			return nil, fmt.Errorf("label %q: unknown operation %q; use =, !=, =~ or !~", m.Name, m.Op)
		}
		var err error
		if c.size, err = cost.PatternSize(m.Value); err != nil {
			return nil, fmt.Errorf("label %q: %w", m.Name, err)
		}
		if size += c.size; size > maxProgram {
			return nil, fmt.Errorf("label %q: the patterns of the selectors have %d instructions: the maximum is %d; shorten them", m.Name, size, maxProgram)
		}
		if c.pattern, err = regexp.Compile("^(?s:" + m.Value + ")$"); err != nil {
			return nil, fmt.Errorf("label %q: %w", m.Name, err)
		}
		c.known = map[string]bool{}
		s.matchers = append(s.matchers, c)
	}
	return s, nil
}

// Matches reports whether a series is of the query's type and matches all matchers. Stores
// call it outside of the locks that writers need: patterns take time. It counts the steps of
// patterns (cost.Steps), and ends when the context does.
func (s *Selection) Matches(ctx context.Context, series *Series) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, context.Cause(ctx)
	}
	if s.typ != (Type{}) && series.Type != s.typ {
		return false, nil
	}
	for i := range s.matchers {
		if ok, err := s.matchers[i].matches(ctx, series.Label(s.matchers[i].Name)); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (m *matcher) matches(ctx context.Context, value string) (bool, error) {
	switch m.Op {
	case Equal:
		return value == m.Value, nil
	case NotEqual:
		return value != m.Value, nil
	}
	matches, ok := m.known[value]
	if !ok {
		if err := cost.Of(ctx).Spend(cost.Steps, m.size*int64(len(value)+1)); err != nil {
			return false, fmt.Errorf("label %q: %w", m.Name, err)
		}
		matches = m.pattern.MatchString(value)
		m.known[value] = matches
	}
	return matches == (m.Op == Matches), nil
}

// Compare orders series by service, type and labels.
func (s *Series) Compare(other *Series) int {
	return cmp.Or(cmp.Compare(s.Service, other.Service), cmp.Compare(s.Type.String(), other.Type.String()),
		slices.CompareFunc(s.Labels, other.Labels, func(a, b Label) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
		}))
}

// ByService yields the series of each service, of a list in the order of a store.
func ByService(list []Series) iter.Seq[[]Series] {
	return alike(list, func(a, b *Series) bool { return a.Service == b.Service })
}

// ByServiceAndType yields the series of each service and type, of a list in the order of a store.
func ByServiceAndType(list []Series) iter.Seq[[]Series] {
	return alike(list, func(a, b *Series) bool { return a.Service == b.Service && a.Type == b.Type })
}

func alike(list []Series, same func(a, b *Series) bool) iter.Seq[[]Series] {
	return func(yield func([]Series) bool) {
		for from, n := 0, 1; n <= len(list); n++ {
			if n < len(list) && same(&list[from], &list[n]) {
				continue
			}
			if !yield(list[from:n]) {
				return
			}
			from = n
		}
	}
}

// Compare orders totals of one answer by series and start.
func (t *Total) Compare(other *Total) int {
	return cmp.Or(cmp.Compare(t.Series, other.Series), t.Start.Compare(other.Start), cmp.Compare(t.Level, other.Level),
		cmp.Compare(t.Length, other.Length), cmp.Compare(t.Parts, other.Parts), cmp.Compare(t.Sum, other.Sum),
		cmp.Compare(t.Covered, other.Covered), cmp.Compare(t.Instances, other.Instances))
}

// MaxSum is the maximum of the absolute values of a window, so that those of a year add up
// in 64 bits: a petabyte, or 13 days in nanoseconds.
const MaxSum = 1 << 50

// ErrTooLarge is the error of a selection whose values exceed 64 bits.
var ErrTooLarge = errors.New("the sum of the values exceeds 64 bits: select a shorter time or fewer series")

// Check returns an error for a window that no store stores.
func (w *Window) Check() error {
	if err := w.Series.checkText(); err != nil {
		return err
	}
	for i, l := range w.Series.Labels {
		if l.Name == "" || l.Name == ServiceLabel || i > 0 && w.Series.Labels[i-1].Name >= l.Name {
			return fmt.Errorf("series of %q: labels must be sorted and have distinct names other than %s: %q", w.Series.Service, ServiceLabel, l.Name)
		}
	}
	if y := w.Start.Year(); y < 1900 || y > 9999 {
		return fmt.Errorf("window of %q: it starts in the year %d", w.Series.Service, y)
	}
	if w.Length < 0 {
		return fmt.Errorf("window of %q: its length is %s", w.Series.Service, w.Length)
	}
	if len(w.Self.Nodes) != len(w.Self.Self) || len(w.Self.Nodes) > 0 && w.Forest == nil {
		return fmt.Errorf("window of %q: %d values of %d paths", w.Series.Service, len(w.Self.Self), len(w.Self.Nodes))
	}
	sum := int64(0)
	for _, v := range w.Self.Self {
		if sum += max(v, -v); v < -MaxSum || v > MaxSum || sum > MaxSum {
			return fmt.Errorf("window of %q: its values exceed %d", w.Series.Service, int64(MaxSum))
		}
	}
	return nil
}

// checkText returns an error for a text that is not UTF-8.
func (s *Series) checkText() error {
	for _, text := range []string{s.Service, s.Type.String()} {
		if !utf8.ValidString(text) {
			return fmt.Errorf("series: %q is not UTF-8", text)
		}
	}
	for _, l := range slices.Concat(s.Labels, s.Facts) {
		if !utf8.ValidString(l.Name) || !utf8.ValidString(l.Value) {
			return fmt.Errorf("series of %q: label %q: %q is not UTF-8", s.Service, l.Name, l.Value)
		}
	}
	return nil
}

// OneType returns the type of series that are added up, or an error that lists several.
func OneType(list []Series) (Type, error) {
	if len(list) == 0 {
		return Type{}, nil
	}
	for i := range list {
		if list[i].Type != list[0].Type {
			return Type{}, fmt.Errorf("the selection has windows of several types, %s and %s: select one", list[0].Type, list[i].Type)
		}
	}
	return list[0].Type, nil
}
