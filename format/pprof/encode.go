package pprof

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/dendroprof/dendro/internal/wire"
	"github.com/dendroprof/dendro/profile"
)

// Encode writes a table of p, or with table -1 all of them, as an uncompressed
// message. With all tables, samples that agree in stack, thread and labels are
// one sample with several values. What Decode returned reads back equal, up to
// the order of samples: each table has the same profile.Hash.
//
// Of profiles from other formats the file cannot hold times and addresses of
// samples, types of frames other than inlined, and languages; samples that
// differ in nothing else are summed. A state becomes a label. Values that are
// scaled go to a smaller unit of time where there is one and are rounded
// otherwise. There is one period: that of the default type, or else the first.
func Encode(w io.Writer, p *profile.Profile, table int) error {
	e := &encoder{out: bufio.NewWriterSize(w, 64<<10), p: p, stringIDs: map[string]uint64{"": 0}, strings: []string{""}}
	switch {
	case table == -1:
		for i := range p.Tables {
			e.tables = append(e.tables, &p.Tables[i])
		}
	case table >= 0 && table < len(p.Tables):
		e.tables = append(e.tables, &p.Tables[table])
	default:
		return fmt.Errorf("write pprof: no sample table %d of %d", table, len(p.Tables))
	}
	if len(e.tables) == 0 {
		return fmt.Errorf("write pprof: a profile without sample tables")
	}
	if err := e.scaleTables(); err != nil {
		return fmt.Errorf("write pprof: %w", err)
	}
	e.writeTypes(table)
	e.writeSamples()
	e.writeSymbols()
	e.writeHead()
	e.writeStrings()
	if err := e.out.Flush(); err != nil {
		return fmt.Errorf("write pprof: %w", err)
	}
	return nil
}

// encoder holds the state of one Encode. Errors of out stick until its Flush.
type encoder struct {
	out    *bufio.Writer
	p      *profile.Profile
	tables []*profile.Samples
	scales []profile.Scaling

	stringIDs map[string]uint64
	strings   []string

	msg, part []byte // the message being built, and one inside it

	labels   labelWriter
	location locationWriter
}

// string returns the index of a string. Strict readers of protocol buffers
// refuse strings that are not UTF-8.
func (e *encoder) string(s string) uint64 {
	id, ok := e.stringIDs[s]
	if !ok {
		id = uint64(len(e.strings))
		if v := valid(s); v != s {
			id = e.string(v)
		} else {
			e.strings = append(e.strings, s)
		}
		e.stringIDs[s] = id
	}
	return id
}

// flush writes msg as a field of the outermost message and empties it.
func (e *encoder) flush(num int) {
	e.part = wire.AppendHead(e.part[:0], num, len(e.msg))
	e.out.Write(e.part)
	e.out.Write(e.msg)
	e.msg = e.msg[:0]
}

// writeInt writes an integer field of the outermost message.
func (e *encoder) writeInt(num int, v uint64) {
	e.out.Write(wire.AppendInt(e.part[:0], num, v))
}

func (e *encoder) writeType(num int, t rawType) {
	e.msg = wire.AppendInt(e.msg[:0], 1, e.string(t.name))
	e.msg = wire.AppendInt(e.msg, 2, e.string(t.unit))
	e.flush(num)
}

// writeTypes writes the sample types, the period and the default.
func (e *encoder) writeTypes(table int) {
	of := e.periodTable(table)
	var period rawType
	if of != nil {
		period = rawType{of.Type.PeriodName, of.Type.PeriodUnit}
	}
	types := e.rawTypes(period)
	for _, t := range types {
		e.writeType(fieldSampleType, t)
	}
	if of != nil {
		e.writeType(fieldPeriodType, period)
		e.writeInt(fieldPeriod, uint64(of.Type.Period))
	}
	if len(types) > 1 {
		e.writeInt(fieldDefaultType, e.string(types[e.p.Default].name))
	}
}

// periodTable returns the table whose period the file gets, or nil.
func (e *encoder) periodTable(table int) *profile.Samples {
	list := e.tables
	if table == -1 {
		list = append([]*profile.Samples{&e.p.Tables[e.p.Default]}, list...)
	}
	for _, t := range list {
		if t.Type.Period != 0 || t.Type.PeriodName != "" { // sums of windows have a type and no length of it
			return t
		}
	}
	return nil
}

// rawTypes returns the types as the file has them: under the name they were read
// with, if that means the same type again.
func (e *encoder) rawTypes(period rawType) []rawType {
	types := make([]rawType, len(e.tables))
	for i, t := range e.tables {
		types[i] = rawType{t.Type.Original, e.scales[i].Unit}
		if e.p.Format != Name || t.Type.Original == "" {
			types[i].name = fileName(t.Type.Name)
		}
	}
	for i, name := range typeNames(types, period) {
		if t := e.tables[i].Type; name != t.Name {
			types[i].name = fileName(t.Name)
			if typeNames(types, period)[i] != t.Name {
				types[i].name = t.Name
			}
		}
	}
	return types
}

func fileName(name string) string {
	if f, ok := fileNames[name]; ok {
		return f
	}
	return name
}

// writeHead writes what the profile says about itself.
func (e *encoder) writeHead() {
	p := e.p
	e.writeInt(fieldDropFrames, e.string(p.DropFrames))
	e.writeInt(fieldKeepFrames, e.string(p.KeepFrames))
	if !p.Start.IsZero() {
		e.writeInt(fieldTime, uint64(p.Start.UnixNano()))
	}
	e.writeInt(fieldDuration, uint64(p.Duration))
	url, named := "", p.Profiler == ""
	var comments []byte
	for _, c := range p.Comments {
		if u, ok := strings.CutPrefix(c, docURL); ok && url == "" {
			url = u
			continue
		}
		named = named || strings.HasPrefix(c, producedBy)
		comments = binary.AppendUvarint(comments, e.string(c))
	}
	if !named {
		comments = binary.AppendUvarint(comments, e.string(producedBy+p.Profiler))
	}
	if len(comments) > 0 {
		e.out.Write(wire.AppendBytes(nil, fieldComment, comments))
	}
	e.writeInt(fieldDocURL, e.string(url))
}

func (e *encoder) writeStrings() {
	for _, s := range e.strings {
		e.msg = append(e.msg[:0], s...)
		e.flush(fieldString)
	}
}
