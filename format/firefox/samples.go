package firefox

import (
	"cmp"
	"slices"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Names of the value types of the format.
const (
	typeSamples = "samples"            // counts
	typeTracing = "tracing"            // weights of type tracing-ms
	typeBytes   = "bytes"              // sizes
	typeNative  = "native-allocations" // bytes; negative where memory is freed
	typeJS      = "js-allocations"     // bytes
)

// weightTypes are the value types of the weights of samples.
var weightTypes = map[string]profile.ValueType{
	"samples":    {Name: typeSamples, Unit: "count", Original: "samples"},
	"tracing-ms": {Name: typeTracing, Unit: "milliseconds", Original: "tracing-ms"},
	"bytes":      {Name: typeBytes, Unit: "bytes", Original: "bytes"},
}

// sampleTable is the table of one value type: the rows of one thread behind those
// of the other.
type sampleTable struct {
	jsonscan.Samples
	allocation bool // it has addresses, and comes behind the samples
}

// table returns the table of a value type and adds it if it is the first.
func (k *linker) table(t profile.ValueType, allocation bool) *sampleTable {
	for _, have := range k.tables {
		if have.Type.Name == t.Name && have.allocation == allocation {
			return have
		}
	}
	k.tables = append(k.tables, &sampleTable{Samples: jsonscan.Samples{Samples: profile.Samples{Type: t}}, allocation: allocation})
	return k.tables[len(k.tables)-1]
}

// samples adds the samples and allocations of a thread. The value type of the first
// thread is that of the samples table if no thread has any.
func (k *linker) samples(t *thread, id profile.ThreadID, stacks []profile.StackID, shift int64) error {
	kind := cmp.Or(t.weightType, "samples")
	valueType, ok := weightTypes[kind]
	if !ok {
		valueType = profile.ValueType{Name: kind, Unit: "count", Original: kind}
	}
	if k.firstType.Name == "" {
		k.firstType = valueType
	}
	for _, part := range []struct {
		from       *table
		valueType  profile.ValueType
		allocation bool
	}{
		{&t.samples, valueType, false},
		{&t.nativeAllocs, profile.ValueType{Name: typeNative, Unit: "bytes"}, true},
		{&t.jsAllocs, profile.ValueType{Name: typeJS, Unit: "bytes"}, true},
	} {
		if part.from.rows() == 0 {
			continue
		}
		if err := k.addRows(k.table(part.valueType, part.allocation), part.from, id, stacks, shift); err != nil {
			return err
		}
	}
	return nil
}

// addRows appends the rows of a thread to a table.
func (k *linker) addRows(to *sampleTable, from *table, id profile.ThreadID, stacks []profile.StackID, shift int64) error {
	column := from.col("stack")
	n := len(column.ids)
	start := len(to.Stack)
	to.Stack, to.Thread = slices.Grow(to.Stack, n), slices.Grow(to.Thread, n)
	for _, stack := range column.ids {
		if stack == absent {
			to.Stack = append(to.Stack, profile.NoStack)
			continue
		}
		if stack < 0 || int(stack) >= len(stacks) {
			k.lost++
			to.Stack = append(to.Stack, k.p.Symbols.Lost())
			continue
		}
		to.Stack = append(to.Stack, stacks[stack])
	}
	for range n {
		to.Thread = append(to.Thread, id)
	}
	if times := k.times(from, shift); len(times) > 0 {
		to.Time = append(append(to.Time, make([]int64, start-len(to.Time))...), times...)
	} else if to.Time != nil {
		to.Time = append(to.Time, make([]int64, n)...)
	}
	if address := from.col("memoryAddress"); address.seen {
		to.Address = append(to.Address, make([]uint64, start-len(to.Address))...)
		for row := range n {
			a := uint64(0)
			if row < len(address.wide) {
				a = uint64(max(0, address.wide[row]))
			}
			to.Address = append(to.Address, a)
		}
	} else if to.Address != nil {
		to.Address = append(to.Address, make([]uint64, n)...)
	}
	if err := addWeights(to, from, n); err != nil {
		return err
	}
	to.Bound(k.limits)
	return nil
}

// addWeights appends the weights of n rows: 1 each if the column is null.
func addWeights(to *sampleTable, from *table, n int) error {
	weight := from.col("weight")
	if weight.seen && weight.len() != n {
		err := profile.Malformed("%d samples with %d weights in %s", n, weight.len(), from.name)
		return &profile.ParseError{Offset: weight.at, Err: err}
	}
	to.Values.Values = slices.Grow(to.Values.Values, n)
	var err error
	for row := 0; row < n && err == nil; row++ {
		d := jsonscan.Decimal{Digits: 1}
		if weight.seen {
			d = jsonscan.Decimal{Digits: weight.values.Values[row], Decimals: weight.values.Scale}
		}
		err = to.Values.Add(d)
	}
	if err != nil {
		return &profile.ParseError{Offset: weight.at, Err: profile.Malformed("%v", err)}
	}
	return nil
}

// times returns the times of the rows of a table in nanoseconds; nil if it has
// none.
func (k *linker) times(t *table, shift int64) []int64 {
	if d := t.col("timeDeltas"); d.seen {
		times := make([]int64, t.rows())
		var sum int64
		for row := range times {
			if row < len(d.wide) {
				sum += d.wide[row]
			}
			times[row] = roundThousandth(sum) + shift
		}
		return times
	}
	c := t.col("time")
	if !c.seen {
		return nil
	}
	times := make([]int64, t.rows())
	for row := range times {
		if row < len(c.wide) {
			times[row] = c.wide[row] + shift
		}
	}
	return times
}

// roundThousandth divides by 1,000 and rounds halves away from zero.
func roundThousandth(v int64) int64 {
	if v < 0 {
		return -roundThousandth(-v)
	}
	return v/1000 + (v%1000+500)/1000
}

// finishTables moves the tables into the profile: samples first, which are the
// default even where there are none and the file only has allocations.
func (k *linker) finishTables() {
	if !slices.ContainsFunc(k.tables, func(t *sampleTable) bool { return !t.allocation }) {
		if k.firstType.Name == "" {
			k.firstType = weightTypes["samples"]
		}
		k.table(k.firstType, false)
		k.p.Warnf("the file holds no samples")
	}
	for _, allocation := range []bool{false, true} {
		for _, t := range k.tables {
			if t.allocation == allocation {
				k.p.Tables = append(k.p.Tables, t.Done())
			}
		}
	}
}
