package folded

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/dendroprof/dendro/format/internal/framename"
	"github.com/dendroprof/dendro/profile"
)

// reference reads folded text by the grammar of docs/format/folded.md as
// plainly as possible: no buffer, no cache, regular expressions, big numbers.
// The tests hold the Decoder against it. Its error is the number of the first
// bad line.
func reference(text string, l profile.Limits) (*profile.Profile, error) {
	l = l.WithDefaults()
	r := &refReader{p: profile.New(nil), threads: map[string]profile.ThreadID{}}
	r.p.Format = formatName
	var lines []refLine
	long := 0 // number of the first line that is too long
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if len(strings.TrimSuffix(line, "\r")) > l.Line && long == 0 {
			long = i + 1
		}
		if !refNothing.MatchString(line) && !refComment(line) {
			lines = append(lines, refLine{i + 1, line})
		}
	}
	r.pair = len(lines) > 0
	for _, line := range lines {
		r.pair = r.pair && refPair.MatchString(refLead.ReplaceAllString(line.text, ""))
	}
	names := []string{profile.CPUSamples}
	if r.pair {
		names = []string{profile.Base, profile.Head}
		r.p.Default = 1
	}
	for _, name := range names {
		r.p.Tables = append(r.p.Tables, profile.Samples{Type: profile.ValueType{Name: name, Unit: "count"}})
		r.values = append(r.values, nil)
	}
	for _, line := range lines {
		if long != 0 && long <= line.number {
			break
		}
		if !r.line(line.text, l.Depth) {
			return nil, fmt.Errorf("%d", line.number)
		}
	}
	if long != 0 {
		return nil, fmt.Errorf("%d", long)
	}
	r.finish()
	return r.p, nil
}

type refLine struct {
	number int
	text   string
}

type refReader struct {
	p       *profile.Profile
	pair    bool
	threads map[string]profile.ThreadID
	scale   int
	values  [][]*big.Rat
	sums    [2]big.Rat
	thread  []profile.ThreadID
}

var (
	refNothing = regexp.MustCompile(`^[ \t\r]*$`)
	refLead    = regexp.MustCompile(`^[ \t\r;]+`)
	refTrail   = regexp.MustCompile(`[ \t\r]+$`)
	refSingle  = regexp.MustCompile(`(?s)^(.*)[ \t\r](-?(?:\d+\.?\d*|\.\d+))[ \t\r]*$`)
	refPair    = regexp.MustCompile(`(?s)^(.*[^ \t\r]) (-?(?:\d+\.?\d*|\.\d+)) (-?(?:\d+\.?\d*|\.\d+))[ \t\r]*$`)
)

func refComment(line string) bool {
	body := refLead.ReplaceAllString(line, "")
	if !strings.HasPrefix(body, "#") {
		return false
	}
	if body == "#" || strings.ContainsAny(body[1:2], " \t\r") && !strings.Contains(line, ";") {
		return true
	}
	return !refSingle.MatchString(body)
}

// line reads one line with a stack, or returns false.
func (r *refReader) line(line string, depth int) bool {
	m := refSingle.FindStringSubmatch(line)
	if r.pair {
		m = refPair.FindStringSubmatch(line)
	}
	if m == nil {
		return false
	}
	text := refTrail.ReplaceAllString(refLead.ReplaceAllString(m[1], ""), "")
	var thread profile.ThreadID
	var stack profile.StackID
	switch {
	case text != "":
		n := 0
		if thread, stack, n = r.stack(text); n > depth || n == 0 && thread == 0 {
			return false
		}
	case strings.Contains(line, ";"):
		return false
	default:
		stack = r.p.Symbols.Lost()
	}
	r.thread = append(r.thread, thread)
	for i, field := range m[2:] {
		r.p.Tables[i].Stack = append(r.p.Tables[i].Stack, stack)
		r.values[i] = append(r.values[i], refValue(field))
	}
	return r.fits()
}

// refValue rounds to nine decimals, halves away from zero.
func refValue(field string) *big.Rat {
	v, ok := new(big.Rat).SetString(strings.TrimSuffix(field, "."))
	if !ok {
		panic(field)
	}
	// FloatString rounds halves away from zero.
	rounded, _ := new(big.Rat).SetString(v.FloatString(maxDecimals))
	return rounded
}

// fits finds the scale of the last values and tells whether the sum of all
// magnitudes fits.
func (r *refReader) fits() bool {
	for i := range r.values {
		last := r.values[i][len(r.values[i])-1]
		for !new(big.Rat).Mul(last, refPow10(r.scale)).IsInt() {
			r.scale++
		}
	}
	for i := range r.values {
		r.sums[i].Add(&r.sums[i], new(big.Rat).Abs(r.values[i][len(r.values[i])-1]))
		if !new(big.Rat).Mul(&r.sums[i], refPow10(r.scale)).Num().IsInt64() {
			return false
		}
	}
	return true
}

