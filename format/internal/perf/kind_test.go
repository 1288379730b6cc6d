package perf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		symbol, library string
		kind            profile.Kind
		typ             profile.FrameType
	}{
		{"read_zero", "[kernel.kallsyms]", profile.KindKernel, profile.FrameKernel},
		{"ext4_read", "[ext4]", profile.KindKernel, profile.FrameKernel},
		{"x", "/lib/modules/6.1/ext4.ko.xz", profile.KindKernel, profile.FrameKernel},
		{"x", "/boot/vmlinux-6.1", profile.KindKernel, profile.FrameKernel},
		{"clock_gettime", "[vdso]", profile.KindNative, profile.FrameNative},
		{"read", "/lib/libc.so.6", profile.KindNative, profile.FrameNative},
		{"a::b", "/srv/mix", profile.KindCPP, profile.FrameCPP},
		{"Parse::do_call", "/jdk/libjvm.so", profile.KindVM, profile.FrameCPP},
		{"Lshop/Cart;::add", "/tmp/perf-12.map", profile.KindJava, profile.FrameJIT},
		{"JS:*hot /srv/a.js:1", "/tmp/perf-12.map", profile.KindJS, profile.FrameJIT},
		{"py::hot:/srv/a.py", "/tmp/perf-12.map", profile.KindPython, profile.FrameInterpreted},
		{"x", "/tmp/jitted-12-3.so", profile.KindUnknown, profile.FrameJIT},
		{"[unknown]", "/srv/mix", profile.KindUnknown, profile.FrameUnknown},
	} {
		if k, typ := KindOf(tt.symbol, tt.library); k != tt.kind || typ != tt.typ {
			t.Errorf("%s (%s): %v, %v", tt.symbol, tt.library, k, typ)
		}
	}
}

// TestHybrid joins what the cores of a hybrid CPU counted: one event, with its modifiers.
func TestHybrid(t *testing.T) {
	l := profile.Limits{}
	event := func(name string, value int64) *Event {
		e := NewEvent(name, l)
		e.HasPeriod = true
		e.Add(stacktext.Row{Stack: profile.NoStack, Value: value, Time: stacktext.NoTime}, uint64(value))
		return e
	}
	p := profile.New(nil)
	Fill(p, []*Event{event("cpu_core/cycles/P", 3), event("cpu_atom/cycles/P", 4), event("cpu_atom/instructions/", 5),
		event("cpu/mem-loads/", 6),
		NewEvent("cpu_core/instructions/", l), event("cpu_core/instructions/", 7)})
	var got []string
	for i := range p.Tables {
		got = append(got, fmt.Sprint(p.Tables[i].Type.Name, " ", p.Tables[i].Value))
	}
	if text := strings.Join(got, ", "); text != "cycles [3 4], instructions [5 7], cpu/mem-loads [6]" {
		t.Error(text)
	}
}
