package readtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/test/readtest"
)

// TestDamaged checks that damage is damage, of many kinds, the same each time, and
// not done to the original.
func TestDamaged(t *testing.T) {
	content := []byte("one;two;three 17\nfour;five 4\n")
	whole := bytes.Clone(content)
	var all [][]byte
	shorter, longer, changed := 0, 0, 0
	for bad := range readtest.Damaged(content, 200) {
		all = append(all, bad)
		switch {
		case len(bad) < len(whole):
			shorter++
		case len(bad) > len(whole):
			longer++
		case !bytes.Equal(bad, whole):
			changed++
		}
	}
	if len(all) != 200 || shorter < 20 || longer < 20 || changed < 20 {
		t.Errorf("of %d copies %d are shorter, %d longer, %d changed", len(all), shorter, longer, changed)
	}
	if !bytes.Equal(content, whole) {
		t.Errorf("the original becomes %q", content)
	}
	if again := slices.Collect(readtest.Damaged(content, 200)); !slices.EqualFunc(all, again, bytes.Equal) {
		t.Error("other damage the second time")
	}
	for range readtest.Damaged(nil, 3) { // what is empty cannot be damaged, and is no reason to fail
	}
}

func TestWrongError(t *testing.T) {
	place := func(offset int64, err error) error { return &profile.ParseError{Offset: offset, Err: err} }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{place(3, profile.ErrMalformed), ""},
		{place(-1, fmt.Errorf("%w: x", profile.ErrTooLarge)), ""},
		{profile.ErrMalformed, "an error that is no ParseError"},
		{place(11, profile.ErrMalformed), "offset 11 in a file of 10 bytes"},
		{place(-2, profile.ErrMalformed), "offset -2 in a file of 10 bytes"},
		{place(3, io.EOF), "an error of 0 kinds"},
		{place(3, errors.Join(profile.ErrMalformed, profile.ErrUnsupported)), "an error of 2 kinds"},
	} {
		if got := readtest.WrongError(tt.err, 10); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	for size, want := range map[int]string{0: "", 1: "ab", 3: "abc", 4: "abcab", 6: "abcabc"} {
		got, err := io.ReadAll(readtest.Repeat(size, []byte("ab"), []byte("c")))
		if err != nil || string(got) != want {
			t.Errorf("%d bytes: %q, %v, want %q", size, got, err, want)
		}
	}
}