func refPow10(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

func (r *refReader) finish() {
	for i := range r.p.Tables {
		t := &r.p.Tables[i]
		t.Type.Scale = r.scale
		for _, v := range r.values[i] {
			t.Value = append(t.Value, new(big.Rat).Mul(v, refPow10(r.scale)).Num().Int64())
		}
		t.Thread = r.thread
	}
}

var (
	refTid     = regexp.MustCompile(`(?s)^\[tid=\d+\]$| tid=\d+\]$`)
	refAsync   = regexp.MustCompile(`(?s)^\[(?:(.*) )?tid=(\d+)\]$`)
	refPython  = regexp.MustCompile(`^thread \(([0-9a-fA-FxX]+)\)(?:: (.*)|[ \t\r]*)$`)
	refProcess = regexp.MustCompile(`^process \d+:"`)
)

// stack returns thread, stack and number of frames of a stack's text.
func (r *refReader) stack(text string) (profile.ThreadID, profile.StackID, int) {
	pieces := strings.Split(text, ";")
	thread := profile.ThreadID(0)
	if n, t := refThread(pieces); n > 0 {
		t.Frame = clean(strings.Join(pieces[:n], ";"))
		pieces = pieces[n:]
		id, ok := r.threads[t.Frame]
		if !ok {
			id = profile.ThreadID(len(r.p.Threads))
			r.threads[t.Frame] = id
			r.p.Threads = append(r.p.Threads, t)
		}
		thread = id
	}
	stack, n := profile.NoStack, 0
	for _, piece := range pieces {
		if piece = clean(piece); piece != "" {
			stack = r.p.Symbols.Stack(stack, r.frame(piece))
			n++
		}
	}
	if n == 0 && thread != 0 {
		return thread, r.p.Symbols.Lost(), n
	}
	return thread, stack, n
}

// refThread returns the number of pieces that are a thread frame, and what it
// says.
func refThread(pieces []string) (int, profile.Thread) {
	trim := func(s string) string { return refTrail.ReplaceAllString(s, "") }
	if strings.HasPrefix(pieces[0], "[") {
		last := len(pieces)
		if strings.HasSuffix(trim(pieces[0]), "]") {
			last = 1
		}
		for n := 1; n <= last; n++ {
			text := trim(strings.Join(pieces[:n], ";"))
			if refTid.MatchString(text) {
				m := refAsync.FindStringSubmatch(clean(text))
				return n, profile.Thread{Name: clean(m[1]), ID: m[2]}
			}
		}
		return 0, profile.Thread{}
	}
	n, process := refProcesses(pieces)
	if n < len(pieces) {
		if m := refPython.FindStringSubmatch(pieces[n]); m != nil {
			return n + 1, profile.Thread{Name: clean(m[2]), ID: m[1], Process: process}
		}
	}
	return n, profile.Thread{Process: process}
}

func refProcesses(pieces []string) (n int, process string) {
	for n < len(pieces) {
		head := refProcess.FindString(pieces[n])
		end := 0
		for k := n + 1; k <= len(pieces) && head != "" && end == 0; k++ {
			text := refTrail.ReplaceAllString(strings.Join(pieces[n:k], ";"), "")
			if len(text) > len(head) && strings.HasSuffix(text, `"`) {
				end = k
				process = clean(strings.TrimPrefix(text, "process "))
			}
		}
		if end == 0 {
			break
		}
		n = end
	}
	return n, process
}

var (
	refMode  = regexp.MustCompile(`(?s)^(.+)_\[([01jik])\]$`)
	refPlace = regexp.MustCompile(`(?s)^(.+) \((.*\.py|<.+>|.*\.py:[1-9]\d*|<.+>:[1-9]\d*)\)$`)
	refFile  = regexp.MustCompile(`(?s)^(.+?)(?::([1-9]\d*))?$`)
	refCode  = regexp.MustCompile(`(?s)^(.*[^:]):([1-9]\d*)$`)
)

// frame interns the frame of a piece.
func (r *refReader) frame(piece string) profile.FrameID {
	var f profile.Frame
	name := piece
	if m := refMode.FindStringSubmatch(name); m != nil {
		name = m[1]
		f.Type = map[string]profile.FrameType{"0": profile.FrameInterpreted, "1": profile.FrameC1,
			"j": profile.FrameJIT, "i": profile.FrameInlined, "k": profile.FrameKernel}[m[2]]
	}
	fn := profile.Function{Name: name}
	if function, file, line, ok := refPythonPlace(name); ok {
		fn.Name, fn.File, f.Line = function, file, line
	} else if m := refCode.FindStringSubmatch(name); m != nil && refInt32(m[2]) > 0 && framename.Kind(m[1], f.Type) == profile.KindJava {
		fn.Name, f.Line = m[1], refInt32(m[2])
	}
	f.Function = r.p.Symbols.Function(fn)
	return r.p.Symbols.Frame(f)
}

func refPythonPlace(name string) (function, file string, line int32, ok bool) {
	i := strings.LastIndex(name, " (")
	if i <= 0 || !refPlace.MatchString(name[i-1:]) {
		return "", "", 0, false
	}
	place := name[i+2 : len(name)-1]
	if strings.HasSuffix(place, ".py") {
		return name[:i], place, 0, true
	}
	m := refFile.FindStringSubmatch(place)
	if m == nil || m[2] == "" || refInt32(m[2]) == 0 || strings.HasSuffix(m[1], ":") {
		return "", "", 0, false
	}
	return name[:i], m[1], refInt32(m[2]), true
}

// refInt32 returns the value of digits, or 0 if it does not fit.
func refInt32(digits string) int32 {
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok || n.BitLen() > 31 {
		return 0
	}
	return int32(n.Int64())
}
