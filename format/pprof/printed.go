package pprof

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	googlepprof "github.com/google/pprof/profile"
)

// What pprof prints of a profile: `-raw` is all of it, `-traces` the stacks of one type
// with rounded values.

var rawStart, tracesStart = []byte("PeriodType: "), []byte("-----------+-----")

func sniffRaw(prefix []byte) bool {
	for bytes.HasPrefix(prefix, []byte("Comment: ")) {
		_, prefix, _ = bytes.Cut(prefix, []byte("\n"))
	}
	return bytes.HasPrefix(prefix, rawStart) && bytes.Contains(prefix, []byte("\nSamples:\n"))
}

func sniffTraces(prefix []byte) bool {
	head, stacks, ok := bytes.Cut(prefix, append([]byte("\n"), tracesStart...))
	return ok && bytes.Contains(head, []byte("Type: ")) && bytes.Contains(stacks, []byte("\n"))
}

var (
	rawLine     = regexp.MustCompile(`^(.*) (\S*?):(\d+)(?::(\d+))? s=(\d+)(?:\((.*)\))?$`)
	rawLocation = regexp.MustCompile(`^ *(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?(\[F\] )?(.*)$`)
	rawMapping  = regexp.MustCompile(`^(\d+): 0x([0-9a-f]+)/0x([0-9a-f]+)/0x([0-9a-f]+) (.*)$`)
	rawLabel    = regexp.MustCompile(`(\S+):\[([^\]]*)\]`)
)

// rawParser makes a profile of what -raw prints. Samples refer to locations, and these to
// mappings, that come behind them.
type rawParser struct {
	p         *googlepprof.Profile
	section   string
	locations map[uint64]*googlepprof.Location
	mappings  map[uint64]*googlepprof.Mapping
	functions map[googlepprof.Function]*googlepprof.Function
	last      *googlepprof.Location
	mappingOf map[*googlepprof.Location]uint64
}

func parseRaw(text []byte) (*googlepprof.Profile, error) {
	r := &rawParser{
		p: &googlepprof.Profile{PeriodType: &googlepprof.ValueType{}}, locations: map[uint64]*googlepprof.Location{},
		mappings:  map[uint64]*googlepprof.Mapping{},
		functions: map[googlepprof.Function]*googlepprof.Function{}, mappingOf: map[*googlepprof.Location]uint64{},
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if err := r.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	for l, id := range r.mappingOf {
		l.Mapping = r.mappings[id]
	}
	for _, l := range r.p.Location {
		if l.Address == math.MaxUint64 {
			return nil, fmt.Errorf("location %d is missing", l.ID)
		}
	}
	return r.p, nil
}

func (r *rawParser) line(line string) error {
	if rest, ok := strings.CutPrefix(line, "PeriodType: "); ok && r.section == "" {
		r.p.PeriodType.Type, r.p.PeriodType.Unit, _ = strings.Cut(rest, " ")
		return nil
	}
	switch line {
	case "", "Samples:", "Locations", "Mappings":
		if line != "" {
			r.section = line
		}
		return nil
	}
	switch r.section {
	case "":
		return r.head(line)
	case "Samples:":
		return r.sample(line)
	case "Locations":
		return r.location(line)
	}
	if m := rawMapping.FindStringSubmatch(line); m != nil {
		path, _, _ := strings.Cut(m[5], " ")
		at := &googlepprof.Mapping{ID: number(m[1], 10), Start: number(m[2], 16), Limit: number(m[3], 16), Offset: number(m[4], 16), File: path}
		if at.ID > 0 && r.mappings[at.ID] == nil {
			r.mappings[at.ID] = at
			r.p.Mapping = append(r.p.Mapping, at)
		}
	}
	return nil
}

func number(text string, base int) uint64 {
	n, _ := strconv.ParseUint(text, base, 64)
	return n
}

func (r *rawParser) head(line string) (err error) {
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "Comment":
		r.p.Comments = append(r.p.Comments, value)
	case "Period":
		r.p.Period, err = strconv.ParseInt(value, 10, 64)
	case "Time":
		if at, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", value); err == nil {
			r.p.TimeNanos = at.UnixNano()
		}
	case "Duration": // pprof cuts it after four characters: without its unit it says nothing
		if duration, err := time.ParseDuration(value); err == nil && duration > 0 {
			r.p.DurationNanos = int64(duration)
		}
	}
	return err
}

// sample reads the names of the types, a sample, or its labels.
func (r *rawParser) sample(line string) error {
	if len(r.p.SampleType) == 0 {
		for field := range strings.FieldsSeq(line) {
			field, byDefault := strings.CutSuffix(field, "[dflt]")
			name, unit, ok := strings.Cut(field, "/")
			if !ok {
				return fmt.Errorf("%.40q is not a value type", field)
			}
			if byDefault {
				r.p.DefaultSampleType = name
			}
			r.p.SampleType = append(r.p.SampleType, &googlepprof.ValueType{Type: name, Unit: unit})
		}
		return nil
	}
	values, ids, ok := strings.Cut(line, ":")
	fields := strings.Fields(values)
	if n := len(r.p.Sample); n > 0 && (!ok || len(fields) != len(r.p.SampleType)) || !ok {
		if n == 0 {
			return fmt.Errorf("not a sample")
		}
		for _, l := range rawLabel.FindAllStringSubmatch(line, -1) {
			if s := r.p.Sample[n-1]; s.Label == nil {
				s.Label = map[string][]string{l[1]: {l[2]}}
			} else {
				s.Label[l[1]] = []string{l[2]}
			}
		}
		return nil
	}
	s := &googlepprof.Sample{}
	for _, field := range fields {
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return err
		}
		s.Value = append(s.Value, v)
	}
	for field := range strings.FieldsSeq(ids) {
		id, err := strconv.ParseUint(field, 10, 64)
		if err != nil || id == 0 {
			return fmt.Errorf("%.40q is not a location", field)
		}
		s.Location = append(s.Location, r.at(id))
	}
	r.p.Sample = append(r.p.Sample, s)
	return nil
}

