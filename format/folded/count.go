package folded

import (
	"errors"
	"math"
	"math/bits"

	"github.com/dendroprof/dendro/profile"
)

// count reads the count or counts at the end of a line into r.counts and
// returns the stack before them. Nearly all lines have one whole number of few
// digits; slowCount reads the others.
func (r *run) count(line []byte) (text []byte, err *lineError) {
	end := len(line)
	for end > 0 && isBlank(line[end-1]) {
		end--
	}
	var v, unit int64 = 0, 1
	i := end
	for i > 0 && isDigit(line[i-1]) && end-i < 18 {
		i--
		v += int64(line[i]-'0') * unit
		unit *= 10
	}
	if i == end || i == 0 || !isBlank(line[i-1]) || r.pair || r.scale != 0 {
		return r.slowCount(line)
	}
	r.counts[0] = v
	return trimRight(line[:i]), nil
}

// slowCount reads the counts at the end of any line into r.counts and returns
// the stack before them.
func (r *run) slowCount(line []byte) ([]byte, *lineError) {
	last, at, err := lastNumber(line)
	if err != nil {
		return nil, err
	}
	numbers := [2]number{last}
	if r.pair {
		var bad error
		numbers[0], at, bad = numberBefore(line, at)
		switch bad {
		case nil:
		case errNotNumber:
			return nil, &lineError{
				what: "one number at the end of the line, where the first lines have two", at: at,
				hint: "the file was taken as differential: base and head counts",
			}
		default:
			return nil, &lineError{what: "the first count", at: at, err: bad}
		}
		numbers[1] = last
	}
	if err := r.setCounts(numbers, at); err != nil {
		return nil, err
	}
	return trimRight(line[:at]), nil
}

// setCounts brings the numbers of a line and all samples so far to one scale.
func (r *run) setCounts(numbers [2]number, at int) *lineError {
	for _, n := range numbers[:len(r.p.Tables)] {
		if n.rounded {
			if r.nRound++; r.nRound == 1 {
				r.rounded = profile.Warning{Line: r.line, Offset: -1}
			}
		}
		if n.decimals > r.scale {
			if !r.rescale(n.decimals - r.scale) {
				return &lineError{what: "the sum of the counts up to here with all their decimals", at: at, err: errOverflow}
			}
		}
	}
	for i, n := range numbers[:len(r.p.Tables)] {
		v, ok := times(n.value, r.scale-n.decimals)
		if !ok {
			return &lineError{what: "the count with all decimals of the file", at: at, err: errOverflow}
		}
		r.counts[i] = v
	}
	return nil
}

// rescale gives all samples so far that many decimals more, if they fit.
func (r *run) rescale(decimals int) bool {
	factor, ok := times(1, decimals)
	if !ok {
		return false
	}
	for i := range r.p.Tables {
		hi, lo := bits.Mul64(r.sums[i], uint64(factor))
		if hi != 0 || lo > math.MaxInt64 {
			return false
		}
		r.sums[i] = lo
	}
	for i := range r.p.Tables {
		values := r.columns[i].Value
		for j := range values {
			values[j] *= factor
		}
	}
	r.scale += decimals
	return true
}

// lastNumber reads the number behind the last blank of a line. at is where it
// begins; the stack is before that.
func lastNumber(line []byte) (n number, at int, err *lineError) {
	line = trimRight(line)
	at = len(line)
	for at > 0 && !isBlank(line[at-1]) {
		at--
	}
	if at == 0 {
		return number{}, 0, &lineError{what: "no count at the end of the line", noCount: true}
	}
	n, bad := parseNumber(line[at:])
	switch bad {
	case nil:
		return n, at, nil
	case errNotNumber:
		return number{}, 0, &lineError{what: "no count at the end of the line but " + quote(line[at:]), at: at, noCount: true}
	}
	return number{}, 0, &lineError{what: "the count " + quote(line[at:]), at: at, err: bad}
}

// numberBefore reads the first of two counts: a number that ends at the single
// space before position end and has a single space and a stack before it. It is
// errNotNumber if there is none.
func numberBefore(line []byte, end int) (n number, at int, err error) {
	stop := end - 1
	if stop <= 0 || line[stop] != ' ' || isBlank(line[stop-1]) {
		return number{}, end, errNotNumber
	}
	at = stop
	for at > 0 && !isBlank(line[at-1]) {
		at--
	}
	if at < 2 || line[at-1] != ' ' || isBlank(line[at-2]) {
		return number{}, end, errNotNumber
	}
	n, err = parseNumber(line[at:stop])
	return n, at, err
}

// hasTwoNumbers reports whether a line could be one of a differential file.
// Numbers that are too large are numbers.
func hasTwoNumbers(line []byte) bool {
	_, at, bad := lastNumber(line)
	if bad != nil {
		return false
	}
	_, _, err := numberBefore(line, at)
	return err != errNotNumber
}

// quote shows the beginning of some text of an input.
func quote(text []byte) string {
	const most = 40
	if len(text) > most {
		return `"` + clean(string(text[:most])) + `…"`
	}
	return `"` + clean(string(text)) + `"`
}

// lineError says what is wrong with a line; place makes a ParseError of it.
type lineError struct {
	what    string
	at      int    // position in the line
	err     error  // why; may be nil
	hint    string // what the user can do; may be empty
	noCount bool   // the line does not end in a number
}

func (e *lineError) Error() string {
	if e.err == nil {
		return e.what
	}
	return e.what + ": " + e.err.Error()
}

// place adds the line and the offset to an error of the line that begins at
// position pos of the window. cut tells that the line had no line feed.
func (r *run) place(err error, pos int, cut bool) error {
	place := &profile.ParseError{Line: r.line, Offset: r.in.offset(pos), Err: err}
	if bad, ok := errors.AsType[*lineError](err); ok {
		place.Offset += int64(bad.at)
		place.Err = malformed(bad)
		place.Hint = bad.hint
		if cut && bad.noCount {
			place.Hint = "it is the last line and has no line end: the file may have been cut off"
		}
	}
	return place
}
