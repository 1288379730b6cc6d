package goroutine

import (
	"bytes"
	"fmt"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// kind is what a profile of debug=1 measures, by its first line.
type kind struct {
	name string // goroutine, heap, contention, mutex, …
	form form
	rate int64 // of heap: bytes between two samples; 1: all allocations
}

// form is how the numbers before the `@` of a record are written.
type form uint8

const (
	countForm form = iota // N
	heapForm              // objects: bytes [objects: bytes]
	delayForm             // cycles count
)

// kindOf reads the first line of a profile:
//
//	goroutine profile: total 27
//	heap profile: 60: 261408 [3466: 6560344] @ heap/131072
//	--- contention:
//	--- mutex:
func kindOf(text []byte) (kind, bool) {
	if name, total, ok := bytes.Cut(text, []byte(" profile: total ")); ok {
		_, number := stacktext.Uint(total)
		return kind{name: stacktext.Clean(name)}, number && len(name) > 0 && bytes.IndexByte(name, ' ') < 0
	}
	if rest, ok := bytes.CutPrefix(text, []byte("heap profile: ")); ok {
		_, rest, ok = bytes.Cut(rest, []byte("] @ "))
		rate, known := heapRate(rest)
		return kind{"heap", heapForm, rate}, ok && known
	}
	if rest, ok := bytes.CutPrefix(text, []byte("--- ")); ok {
		name, after, _ := bytes.Cut(rest, []byte(":"))
		switch string(name) {
		case "contention", "mutex":
			return kind{name: string(name), form: delayForm}, len(after) == 0
		}
	}
	return kind{}, false
}

// heapRate reads the sampling rate of a heap profile. Go writes twice its rate,
// as the first heap profilers did. The profiles of C++ programs have other names.
func heapRate(text []byte) (int64, bool) {
	name, number, _ := bytes.Cut(text, []byte("/"))
	rate, ok := stacktext.Uint(number)
	return max(1, rate/2), ok && string(name) == "heap"
}

// countType is the value type of a profile that counts.
func countType(name string) profile.ValueType {
	t := profile.ValueType{Name: name, Unit: "count", Original: name, Period: 1, PeriodUnit: "count", PeriodName: name}
	if name == "goroutine" {
		t.Name = profile.Goroutines
	}
	return t
}

// types returns the value types of a profile, those of its binary form, and which
// is the default.
func (k *kind) types() ([]profile.ValueType, int) {
	switch k.form {
	case heapForm:
		bytes := func(name, original string) profile.ValueType {
			return profile.ValueType{Name: name, Unit: "bytes", Original: original, Period: k.rate, PeriodUnit: "bytes", PeriodName: "space"}
		}
		count := func(name, original string) profile.ValueType {
			return profile.ValueType{Name: name, Unit: "count", Original: original}
		}
		return []profile.ValueType{
			count(profile.AllocSamples, "alloc_objects"), bytes(profile.Alloc, "alloc_space"),
			count(profile.LiveSamples, "inuse_objects"), bytes(profile.Live, "inuse_space"),
		}, 3
	case delayForm:
		contentions := profile.ValueType{Name: profile.LockSamples, Unit: "count", Original: "contentions", Period: 1, PeriodUnit: "count",
			PeriodName: "contentions"}
		return []profile.ValueType{contentions, {Name: profile.Lock, Unit: "nanoseconds", Original: "delay"}}, 1
	}
	return []profile.ValueType{countType(k.name)}, 0
}

// counter is the reading of a profile of debug=1.
type counter struct {
	*reader
	kind      kind
	gigahertz float64 // cycles a nanosecond
	period    float64 // contentions that one sample stands for
	tables    []*stacktext.Table

	open      bool
	values    [4]int64
	addresses []byte // of the record in work
}

// counts reads a profile whose first line is the line in work.
func (t *reader) counts(k kind) error {
	types, byDefault := k.types()
	c := &counter{reader: t, kind: k, gigahertz: 1, period: 1, tables: make([]*stacktext.Table, len(types))}
	for i := range c.tables {
		c.tables[i] = stacktext.NewTable(t.Limits)
	}
	for t.Next() {
		text := t.Text()
		if isMap(text) {
			break // the libraries of a C++ program follow
		}
		if err := c.line(text); err != nil {
			return err
		}
	}
	for t.Next() {
		// To the end, where decompressors report damage.
	}
	if err := c.end(); err != nil {
		return err
	}
	for i := range types {
		t.Profile.Tables = append(t.Profile.Tables, c.tables[i].Samples(types[i], false, 0))
	}
	t.Profile.Default = byDefault
	return nil
}

func isMap(text []byte) bool {
	return bytes.HasPrefix(text, []byte("MAPPED_LIBRARIES:")) || bytes.HasPrefix(text, []byte("--- Memory map:"))
}

func (c *counter) line(text []byte) error {
	switch {
	case len(bytes.TrimLeft(text, " \t")) == 0:
		return nil
	case bytes.HasPrefix(text, []byte("#\t0x")):
		return c.frame(text[len("#\t"):])
	case bytes.HasPrefix(text, []byte("# labels: ")):
		if c.open {
			c.addLabels(text[len("# labels: "):])
		}
		return nil
	case text[0] == '#':
		return nil // the statistics of the memory
	}
	if again, ok := kindOf(text); ok {
		if again.name == c.kind.name && again.rate == c.kind.rate {
			return nil // the same profile of another moment, or of another process
		}
		return fmt.Errorf("%w: the text holds profiles of two kinds, %s and %s", profile.ErrUnsupported, c.kind.name, again.name)
	}
	if i := bytes.IndexByte(text, '@'); i >= 0 {
		return c.record(text[:i], text[i+1:])
	}
	if c.kind.form == delayForm {
		if key, value, ok := bytes.Cut(text, []byte("=")); ok {
			return c.attribute(string(bytes.Trim(key, " ")), bytes.Trim(value, " "))
		}
	}
	return profile.Malformed("not a record of a %s profile", c.kind.name)
}

// attribute reads `cycles/second=2100000000`. Of `sampling period` there are two
// minds: Go writes it for mutexes and has multiplied by it before, gperftools has
// not.
func (c *counter) attribute(key string, value []byte) error {
	n, ok := stacktext.Uint(value)
	switch {
	case key != "cycles/second" && key != "sampling period":
		return nil
	case !ok:
		return profile.Malformed("%s is not a number", key)
	case key == "cycles/second" && n > 0:
		c.gigahertz = float64(n) / 1e9
	case key == "sampling period" && c.kind.name == "contention":
		c.period = float64(max(1, n))
	}
	return nil
}

// record begins a record: numbers, `@`, addresses.
func (c *counter) record(numbers, addresses []byte) error {
	if err := c.end(); err != nil {
		return err
	}
	want := [...]int{countForm: 1, heapForm: 4, delayForm: 2}[c.kind.form]
	var v [4]int64
	n := 0
	for field := range bytes.FieldsSeq(numbers) {
		if field = bytes.Trim(field, "[]:"); len(field) == 0 {
			continue
		}
		number, ok := stacktext.Uint(field)
		if !ok || n == want {
			n = -1
			break
		}
		v[n] = number
		n++
	}
	if n != want {
		return profile.Malformed("not %d numbers before the @", want)
	}
	c.open = true
	c.addresses = append(c.addresses[:0], addresses...)
	c.Frames = c.Frames[:0]
	c.labels = c.labels[:0]
	switch c.kind.form {
	case countForm:
		c.values = v
	case heapForm:
		c.values[2], c.values[3] = stacktext.Unsample(v[0], v[1], c.kind.rate)
		c.values[0], c.values[1] = stacktext.Unsample(v[2], v[3], c.kind.rate)
	case delayForm:
		c.values[0] = stacktext.Whole(float64(v[1]) * c.period)
		c.values[1] = stacktext.Whole(float64(v[0]) / c.gigahertz * c.period)
	}
	return nil
}

// frame reads `0x69df32	main.cart+0x12	shop/main.go:54`, or an address alone.
func (c *counter) frame(text []byte) error {
	if !c.open {
		return nil
	}
	address, rest, _ := bytes.Cut(text, []byte("\t"))
	function, place, _ := bytes.Cut(bytes.TrimLeft(rest, "\t"), []byte("\t"))
	if len(function) == 0 {
		return c.addAddress(address)
	}
	if i := bytes.LastIndex(function, []byte("+0x")); i > 0 {
		function = function[:i]
	}
	return c.addFrame(function, bytes.TrimLeft(place, "\t"), profile.FrameUnknown)
}

// addAddress adds a frame of which nothing but its address is known. Address 0 is
// none: threadcreate fills its stacks up with it.
func (c *counter) addAddress(text []byte) error {
	address, ok := stacktext.Hex(text)
	if !ok {
		return profile.Malformed("not an address")
	}
	if address == 0 {
		return nil
	}
	s := c.Profile.Symbols
	fn := s.Function(profile.Function{Name: fmt.Sprintf("%#x", address)})
	return c.Push(s.Frame(profile.Frame{Function: fn, Address: address}))
}

// end adds the record in work.
func (c *counter) end() error {
	if !c.open {
		return nil
	}
	c.open = false
	if len(c.Frames) == 0 { // nobody has looked up the names
		for address := range bytes.FieldsSeq(c.addresses) {
			if err := c.addAddress(address); err != nil {
				return err
			}
		}
	}
	// A record without a stack is of a thread that the program has not started itself.
	// The binary profile has a frame for it, too.
	if len(c.Frames) == 0 {
		if err := c.addFrame([]byte(profile.NoName), nil, profile.FrameUnknown); err != nil {
			return err
		}
	}
	row := stacktext.Row{Stack: c.Stack(c.Frames), Labels: c.Labels(c.labels)}
	for i := range c.tables {
		if row.Value = c.values[i]; row.Value == 0 {
			continue
		}
		if row.Value < 0 || !c.tables[i].Add(row) {
			return stacktext.ErrSum
		}
	}
	return nil
}
