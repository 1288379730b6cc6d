package jsonscan

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/dendroprof/dendro/profile"
)

var (
	errEscape   = profile.Malformed("an escape sequence that does not exist")
	errOverflow = profile.Malformed("the number does not fit 63 bits")
)

// MaxDecimals is how many decimals of a number Decimal keeps.
const MaxDecimals = 9

// Decimal is a number as it is spelled: Digits · 10^-Decimals.
type Decimal struct {
	Digits   int64
	Decimals int // 0 to MaxDecimals, as few as it takes
}

// Fixed returns the number times 10^decimals, halves rounded away from zero; an
// error if that does not fit 63 bits.
func (d Decimal) Fixed(decimals int) (int64, error) {
	v, _, err := parts{magnitude(d.Digits), -d.Decimals, d.Digits < 0}.times10(decimals)
	return v, err
}

// number reads the number at hand and returns its spelling, which is valid up to
// the next call of any method.
func (s *Scanner) number() []byte {
	for p := s.pos; ; {
		for numeric[s.buf[p]] {
			p++
		}
		if p < s.end || s.eof {
			token := s.buf[s.pos:p]
			if !isNumber(token) {
				s.unexpected("a value")
				return nil
			}
			s.pos = p
			return token
		}
		read := p - s.pos
		if read > maxDigits {
			s.fail(s.offset(s.pos), profile.Malformed("a number of more than %d digits", maxDigits))
			return nil
		}
		s.more(s.pos)
		p = s.pos + read
	}
}

const maxDigits = 10_000

var numeric = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'-': true, '+': true, '.': true, 'e': true, 'E': true,
}

// isNumber reports whether b is a number by the grammar.
func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if n = digits(b); n == 0 {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

// digits returns how many digits b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n]-'0' <= 9 {
		n++
	}
	return n
}

// parts is a number taken apart: ± mantissa · 10^exponent. It is exact for
// numbers of up to 19 digits; of others the first 19 are kept.
type parts struct {
	mantissa uint64
	exponent int
	negative bool
}

// split takes a number apart that is one by the grammar.
func split(token []byte) (n parts) {
	if token[0] == '-' {
		n.negative = true
		token = token[1:]
	}
	point := 0 // 1 behind the decimal point
	for i, c := range token {
		switch {
		case c-'0' <= 9 && n.mantissa < 1e18:
			n.mantissa = n.mantissa*10 + uint64(c-'0')
			n.exponent -= point
		case c-'0' <= 9:
			n.exponent += 1 - point
		case c == '.':
			point = 1
		default: // the exponent
			e, err := strconv.Atoi(string(token[i+1:]))
			if err != nil {
				e = math.MaxInt32 // or as small; both are beyond everything
				if token[i+1] == '-' {
					e = -e
				}
			}
			n.exponent += max(-math.MaxInt32, min(math.MaxInt32, e))
			return n
		}
	}
	return n
}

// times10 returns the number times 10^decimals, halves rounded away from zero, and
// whether it was rounded.
func (n parts) times10(decimals int) (v int64, rounded bool, err error) {
	m, e := n.mantissa, n.exponent+decimals
	if e > 0 && m != 0 {
		if e >= len(pow10) {
			return 0, false, errOverflow
		}
		hi, lo := bits.Mul64(m, pow10[e])
		if hi != 0 {
			return 0, false, errOverflow
		}
		m = lo
	}
	if e < 0 && m != 0 {
		if e < -19 {
			m, rounded = 0, true
		} else {
			unit := pow10[-e]
			rest := m % unit
			m /= unit
			rounded = rest != 0
			if rest >= unit-rest {
				m++
			}
		}
	}
	if m > math.MaxInt64 {
		return 0, false, errOverflow
	}
	if n.negative {
		return -int64(m), rounded, nil
	}
	return int64(m), rounded, nil
}

// pow10 are the powers of ten that fit 64 bits.
var pow10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// beginNumber reads a number and returns its spelling; null is none and no error.
func (s *Scanner) beginNumber() ([]byte, bool) {
	c, ok := s.begin("a number")
	if !ok {
		return nil, false
	}
	return s.token(c)
}

// token returns the spelling of the number that begins with c. It may be quoted: some
// writers keep each value as a text, where an empty one is none.
func (s *Scanner) token(c byte) ([]byte, bool) {
	if c == '"' {
		text := s.string()
		if s.err == nil && len(text) > 0 && !isNumber(text) {
			s.Errorf("%.40q where a number is expected", text)
		}
		return text, s.err == nil && len(text) > 0
	}
	if c != '-' && c-'0' > 9 {
		s.unexpected("a number")
		return nil, false
	}
	token := s.number()
	return token, token != nil
}

