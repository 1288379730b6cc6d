package command

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

// FileFlags are the flags of commands that take files in place of a selection.
type FileFlags struct {
	normalize, raw bool
	ReaderFlags
}

// names returns which names functions have: by default those by which runs are compared, as in
// a store.
func (f *FileFlags) names() trees.Names {
	switch {
	case f.normalize:
		return trees.NamesNormalised
	case f.raw:
		return trees.NamesAsWritten
	}
	return trees.NamesToCompare
}

// AddFlags adds the flags to a command.
func (f *FileFlags) AddFlags(c *cobra.Command) {
	c.Flags().BoolVar(&f.normalize, "normalize", false, "of files: normalise names that change from run to run (default, except in files of Firefox Profiler)")
	c.Flags().BoolVar(&f.raw, "raw", false, "of files: show names as they are written")
	InGroup(c, "Reading", "normalize", "raw")
	c.MarkFlagsMutuallyExclusive("normalize", "raw")
	f.ReaderFlags.AddFlags(c)
}

// tracePrefix begins the name of an input that is no file: what was sampled of a task, a
// trace or a segment.
const tracePrefix = "trace:"

// Read returns the profiles in files, and those that are snapshots in the store.
func (f *FileFlags) Read(ctx context.Context, e *Env, names []string) ([]trees.Input, error) {
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
func (f *FileFlags) decode(e *Env, files []string) ([]trees.Input, error) {
	sources, err := ingest.Expand(files, e.In)
	errs := []error{err}
	var list []trees.Input
	shown := NewProgress(e, "auto", sources)
	for i := range sources {
		part, err := f.decodeOne(e, &sources[i])
		shown.files++
		shown.Clear()
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
func (f *FileFlags) decodeOne(e *Env, source *ingest.Source) ([]trees.Input, error) {
	key, cacheable := e.Decoded.key(source, f)
	if list, ok := e.Decoded.get(key); ok {
		return list, nil
	}
	var list []trees.Input
	var size int64
	err := decodeSource(source, f.Reader(), func(name string, p *profile.Profile) error {
		list = append(list, trees.NewInput(name, p, f.names()))
		size += sizeOf(p)
		return nil
	})
	if err == nil && cacheable {
		e.Decoded.put(key, list, size)
	}
	return list, err
}

// DecodeFiles reads files into the Symbols of a reader and hands every profile in them to
// use. A file that cannot be read is an error, after all others were used.
func DecodeFiles(e *Env, files []string, reader *format.Reader, use func(name string, p *profile.Profile) error) error {
	sources, err := ingest.Expand(files, e.In)
	errs := []error{err}
	shown := NewProgress(e, "auto", sources)
	for i := range sources {
		errs = append(errs, decodeSource(&sources[i], reader, func(name string, p *profile.Profile) error {
			shown.Clear()
			warn(e, name, p.Warnings)
			return use(name, p)
		}))
		shown.files++
	}
	shown.Clear()
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

func warn(e *Env, name string, list []profile.Warning) {
	for _, w := range list {
		fmt.Fprintf(e.Err, "dendro: warning: %s: %s\n", words.Clean(name), words.Clean(w.String()))
	}
}