// at returns the location of a number, whose address says that it is yet to come.
func (r *rawParser) at(id uint64) *googlepprof.Location {
	l := r.locations[id]
	if l == nil {
		l = &googlepprof.Location{ID: id, Address: math.MaxUint64}
		r.locations[id] = l
		r.p.Location = append(r.p.Location, l)
	}
	return l
}

func (r *rawParser) location(line string) error {
	rest := strings.TrimSpace(line)
	if m := rawLocation.FindStringSubmatch(line); m != nil {
		id := number(m[1], 10)
		if id == 0 {
			return fmt.Errorf("location 0")
		}
		r.last = r.at(id)
		r.last.Address, r.last.IsFolded, r.last.Line = number(m[2], 16), m[4] != "", nil
		r.mappingOf[r.last] = number(m[3], 10)
		rest = m[5]
	}
	m := rawLine.FindStringSubmatch(rest)
	if m == nil || r.last == nil {
		return nil // an address without a name
	}
	f := googlepprof.Function{Name: m[1], SystemName: m[6], Filename: m[2], StartLine: int64(number(m[5], 10) & math.MaxInt32)}
	f.SystemName = cmp.Or(f.SystemName, f.Name)
	r.last.Line = append(r.last.Line, googlepprof.Line{Function: r.function(f), Line: int64(number(m[3], 10) & math.MaxInt32),
		Column: int64(number(m[4], 10) & math.MaxInt32)})
	return nil
}

func (r *rawParser) function(f googlepprof.Function) *googlepprof.Function {
	fn := r.functions[f]
	if fn == nil {
		fn = new(f)
		fn.ID = uint64(len(r.p.Function) + 1)
		r.functions[f] = fn
		r.p.Function = append(r.p.Function, fn)
	}
	return fn
}

// parseTraces makes a profile of what -traces prints. A stack follows a line of dashes; its
// first line has the value.
func parseTraces(text []byte) (*googlepprof.Profile, error) {
	r := &rawParser{p: &googlepprof.Profile{PeriodType: &googlepprof.ValueType{}}, locations: map[uint64]*googlepprof.Location{},
		functions: map[googlepprof.Function]*googlepprof.Function{}}
	typ := &googlepprof.ValueType{Unit: "count"}
	var s *googlepprof.Sample
	begun, count := false, 0
	for line := range strings.Lines(string(text)) {
		count++
		line = strings.TrimRight(line, "\r\n ")
		value, name := "", ""
		if len(line) > traceColumn {
			value, name = strings.TrimSpace(line[:traceColumn]), line[traceColumn:]
		}
		switch {
		case strings.HasPrefix(line, string(tracesStart)):
			begun, s = true, nil
		case !begun:
			if rest, ok := strings.CutPrefix(line, "Type: "); ok {
				typ.Type = rest
			}
		case s == nil && !strings.HasSuffix(value, ":"):
			v, unit, err := printedValue(value)
			if err != nil || name == "" {
				if strings.Contains(line, ":") {
					continue // a label
				}
				return nil, fmt.Errorf("line %d: not a value and a function: %.60q", count, line)
			}
			if unit != "" {
				typ.Unit = unit
			}
			s = &googlepprof.Sample{Value: []int64{v}}
			r.p.Sample = append(r.p.Sample, s)
			fallthrough
		case s != nil && name != "":
			s.Location = append(s.Location, r.named(strings.TrimSuffix(name, " (inline)")))
		}
	}
	r.p.SampleType = []*googlepprof.ValueType{typ}
	return r.p, nil
}

// traceColumn is where the names begin: behind ten characters for the value and blanks.
const traceColumn = 13

// named returns the location of a function that has no other.
func (r *rawParser) named(name string) *googlepprof.Location {
	fn := r.function(googlepprof.Function{Name: name, SystemName: name})
	l := r.at(fn.ID)
	l.Address, l.Line = 0, []googlepprof.Line{{Function: fn}}
	return l
}

// units are those that pprof prints, in the order in which they are to be tried.
var units = []struct {
	suffix, unit string
	size         float64
}{
	{"ns", "nanoseconds", 1}, {"us", "nanoseconds", 1e3}, {"ms", "nanoseconds", 1e6}, {"mins", "nanoseconds", 60e9},
	{"hrs", "nanoseconds", 3600e9},
	{"days", "nanoseconds", 24 * 3600e9}, {"s", "nanoseconds", 1e9},
	{"kB", "bytes", 1 << 10}, {"MB", "bytes", 1 << 20}, {"GB", "bytes", 1 << 30}, {"TB", "bytes", 1 << 40}, {"B", "bytes", 1}, {"", "", 1},
}

// printedValue reads `960ms`, `1.50MB` or `12`.
func printedValue(text string) (int64, string, error) {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok && digits != "" {
			v, err := strconv.ParseFloat(digits, 64)
			if v *= u.size; err == nil && !(math.Abs(v) < 1<<62) {
				err = fmt.Errorf("%s is more than 62 bits", text)
			}
			if err == nil {
				return int64(math.Round(v)), u.unit, nil
			}
		}
	}
	return 0, "", fmt.Errorf("%.20q is not a value", text)
}
