package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/trees"
)

// fileFlags are the flags of commands that take files in place of a selection.
type fileFlags struct {
	normalize, raw bool
	limits         profile.Limits
	symbols        symbolFiles
}

// names returns which names functions have: by default those by which runs are compared, as in
// a store.
func (f *fileFlags) names() trees.Names {
	switch {
	case f.normalize:
		return trees.NamesNormalised
	case f.raw:
		return trees.NamesAsWritten
	}
	return trees.NamesToCompare
}

func (f *fileFlags) addFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.normalize, "normalize", false, "of files: normalise names that change from run to run (default, except in files of Firefox Profiler)")
	c.Flags().BoolVar(&f.raw, "raw", false, "of files: show names as they are written")
	inGroup(c, "Reading", "normalize", "raw")
	c.MarkFlagsMutuallyExclusive("normalize", "raw")
	addLimits(c, &f.limits)
	f.symbols.addFlag(c)
}

// tracePrefix begins the name of an input that is no file: what was sampled of a task, a
// trace or a segment.
const tracePrefix = "trace:"

// read returns the profiles in files, and those that are snapshots in the store.
func (f *fileFlags) read(ctx context.Context, e *env, names []string) ([]trees.Input, error) {
	var files []string
	var list []trees.Input
	for _, name := range names {
		id, ok := strings.CutPrefix(name, tracePrefix)
		if !ok {
			files = append(files, name)
			continue
		}
		in, err := e.traceInput(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	if len(files) == 0 {
		return list, nil
	}
	more, err := f.decode(e, files)
	return append(list, more...), err
}

// decode returns the profiles in files, each file in Symbols of its own, as views want
// it: ties go by the order of a file's own tables.
func (f *fileFlags) decode(e *env, files []string) ([]trees.Input, error) {
	sources, err := ingest.Expand(files, e.in)
	errs := []error{err}
	var list []trees.Input
	shown := newProgress(e, "auto", sources)
	for i := range sources {
		part, err := f.decodeOne(e, &sources[i])
		shown.files++
		shown.clear()
		for _, in := range part {
			warn(e, in.Name(), in.Warnings())
		}
		list = append(list, part...)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no profile in %s", strings.Join(words.CleanAll(files), ", "))
	}
	return list, nil
}

// decodeOne returns the profiles in a source, from the cache of a batch if they are
// there.
func (f *fileFlags) decodeOne(e *env, source *ingest.Source) ([]trees.Input, error) {
	key, cacheable := e.decoded.key(source, f)
	if list, ok := e.decoded.get(key); ok {
		return list, nil
	}
	var list []trees.Input
	var size int64
	err := decodeSource(source, f.symbols.reader(f.limits), func(name string, p *profile.Profile) error {
		list = append(list, trees.NewInput(name, p, f.names()))
		size += sizeOf(p)
		return nil
	})
	if err == nil && cacheable {
		e.decoded.put(key, list, size)
	}
	return list, err
}

// decodeFiles reads files into the Symbols of a reader and hands every profile in them to
// use. A file that cannot be read is an error, after all others were used.
func decodeFiles(e *env, files []string, reader *format.Reader, use func(name string, p *profile.Profile) error) error {
	sources, err := ingest.Expand(files, e.in)
	errs := []error{err}
	shown := newProgress(e, "auto", sources)
	for i := range sources {
		errs = append(errs, decodeSource(&sources[i], reader, func(name string, p *profile.Profile) error {
			shown.clear()
			warn(e, name, p.Warnings)
			return use(name, p)
		}))
		shown.files++
	}
	shown.clear()
	return errors.Join(errs...)
}

// decodeSource hands every profile of a source to use.
func decodeSource(source *ingest.Source, reader *format.Reader, use func(name string, p *profile.Profile) error) error {
	src, err := source.Open()
	if err != nil {
		return err
	}
	var errs []error
	for d, err := range reader.Read(source.Name, src) {
		if err == nil {
			err = use(d.Name, d.Profile)
		} else if errors.Is(err, profile.ErrUnrecognized) && !source.Named {
			continue
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, src.Close())...)
}

func warn(e *env, name string, list []profile.Warning) {
	for _, w := range list {
		fmt.Fprintf(e.err, "dendro: warning: %s: %s\n", words.Clean(name), words.Clean(w.String()))
	}
}
