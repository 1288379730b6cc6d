// Package firefox reads profiles of Firefox Profiler, in the processed format of
// versions 44 to 70 and in the raw format that Gecko writes, and writes the
// processed format in version 57.
//
// Specification: the type definitions and docs-developer/CHANGELOG-formats.md of
// https://github.com/firefox-devtools/profiler. What a version changed is found by
// the columns that are there, not by the version: strings per thread or shared,
// prefix or prefixOffset, fileName or source, categories on stacks or frames.
// docs/format/browsers.md says field by field what becomes of them. Dropped are
// counters, CPU use, screenshots, pages, native symbols and source maps.
//
// Tables are kept as columns of integers until the whole file is read, because
// names, categories and version may come behind what refers to them. The texts of
// the file's string table and of markers are kept once; no other text is. Time is
// linear in the file. Call trees are built elsewhere (package calltree); what they
// show in the order of the file depends on this package interning functions in the
// order of the function tables, sampled or not, and categories as the file lists
// them.
package firefox

import (
	"errors"
	"fmt"

	"github.com/dendroprof/dendro/format/internal/jsonscan"
	"github.com/dendroprof/dendro/profile"
)

// Name is the name of the format in Profile.Format.
const Name = "firefox"

// The versions of the processed format that are read, and the one that is written.
const (
	oldest  = 44
	newest  = 70
	written = 57

	oldestRaw = 20 // of the raw format; before, markers had no phases
	newestRaw = 36
)

// NewDecoder returns a decoder. Errors have the offset of the value, or of the column
// in which it is.
func NewDecoder() profile.Decoder { return jsonscan.NewDecoder(Name, read) }

func read(s *jsonscan.Scanner, p *profile.Profile, l profile.Limits) error {
	f := file{scanner: s, clocks: &clocks{}}
	f.read(0)
	if err := s.End(); err != nil {
		if old := f.checkVersion(); errors.Is(old, profile.ErrUnsupported) && f.version+f.gecko > 0 {
			return old // which explains it
		}
		return err
	}
	k := linker{file: &f, p: p, limits: l}
	return k.link()
}

// Sniff reports whether content that begins with prefix is of this format. The
// version may come late, so other keys that only this format has are as good.
func Sniff(prefix []byte) bool {
	o := jsonscan.NewOutline(prefix)
	return o.Has(
		"meta.preprocessedProfileVersion", "meta.stackwalk", "meta.markerSchema", "meta.processType",
		"shared.stringArray", "shared.stackTable", "shared.frameTable", "shared.funcTable",
		"libs[].debugName", "libs[].breakpadId",
		"threads[].stackTable", "threads[].frameTable", "threads[].funcTable", "threads[].stringTable",
		"threads[].stringArray", "threads[].processStartupTime",
	)
}

// checkVersion refuses what cannot be read right.
func (f *file) checkVersion() error {
	unsupported := func(hint, format string, args ...any) error {
		return &profile.ParseError{
			Offset: f.versionAt, Hint: hint,
			Err: fmt.Errorf("a Firefox profile %s: %w", fmt.Sprintf(format, args...), profile.ErrUnsupported),
		}
	}
	const update = "open it in https://profiler.firefox.com and save it again, which brings it up to date"
	switch v := f.version; {
	case v == 0 && f.gecko > 0 && f.gecko < oldestRaw:
		return unsupported(update, "of raw version %d, and %d is the oldest that is read", f.gecko, oldestRaw)
	case f.isRaw() && f.gecko > newestRaw:
		return unsupported("a newer dendro may read it", "of raw version %d, and %d is the newest that is known", f.gecko, newestRaw)
	case f.isRaw():
		return nil
	case v == 0 && len(f.threads) == 0 && !f.shared.seen():
		return &profile.ParseError{Offset: -1, Err: profile.Malformed("neither meta.preprocessedProfileVersion nor threads")}
	case v == 0:
		return unsupported("is it cut out of a larger file?", "without meta.preprocessedProfileVersion")
	case v < oldest:
		return unsupported(update, "of version %d, and %d is the oldest that is read", v, oldest)
	case v > newest:
		return unsupported("a newer dendro may read it", "of version %d, and %d is the newest that is known", v, newest)
	}
	return nil
}
