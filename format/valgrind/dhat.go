package valgrind

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// NewDHATDecoder returns a decoder of files of DHAT.
func NewDHATDecoder() profile.Decoder { return jsonscan.NewDecoder(DHATName, readDHAT) }

// SniffDHAT reports whether content that begins with prefix is of DHAT.
func SniffDHAT(prefix []byte) bool { return jsonscan.NewOutline(prefix).Has("dhatFileVersion") }

// metrics are the numbers of a stack that become value types, the default first.
var metrics = []struct {
	key, name string
}{
	{"tb", profile.Alloc}, {"tbk", profile.AllocSamples}, {"gb", profile.Peak}, {"gbk", profile.PeakSamples},
	{"eb", profile.Live}, {"ebk", profile.LiveSamples}, {"rb", "reads"}, {"wb", "writes"},
}

// dhat is the reading of one file.
type dhat struct {
	scanner *jsonscan.Scanner

	mode, verb, unit string
	frames           []parsed
	points           *stacktext.LateStacks[int32] // of numbers of frames
	tables           []*stacktext.Table           // one per metric
	has              [8]bool                      // metrics that occur
}

func readDHAT(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	p.Profiler = "DHAT"
	d := &dhat{scanner: s, points: stacktext.NewLateStacks[int32](l)}
	for range metrics {
		d.tables = append(d.tables, stacktext.NewTable(l))
	}
	for key := range s.Object() {
		switch string(key) {
		case "dhatFileVersion":
			if v := s.Int(); v != 2 && s.Err() == nil {
				s.Fail(&profile.ParseError{Offset: s.Offset(), Err: fmt.Errorf("%w: version %d of DHAT's file", profile.ErrUnsupported, v),
					Hint: "version 2 is read"})
			}
		case "mode":
			d.mode = s.Scalar()
		case "verb":
			d.verb = s.Scalar()
		case "bsu":
			d.unit = s.Scalar()
		case "cmd":
			p.Comments = append(p.Comments, s.Scalar())
		case "pps":
			for range s.Array() {
				d.point()
			}
		case "ftbl":
			for range s.Array() {
				s.Take(jsonscan.EntryBytes)
				d.frames = append(d.frames, parseFrame(s.Scalar()))
			}
		}
	}
	if err := s.End(); err != nil {
		return err
	}
	d.fill(p)
	return nil
}

// point reads a program point: a stack with its numbers.
func (d *dhat) point() {
	s := d.scanner
	d.points.Begin()
	var values [8]int64
	for key := range s.Object() {
		if string(key) == "fs" {
			d.readPath()
			continue
		}
		for i, m := range metrics {
			if m.key == string(key) {
				d.has[i] = true
				if values[i] = s.Int(); values[i] < 0 {
					s.Errorf("%s is %d", m.key, values[i])
				}
			}
		}
	}
	if d.points.Len() == 0 {
		d.push(noFrame)
	}
	stack := d.points.End()
	for i, v := range values {
		if v > 0 && !d.tables[i].Add(stacktext.Row{Stack: stack, Value: v}) {
			s.Errorf("the values of %s up to here add up to more than 63 bits", metrics[i].key)
		}
	}
}

// noFrame stands for the frame of a point without a stack.
const noFrame = math.MaxInt32

func (d *dhat) readPath() {
	s := d.scanner
	d.points.Begin()
	for range s.Array() {
		frame := s.Int()
		if frame < 0 || frame >= noFrame {
			s.Errorf("frame %d", frame)
			return
		}
		d.push(int32(frame))
	}
}

func (d *dhat) push(frame int32) {
	if err := d.points.Push(frame); err != nil {
		d.scanner.Fail(&profile.ParseError{Offset: d.scanner.Offset(), Err: err})
	}
}

// fill makes the tables.
func (d *dhat) fill(p *profile.Profile) {
	for i, m := range metrics {
		if d.has[i] || i == 0 {
			p.Tables = append(p.Tables, d.tables[i].Samples(d.valueType(i, m.name), false, 0))
		}
	}
	lost := 0
	d.points.Link(p.Tables, func(parent profile.StackID, n int32) profile.StackID {
		f := d.points.Places[n]
		switch {
		case f == noFrame:
			return call(p.Symbols, parent, &unlisted)
		case int(f) >= len(d.frames):
			lost++
			return call(p.Symbols, parent, &parsed{function: profile.Function{Name: profile.NoName}})
		}
		return call(p.Symbols, parent, &d.frames[f])
	})
	p.WarnCount(lost, "%d frames of stacks are not in the list of %d frames; they count as %s", len(d.frames), profile.NoName)
}

// valueType returns the type of a metric. Outside of the mode heap the first two count
// what the program or the mode says.
func (d *dhat) valueType(i int, name string) profile.ValueType {
	t := profile.NamedType(name)
	if heap := d.mode == "" || strings.HasSuffix(d.mode, "heap"); !heap && i < 2 {
		t = profile.ValueType{Name: strings.ToLower(d.verb), Unit: "bytes"}
		if d.unit != "" {
			t.Unit = "count"
		}
		t.Name = cmp.Or(t.Name, d.mode)
		if i == 1 {
			t.Name, t.Unit = t.Name+"-samples", "count"
		}
	}
	if name == "reads" || name == "writes" {
		t.Unit = "bytes"
	}
	return t
}
