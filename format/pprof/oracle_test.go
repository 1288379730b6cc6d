package pprof

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oracle "github.com/google/pprof/profile"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestOracle compares with the package that defines the format.
func TestOracle(t *testing.T) {
	for _, name := range recorded {
		msg := readtest.File(t, name)
		compareWithOracle(t, name, msg, mustDecode(t, msg))
	}
}

// TestOracleReadsWhatIsWritten does the same for our own output.
func TestOracleReadsWhatIsWritten(t *testing.T) {
	for _, name := range recorded {
		p := mustDecode(t, readtest.File(t, name))
		var out bytes.Buffer
		if err := Encode(&out, p, -1); err != nil {
			t.Fatal(err)
		}
		compareWithOracle(t, name+", written again", out.Bytes(), p)
	}
}

func compareWithOracle(t *testing.T, name string, msg []byte, p *profile.Profile) {
	t.Helper()
	o, err := oracle.ParseUncompressed(msg)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := o.CheckValid(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i := range p.Tables {
		if diff := cmp.Diff(oracleRows(o, i), rowsOf(p, i)); diff != "" {
			t.Errorf("%s, table %d: the oracle has -, we have +\n%s", name, i, diff)
		}
		if typ := p.Tables[i].Type; typ.Original != o.SampleType[i].Type || typ.Unit != o.SampleType[i].Unit {
			t.Errorf("%s: type %d is %+v, want %v", name, i, typ, o.SampleType[i])
		}
	}
	if p.Start.UnixNano() != o.TimeNanos || p.Duration.Nanoseconds() != o.DurationNanos || !slices.Equal(p.Comments, o.Comments) {
		t.Errorf("%s: start %v, duration %v, comments %q", name, p.Start, p.Duration, p.Comments)
	}
}

// oracleRows returns one line per sample, outermost line first, sorted.
func oracleRows(p *oracle.Profile, i int) (rows []string) {
	for _, s := range p.Sample {
		if s.Value[i] == 0 {
			continue
		}
		var frames []string
		for _, l := range slices.Backward(s.Location) {
			path, build := "", ""
			if l.Mapping != nil {
				path, build = l.Mapping.File, l.Mapping.BuildID
			}
			if len(l.Line) == 0 {
				frames = append(frames, fmt.Sprintf("0x%x ::0:0:0 0x%x+0 %s %s", l.Address, l.Address, path, build))
			}
			for k, ln := range slices.Backward(l.Line) {
				f := ln.Function
				name, system := f.Name, f.SystemName
				if system == name {
					system = ""
				}
				if name == "" { // as Go's threadcreate profile has it
					name = profile.NoName
				}
				frames = append(frames, fmt.Sprintf("%s %s:%s:%d:%d:%d 0x%x+%d %s %s", name, system, f.Filename,
					f.StartLine, ln.Line, ln.Column, l.Address, len(l.Line)-1-k, path, build))
			}
		}
		var labels []string
		for k, texts := range s.Label {
			for _, v := range texts {
				labels = append(labels, fmt.Sprintf("%s=%s/0", k, v))
			}
		}
		for k, numbers := range s.NumLabel {
			for j, v := range numbers {
				unit := ""
				if u := s.NumUnit[k]; u != nil {
					unit = u[j]
				}
				labels = append(labels, fmt.Sprintf("%s=/%d%s", k, v, unit))
			}
		}
		slices.Sort(labels)
		rows = append(rows, fmt.Sprintf("%s | %q | %d", strings.Join(frames, "; "), labels, s.Value[i]))
	}
	slices.Sort(rows)
	return rows
}

// rowsOf returns the same for a profile of ours.
func rowsOf(p *profile.Profile, i int) (rows []string) {
	sym := p.Symbols
	t := &p.Tables[i]
	for n, v := range t.Value {
		var frames []string
		if t.Stack[n] != profile.NoStack {
			for _, id := range sym.Path(t.Stack[n], nil) {
				fr := sym.Frames[id]
				f := sym.Functions[fr.Function]
				m := sym.Modules[fr.Module]
				frames = append(frames, fmt.Sprintf("%s %s:%s:%d:%d:%d 0x%x+%d %s %s", f.Name, f.SystemName, f.File,
					f.StartLine, fr.Line, fr.Column, fr.Address, fr.InlineDepth, m.Path, m.BuildID))
			}
		}
		var labels []string
		if t.Labels != nil {
			for _, l := range p.LabelSets[t.Labels[n]] {
				if l.Text != "" {
					labels = append(labels, fmt.Sprintf("%s=%s/0", l.Key, l.Text))
				} else {
					labels = append(labels, fmt.Sprintf("%s=/%d%s", l.Key, l.Num, l.Unit))
				}
			}
		}
		slices.Sort(labels)
		rows = append(rows, fmt.Sprintf("%s | %q | %d", strings.Join(frames, "; "), labels, v))
	}
	slices.Sort(rows)
	return rows
}

// TestHasFunctions writes modules of another format, which has no flags: those with
// names have functions, so that go tool pprof does not look them up again.
func TestHasFunctions(t *testing.T) {
	p := profile.New(nil)
	p.Format = "perfscript"
	s := p.Symbols
	table := profile.Samples{Type: profile.NamedType(profile.CPUSamples)}
	for i, f := range []struct{ path, name string }{{"/bin/named", "main"}, {"/bin/named", "[unknown]"}, {"/bin/stripped", "[unknown]"},
		{"/bin/bare", "0x3"}} {
		m := s.Module(profile.Module{Path: f.path})
		fr := s.Frame(profile.Frame{Function: s.Function(profile.Function{Name: f.name}), Address: uint64(i), Module: m})
		table.Add(s.Stack(profile.NoStack, fr), 1)
	}
	p.Tables = []profile.Samples{table}
	var b bytes.Buffer
	if err := Encode(&b, p, -1); err != nil {
		t.Fatal(err)
	}
	written, err := oracle.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range written.Mapping {
		got[m.File] = m.HasFunctions
	}
	if want := (map[string]bool{"/bin/named": true, "/bin/stripped": false, "/bin/bare": false}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