// parts reads a number and takes it apart; null is 0.
func (s *Scanner) parts() (n parts, ok bool) {
	c, ok := s.begin("a number")
	if !ok {
		return parts{}, false
	}
	if s.need(longestPlain + 1); c != '"' && s.end-s.pos > longestPlain {
		if n, length := plain(s.buf[s.pos : s.pos+longestPlain+1]); length > 0 {
			s.pos += length
			return n, true
		}
	}
	token, ok := s.token(c)
	if !ok {
		return parts{}, false
	}
	return split(token), true
}

// longestPlain is how long a number may be that plain reads: a sign, 19 digits and
// a point.
const longestPlain = 21

// plain takes the number at the start of b apart, in one pass, if it has no exponent
// and no more than 19 digits, which is nearly every number. The length is 0 if it is
// another one, or none. b is longer than longestPlain.
func plain(b []byte) (n parts, length int) {
	i := 0
	if b[0] == '-' {
		n.negative = true
		i = 1
	}
	first := i
	for ; b[i]-'0' <= 9 && i < longestPlain; i++ {
		n.mantissa = n.mantissa*10 + uint64(b[i]-'0')
	}
	digits := i - first
	if digits == 0 || digits > 1 && b[first] == '0' {
		return n, 0
	}
	if b[i] == '.' {
		i++
		point := i
		for ; i < longestPlain && b[i]-'0' <= 9; i++ {
			n.mantissa = n.mantissa*10 + uint64(b[i]-'0')
		}
		if i == point {
			return n, 0
		}
		n.exponent = point - i
		digits += i - point
	}
	if digits > 19 || !ends[b[i]] {
		return n, 0
	}
	return n, i
}

// ends are the bytes that may follow a number.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\n': true, '\r': true, '\t': true}

// Int reads a whole number, in whatever spelling: 3, 3.0, 3e0.
func (s *Scanner) Int() int64 {
	n, ok := s.parts()
	if !ok {
		return 0
	}
	if n.exponent == 0 && n.mantissa <= math.MaxInt64 {
		if n.negative {
			return -int64(n.mantissa)
		}
		return int64(n.mantissa)
	}
	v, rounded, err := n.times10(0)
	switch {
	case err != nil:
		s.fail(s.at, err)
	case rounded:
		s.Errorf("a fraction where a whole number is expected")
	}
	return v
}

// Fixed reads a number and returns it times 10^decimals, halves rounded away from
// zero: with 6 decimals it is milliseconds in nanoseconds.
func (s *Scanner) Fixed(decimals int) int64 {
	n, ok := s.parts()
	if !ok {
		return 0
	}
	v, _, err := n.times10(decimals)
	if err != nil {
		s.fail(s.at, err)
	}
	return v
}

// Place reads a line or a column, which count from 1; 0 for what is none.
func (s *Scanner) Place() int32 {
	if v := s.Fixed(0); v > 0 && v <= math.MaxInt32 {
		return int32(v)
	}
	return 0
}

// Decimal reads a number as it is spelled. Decimals beyond MaxDecimals are
// rounded, halves away from zero.
func (s *Scanner) Decimal() Decimal {
	n, ok := s.parts()
	if !ok {
		return Decimal{}
	}
	return s.decimal(n)
}

// Numeric reads a number, which may be in quotes; false for other values, which it skips.
func (s *Scanner) Numeric() (Decimal, bool) {
	switch s.Kind() {
	case Number:
		return s.Decimal(), true
	case String:
		if text := s.Bytes(); isNumber(text) {
			return s.decimal(split(text)), true
		}
	default:
		s.Skip()
	}
	return Decimal{}, false
}

func (s *Scanner) decimal(n parts) Decimal {
	decimals := max(0, min(MaxDecimals, -n.exponent))
	v, _, err := n.times10(decimals)
	for err != nil && decimals > 0 { // keep as many as fit
		decimals--
		v, _, err = n.times10(decimals)
	}
	if err != nil {
		s.fail(s.at, err)
		return Decimal{}
	}
	for ; decimals > 0 && v%10 == 0; decimals-- {
		v /= 10
	}
	return Decimal{v, decimals}
}

// Float reads a number; one that is too large is infinite.
func (s *Scanner) Float() float64 {
	token, ok := s.beginNumber()
	if !ok {
		return 0
	}
	// ParseFloat keeps nothing of its argument, and the conversion saves copying it.
	f, err := strconv.ParseFloat(unsafe.String(&token[0], len(token)), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		s.fail(s.at, profile.Malformed("%v", err))
	}
	return f
}
