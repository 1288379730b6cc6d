package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/calltree"
	"github.com/dendroprof/dendro/format"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/ingest"
	"github.com/dendroprof/dendro/normalize"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/store"
)

// input is what `tree`, `top` and `export` take: files, or else a selection
// from the store.
type input struct {
	selection
	normalize, rawNames bool
	limits              profile.Limits
}

func (in *input) addFlags(c *cobra.Command) {
	in.selection.addFlags(c)
	c.Flags().BoolVar(&in.normalize, "normalize", false, "of files: make names that change from run to run stable (the store's always are)")
	c.Flags().BoolVar(&in.rawNames, "raw-names", false, "from the store: show an example of the name before it was normalised")
	addLimits(c, &in.limits)
}

// tree returns the merged call tree of files or of the selection, and says on
// stderr what it was made of.
func (in *input) tree(ctx context.Context, e *env, files []string) (*calltree.Tree, error) {
	if len(files) > 0 {
		return in.treeOfFiles(e, files)
	}
	q, err := in.resolve()
	if err != nil {
		return nil, err
	}
	st, err := e.open(ctx, engines.Read)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	t, profiles, err := store.MergeTrees(ctx, st, q)
	if err != nil {
		return nil, err
	}
	if len(profiles) > 1 {
		fmt.Fprintf(e.err, "%d profiles, %s\n", len(profiles), t.Type)
	}
	if in.rawNames {
		return withRawNames(ctx, st, t, q)
	}
	return t, nil
}

// withRawNames replaces the names of a tree's functions by raw examples.
func withRawNames(ctx context.Context, st store.Store, t *calltree.Tree, q store.Query) (*calltree.Tree, error) {
	names := make([]string, len(t.Functions))
	for i := range names {
		names[i] = t.Functions[i].Name
	}
	group := ""
	if len(q.Groups) == 1 {
		group = q.Groups[0]
	}
	raw, err := st.RawNames(ctx, group, names)
	if err != nil {
		return nil, err
	}
	table := *t.Table
	table.Functions = slices.Clone(t.Functions)
	for i := range table.Functions {
		if name, ok := raw[names[i]]; ok {
			table.Functions[i].Name = name
		}
	}
	named := *t
	named.Table = &table
	return &named, nil
}

// decodeFiles reads files and hands every profile in them to use. A file that
// cannot be read is an error, after all others were used.
func decodeFiles(e *env, files []string, limits profile.Limits, use func(name string, p *profile.Profile) error) error {
	sources, err := ingest.Expand(files, e.in)
	errs := []error{err}
	reader := format.NewReader(limits)
	for i := range sources {
		src, err := sources[i].Open()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for d, err := range reader.Read(sources[i].Name, src) {
			if err == nil {
				for _, w := range d.Profile.Warnings {
					fmt.Fprintf(e.err, "dendro: warning: %s: %s\n", escape(d.Name), escape(w.String()))
				}
				err = use(d.Name, d.Profile)
			} else if errors.Is(err, profile.ErrUnrecognized) && !sources[i].Named {
				continue
			}
			errs = append(errs, err)
		}
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}

// treeOfFiles merges the call trees of all profiles in the files.
func (in *input) treeOfFiles(e *env, files []string) (*calltree.Tree, error) {
	want := ""
	switch n := len(in.query.Types); {
	case n == 1:
		want = in.query.Types[0]
	case n > 1:
		return nil, usagef("of files one --type can be shown at a time")
	}
	var names *normalize.Normalizer
	if in.normalize {
		names = normalize.New(nil)
	}
	var trees []*calltree.Tree
	err := decodeFiles(e, files, in.limits, func(name string, p *profile.Profile) error {
		i, err := p.Table(want)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t := calltree.FromProfile(p, i)
		if names != nil {
			t = t.Rename(names.Function)
		}
		trees = append(trees, t)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(trees) == 0:
		return nil, fmt.Errorf("no profile in %q", files)
	case len(trees) == 1:
		return trees[0], nil
	}
	fmt.Fprintf(e.err, "%d profiles, %s\n", len(trees), trees[0].Type)
	return calltree.Merge(trees...)
}
