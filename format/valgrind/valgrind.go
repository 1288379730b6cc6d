// Package valgrind reads the files of Valgrind's heap profilers:
//
//   - massif (massif.out.PID): snapshots of the heap over time, some of them with a tree
//     of who allocated what is live. The peak becomes the profile;
//   - DHAT (dhat.out.PID), which the crate dhat of Rust writes too: JSON with bytes and
//     blocks for each stack, allocated in total, live at the peak and at the end.
//
// Files of Valgrind 3.19 were seen. docs/format/native.md lists what it does not keep.
// What callgrind and cachegrind write is package callgrind's.
//
// Both write frames innermost first, as text; frames at one address are one call and
// what is inlined into it. Memory is bounded by what is different in a file and, for
// DHAT, its list of stacks.
package valgrind

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/dendroprof/dendro/format/internal/stacktext"
	"github.com/dendroprof/dendro/profile"
)

// Names of the formats in Profile.Format.
const (
	MassifName = "massif"
	DHATName   = "dhat"
)

// parsed is a frame as the text spells it.
type parsed struct {
	function profile.Function
	line     int32
	address  uint64
}

var place = regexp.MustCompile(`^(.*) \((?:in ([^()]*)|([^()]*?):([0-9]+)(?::[0-9]+)?)\)$`)

// parseFrame reads a frame in one of the forms
//
//	0x1093C0: shop::copyOrder(unsigned long) (shop.cpp:26)
//	0x1093C0: shop::price (src/main.rs:12:3)
//	0x49017B9: ??? (in /usr/lib/x86_64-linux-gnu/libstdc++.so.6)
//	in 3 places, all below massif's threshold (1.00%)
func parseFrame(text string) parsed {
	head, rest, ok := strings.Cut(text, ": ")
	f := parsed{function: profile.Function{Name: rest, Kind: profile.KindNative}}
	if !ok || !strings.HasPrefix(head, "0x") {
		return parsed{function: profile.Function{Name: text, Kind: profile.KindLabel}}
	}
	f.address, _ = stacktext.Hex([]byte(head))
	if m := place.FindStringSubmatch(rest); m != nil {
		f.function.Name, f.function.Module, f.function.File = m[1], m[2][strings.LastIndexByte(m[2], '/')+1:], m[3]
		if line, err := strconv.ParseInt(m[4], 10, 32); err == nil {
			f.line = int32(line)
		}
	}
	if f.function.Name == "???" || f.function.Name == "" {
		f.function.Name, f.function.Kind = fmt.Sprintf("%#x", f.address), profile.KindUnknown
	}
	if strings.Contains(f.function.Name, "::") {
		f.function.Kind = profile.KindCPP
	}
	return f
}

// call returns the stack of a frame called from parent. A frame at the address of its
// caller is inlined into it.
func call(s *profile.Symbols, parent profile.StackID, p *parsed) profile.StackID {
	f := profile.Frame{Function: s.Function(p.function), Line: p.line, Address: p.address}
	if parent != profile.NoStack && p.address != 0 {
		if outer := &s.Frames[s.Leaf(parent)]; outer.Address == p.address && outer.InlineDepth < math.MaxUint16 {
			f.InlineDepth, f.Type = outer.InlineDepth+1, profile.FrameInlined
		}
	}
	return s.Stack(parent, s.Frame(f))
}
