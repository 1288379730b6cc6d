package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

var vtuneHead, deepHead = []byte("Function Stack,"), []byte("Weight\tSelf Weight\t\tSymbol Name")

func sniffVTune(prefix []byte) bool {
	line, _, _ := bytes.Cut(prefix, []byte("\n"))
	return bytes.HasPrefix(line, vtuneHead) && bytes.Contains(line, []byte("CPU Time"))
}

// readVTune reads the CSV of a top-down tree (-report top-down -format csv): depth is
// the number of blanks before the function.
func readVTune(r *report) error {
	t := r.table(profile.NamedType(profile.CPU))
	time, module := -1, -1
	var path []open
	for r.Next() {
		fields := splitCSV(r.Text())
		if r.Number() == 1 {
			for i, f := range fields {
				if bytes.Equal(f, []byte("CPU Time:Self")) {
					time = i
				} else if bytes.Equal(f, []byte("Module")) {
					module = i
				}
			}
			if time < 0 {
				return &profile.ParseError{Line: 1, Offset: 0,
					Err:  fmt.Errorf("a report of VTune without the column CPU Time:Self: %w", profile.ErrUnsupported),
					Hint: "export it: vtune -report top-down -format csv -csv-delimiter comma -column=\"CPU Time:Self,Module\""}
			}
			continue
		}
		if len(fields) <= time {
			continue
		}
		name := bytes.TrimLeft(fields[0], " ")
		column := len(fields[0]) - len(name)
		if len(name) == 0 || column == 0 && bytes.Equal(name, []byte("Total")) {
			continue
		}
		var library []byte
		if module >= 0 && module < len(fields) {
			library = fields[module]
		}
		value, ok := decimal(fields[time], 1e9)
		if !ok {
			return r.Malformed("not a time: %.40q", fields[time])
		}
		var err error
		if path, err = r.call(path, column, r.frame(name, library, kindOf(name))); err != nil {
			return err
		}
		if err := r.add(t, stacktext.Row{Stack: path[len(path)-1].stack, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

// splitCSV splits a line at the commas outside of quotes.
func splitCSV(line []byte) (fields [][]byte) {
	quoted, from := false, 0
	for i := 0; i <= len(line); i++ {
		if i < len(line) && line[i] == '"' {
			quoted = !quoted
		}
		if i == len(line) || line[i] == ',' && !quoted {
			fields = append(fields, bytes.ReplaceAll(line[from:i], []byte(`"`), nil))
			from = i + 1
		}
	}
	return fields
}

func sniffDeepCopy(prefix []byte) bool { return bytes.HasPrefix(prefix, deepHead) }

// readDeepCopy reads what Instruments copies of a call tree: depth is the number of blanks
// before the symbol.
func readDeepCopy(r *report) error {
	t := r.table(profile.NamedType(profile.CPU))
	var path []open
	for r.Next() {
		fields := bytes.Split(r.Text(), []byte("\t"))
		if r.Number() == 1 || len(fields) < 4 {
			continue
		}
		amount, unit, _ := bytes.Cut(bytes.TrimSpace(fields[1]), []byte(" "))
		size := map[string]float64{"min": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3, "us": 1e3, "ns": 1}[string(unit)]
		value, ok := decimal(amount, size)
		if !ok || size == 0 {
			return r.Malformed("not a time: %.40q", fields[1])
		}
		name := bytes.TrimLeft(fields[3], " ")
		var err error
		if path, err = r.call(path, len(fields[3])-len(name), r.frame(name, nil, kindOf(name))); err != nil {
			return err
		}
		if err := r.add(t, stacktext.Row{Stack: path[len(path)-1].stack, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

func sniffXctrace(prefix []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(prefix, " \t\r\n"), []byte("<?xml")) && bytes.Contains(prefix, []byte("<trace-query-result")) &&
		bytes.Contains(prefix, []byte("<row"))
}

// xctrace is the reading of the XML of `xctrace export` of a Time Profiler's table. An
// element with an id is referred to later.
type xctrace struct {
	*report
	count, time *table
	frames      map[string]profile.FrameID
	stacks      map[string]profile.StackID
	threads     map[string]profile.ThreadID
	weights     map[string]int64

	row    stacktext.Row
	weight int64
	id     string // of the backtrace in work
	path   []profile.FrameID
}

func readXctrace(r *report) error {
	x := &xctrace{report: r, count: r.table(profile.NamedType(profile.CPUSamples)), time: r.table(profile.NamedType(profile.CPU)),
		frames: map[string]profile.FrameID{}, stacks: map[string]profile.StackID{}, threads: map[string]profile.ThreadID{},
		weights: map[string]int64{}}
	r.Profile.Default = 1
	from := &failing{r: r.In}
	in := xml.NewDecoder(from)
	for {
		token, err := in.Token()
		if err == nil {
			err = x.token(in, token)
		}
		var place *profile.ParseError
		switch {
		case err == nil:
		case err == io.EOF:
			return nil
		case from.err != nil:
			return from.err
		case errors.As(err, &place):
			return err
		case errors.Is(err, profile.ErrTooLarge):
			return &profile.ParseError{Offset: in.InputOffset(), Err: err}
		default:
			return &profile.ParseError{Offset: in.InputOffset(), Err: profile.Malformed("%v", err)}
		}
	}
}

// failing remembers how reading failed, to tell it from what is wrong with the content.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func (x *xctrace) token(in *xml.Decoder, token xml.Token) error {
	switch e := token.(type) {
	case xml.StartElement:
		return x.begin(in, e)
	case xml.EndElement:
		switch e.Name.Local {
		case "backtrace":
			if x.id != "" {
				x.row.Stack = x.Stack(x.path)
				x.stacks[x.id], x.id = x.row.Stack, ""
			}
		case "row":
			x.row.Value = 1
			if err := x.add(x.count, x.row); err != nil {
				return err
			}
			x.row.Value = x.weight
			err := x.add(x.time, x.row)
			x.row, x.weight = stacktext.Row{Stack: profile.NoStack}, 0
			return err
		}
	}
	return nil
}

func (x *xctrace) begin(in *xml.Decoder, e xml.StartElement) error {
	var id, ref, name, text string
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "id":
			id = a.Value
		case "ref":
			ref = a.Value
		case "name":
			name = a.Value
		case "fmt":
			text = a.Value
		}
	}
	switch e.Name.Local {
	case "row":
		x.row, x.weight = stacktext.Row{Stack: profile.NoStack}, 0
	case "weight":
		if ref == "" {
			var content string
			if err := in.DecodeElement(&content, &e); err != nil {
				return err
			}
			v, err := strconv.ParseInt(content, 10, 64)
			if err != nil || v < 0 {
				return fmt.Errorf("not a weight: %.40q", content)
			}
			x.weights[id], ref = v, id
		}
		x.weight = x.weights[ref]
	case "thread":
		if ref == "" {
			x.threads[id], ref = x.Thread(nil, []byte(text), nil), id
		}
		x.row.Thread = x.threads[ref]
	case "backtrace":
		if ref != "" {
			x.row.Stack = profile.NoStack
			if st, ok := x.stacks[ref]; ok {
				x.row.Stack = st
			}
			return nil
		}
		x.id, x.path = id, x.path[:0]
	case "frame":
		if ref == "" {
			x.frames[id], ref = x.frame([]byte(name), nil, kindOf([]byte(name))), id
		}
		frame, ok := x.frames[ref]
		if !ok {
			return fmt.Errorf("there is no frame %.40q", ref)
		}
		if x.path = append(x.path, frame); len(x.path) > x.Limits.Depth {
			return profile.TooDeep(x.Limits.Depth)
		}
	}
	return nil
}
