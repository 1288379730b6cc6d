package continuous

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Compile returns a predicate: whether a series matches all matchers. Each pattern is
// compiled once.
func Compile(list []Matcher) (func(*Series) bool, error) {
	tests := make([]func(value string) bool, len(list))
	for i, m := range list {
		switch m.Op {
		case Equal:
			tests[i] = func(v string) bool { return v == m.Value }
		case NotEqual:
			tests[i] = func(v string) bool { return v != m.Value }
		case Matches, NotMatches:
			re, err := pattern(m.Value)
			if err != nil {
				return nil, fmt.Errorf("label %q: %w", m.Name, err)
			}
			tests[i] = func(v string) bool { return re.MatchString(v) == (m.Op == Matches) }
		default:
			return nil, fmt.Errorf("label %q: unknown operation %q; use =, !=, =~ or !~", m.Name, m.Op)
		}
	}
	return func(s *Series) bool {
		for i, test := range tests {
			if !test(s.Label(list[i].Name)) {
				return false
			}
		}
		return true
	}, nil
}

// Select returns a predicate: whether a series is of the query's type and matches its
// matchers.
func (q *Query) Select() (func(*Series) bool, error) {
	match, err := Compile(q.Matchers)
	if err != nil {
		return nil, err
	}
	if q.Type == (Type{}) {
		return match, nil
	}
	return func(s *Series) bool { return s.Type == q.Type && match(s) }, nil
}

// Compare orders series by service, type and labels.
func (s *Series) Compare(other *Series) int {
	return cmp.Or(cmp.Compare(s.Service, other.Service), cmp.Compare(s.Type.String(), other.Type.String()),
		slices.CompareFunc(s.Labels, other.Labels, func(a, b Label) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
		}))
}

// Compare orders totals of one answer by series and start.
func (t *Total) Compare(other *Total) int {
	return cmp.Or(cmp.Compare(t.Series, other.Series), t.Start.Compare(other.Start), cmp.Compare(t.Level, other.Level),
		cmp.Compare(t.Length, other.Length), cmp.Compare(t.Parts, other.Parts), cmp.Compare(t.Sum, other.Sum), cmp.Compare(t.Covered, other.Covered))
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
