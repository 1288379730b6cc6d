package query

import (
	"strconv"
	"strings"
)

// ShareOf returns part ÷ whole; 0 of nothing.
func ShareOf(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// parseShare parses 5%, 5 % or 0.05 into a fraction.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, usage("%.60q is not a share (5%% or 0.05)", text)
	}
	return v, nil
}
