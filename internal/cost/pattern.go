package cost

import "regexp/syntax"

// PatternSize returns the number of instructions of a pattern, about, without compiling it:
// repetitions multiply.
func PatternSize(pattern string) (int64, error) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	return instructions(re), nil
}

func instructions(re *syntax.Regexp) (n int64) {
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return int64(len(re.Rune))
	case syntax.OpRepeat:
		times := max(re.Min, re.Max)
		if re.Max < 0 {
			times = re.Min + 1
		}
		return (n + 1) * int64(max(times, 1))
	case syntax.OpAlternate:
		return n + int64(len(re.Sub))
	case syntax.OpConcat:
		return n
	case syntax.OpCapture:
		return n + 2
	}
	return n + 1
}
