package profile

import (
	"math/bits"
	"slices"

	"github.com/dendroprof/dendro/internal/intern"
)

// SumRows is the number of rows from which readers sum a table: 24 to 70 MB.
// Smaller tables keep the rows of the file.
const SumRows = 1 << 21

// Append appends a row. Columns of which all rows are zero stay nil.
func (s *Samples) Append(stack StackID, value, time int64, t Tags) {
	s.Add(stack, value)
	s.Time = appendTo(s.Time, s.Stack, time)
	s.Thread = appendTo(s.Thread, s.Stack, t.Thread)
	s.Labels = appendTo(s.Labels, s.Stack, t.Labels)
	s.State = appendTo(s.State, s.Stack, t.State)
}

// Grow makes room for n more rows, at most SumRows. Columns that Append adds later get
// the same room.
func (s *Samples) Grow(n int) {
	n = min(n, SumRows)
	s.Stack, s.Value = slices.Grow(s.Stack, n), slices.Grow(s.Value, n)
}

// appendTo appends v to a column, which is nil while all its values are zero, and
// is then made as long as stacks, which has the row already.
func appendTo[T int64 | ThreadID | LabelsID | StateID](column []T, stacks []StackID, v T) []T {
	if column == nil {
		if v == 0 {
			return nil
		}
		column = make([]T, len(stacks)-1, cap(stacks))
	}
	return append(column, v)
}

// Bound sums the rows of equal stack, thread, labels and state if the table has
// grown to SumRows, and to twice its size after the last sum. A reader calls it after
// adding rows, so that the memory of a table depends on its distinct rows. A table
// with times or addresses is summed only if l.Sums is set. Bound costs amortised
// constant time per row.
func (s *Samples) Bound(l Limits) {
	if len(s.Stack) >= SumRows {
		s.bound(&l)
	}
}

func (s *Samples) bound(l *Limits) {
	if s.Len() >= s.sumAt && (l.Sums || s.Time == nil && s.Address == nil) {
		s.sum()
		s.sumAt = max(SumRows, 2*s.Len())
	}
}

// Bounded ends a table that was built with Bound. A table that was summed once is
// summed completely and loses its times and addresses, so that its content does not
// depend on the order of the file. Bounded reports whether it was summed.
func (s *Samples) Bounded() bool {
	if s.sumAt == 0 {
		return false
	}
	s.sum()
	s.sumAt, s.sumIndex, s.Time, s.Address = 0, nil, nil, nil
	s.Intervals = false
	s.Stack, s.Value = slices.Clone(s.Stack), slices.Clone(s.Value)
	s.Thread, s.Labels, s.State, s.Content = slices.Clone(s.Thread), slices.Clone(s.Labels), slices.Clone(s.State), slices.Clone(s.Content)
	return true
}

// Count returns the number of samples of the recording, also of those that were
// added to others.
func (s *Samples) Count() int64 { return int64(s.Len()) + s.Summed }

// Taken returns the number of samples that the profiler took: Count, or more where a row is
// the sum of several, as the type counts them or by its period.
func (s *Samples) Taken() int64 {
	switch t := &s.Type; {
	case t.Name == CPUSamples, t.Name == WallSamples, t.Name == Threads:
		return max(s.Count(), s.Total())
	case t.Period > 0 && t.PeriodUnit == t.Unit:
		return max(s.Count(), s.Total()/t.Period)
	}
	return s.Count()
}

// sum adds up the rows of equal stack, thread, labels and state. The remaining rows
// keep the order of their first appearance; times and addresses have no meaning then.
func (s *Samples) sum() {
	size := 1 << bits.Len(uint(2*s.Len()))
	if len(s.sumIndex) < size {
		s.sumIndex = make([]int32, size)
	}
	index := s.sumIndex[:size] // of the sums, plus one
	clear(index)
	n := 0
	for row, stack := range s.Stack {
		tags := s.Tags(row)
		if n > 0 && s.Stack[n-1] == stack && s.Tags(n-1) == tags && s.sameContent(n-1, row) {
			s.Value[n-1] += s.Value[row]
			continue
		}
		hash := intern.With(uint64(uint32(stack))<<32|uint64(uint32(tags.Thread)), uint64(uint32(tags.Labels))<<32|uint64(uint32(tags.State)))
		if s.Content != nil {
			hash = intern.With(hash, s.Content[row].Lo)
		}
		for at := int(hash>>32) & (size - 1); ; at = (at + 1) & (size - 1) {
			i := int(index[at]) - 1
			if i < 0 {
				index[at] = int32(n + 1)
				s.move(n, row)
				n++
				break
			}
			if s.Stack[i] == stack && s.Tags(i) == tags && s.sameContent(i, row) {
				s.Value[i] += s.Value[row]
				break
			}
		}
	}
	s.Summed += int64(s.Len() - n)
	s.Truncate(n)
}

// sameContent reports whether two rows of one stack have the same stack in the file, too.
func (s *Samples) sameContent(i, j int) bool { return s.Content == nil || s.Content[i] == s.Content[j] }

// move copies row from to row to.
func (s *Samples) move(to, from int) {
	s.Stack[to], s.Value[to] = s.Stack[from], s.Value[from]
	if s.Thread != nil {
		s.Thread[to] = s.Thread[from]
	}
	if s.Labels != nil {
		s.Labels[to] = s.Labels[from]
	}
	if s.State != nil {
		s.State[to] = s.State[from]
	}
	if s.Content != nil {
		s.Content[to] = s.Content[from]
	}
}

// Truncate keeps the first n rows.
func (s *Samples) Truncate(n int) {
	s.Stack, s.Value = s.Stack[:n], s.Value[:n]
	s.Thread, s.Labels, s.State = s.Thread[:min(n, len(s.Thread))], s.Labels[:min(n, len(s.Labels))], s.State[:min(n, len(s.State))]
	s.Time, s.Address, s.Content = s.Time[:min(n, len(s.Time))], s.Address[:min(n, len(s.Address))], s.Content[:min(n, len(s.Content))]
}
