package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/history"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/evidence"
	"github.com/dendroprof/dendro/internal/gitlog"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
)

// reporting holds the flags of `dendro report` and `dendro check`: what is
// compared, and how much is said about it.
type reporting struct {
	selection
	judging
	base, head   string
	layout       string
	repo         string
	acknowledged string
	method       string // of the candidates' ranking
	candidates   int
	detail       report.Detail
	contexts     expansion.Options
	also         []string
	output       outputFormat

	brief  bool         // print a line for each change, and where the rest is
	policy *gate.Policy // of check; nil: no verdict
	tested string       // commit that the workflow says is tested; empty: it says nothing
}

func (o *reporting) addFlags(c *cobra.Command) {
	o.selection.addFlags(c)
	f := c.Flags()
	f.Lookup("last").Usage = "test the newest `n` runs of each benchmark as one (default: 1, and 2 together; of --head all)"
	f.StringVar(&o.base, "base", "", "compare with `what`: a branch, commit or run of the store, key=value, or a file or directory of profiles (if --head is one, too)")
	f.StringVar(&o.head, "head", "", "test `what`, named like --base (default: the commit checked out in --repo, else the newest run that is not the base's)")
	f.StringVar(&o.layout, "layout", "", "of files: `pattern` of paths, as in import (default: folders are runs, then groups)")
	f.StringVar(&o.repo, "repo", "", "`directory` in the git repository of the code: merge-base, files, owners (default: the working directory, if it is one)")
	f.StringVar(&o.acknowledged, "acknowledged", acknowledgedFile, "`file` of changes that are known and accepted")
	o.judging.addFlags(c)
	f.Var(&choice{&o.method, []string{"default", "thesis"}}, "method", "rank candidates by `what`: default, thesis")
	f.IntVar(&o.candidates, "candidates", 5, "show `n` candidates of each benchmark (0: none)")
	f.IntVar(&o.contexts.MaxDepth, "max-depth", expansion.DefaultMaxDepth, "contexts of `n` functions at most (0: none)")
	f.IntVar(&o.contexts.MaxBreadth, "max-breadth", expansion.DefaultMaxBreadth, "follow the best `n` extensions of a context")
	f.IntVar(&o.detail.Changes, "rows", 25, "show `n` changes at most (0: all; json, sarif and junit have all)")
	f.IntVar(&o.detail.Traces, "traces", 3, "show `n` contexts of a candidate at most (0: all; json has all)")
	f.BoolVar(&o.detail.All, "all", false, "show the candidates of benchmarks without findings too")
	f.StringArrayVar(&o.also, "write", nil, "write `FILE` too, in the format of its name: .txt, .md, .json, .sarif, .xml (JUnit); repeatable")
	o.method = "default"
	o.output.addFlag(c, "text", "md", "json", "sarif", "junit")
}

// check demands sensible values, before anything is opened.
func (o *reporting) check() error {
	switch {
	case o.window < 0 || o.candidates < 0 || o.detail.Changes < 0 || o.detail.Traces < 0 || o.contexts.MaxDepth < 0 || o.impact < 0:
		return usagef("--window, --candidates, --rows, --traces, --max-depth and --min-impact must not be negative")
	case o.contexts.MaxBreadth < 1:
		return usagef("--max-breadth is 1 or more")
	case o.head != "" && o.base == "":
		return usagef("--head needs a --base to be compared with; without them the newest runs are tested against those before")
	case o.base != "" && o.method != "default":
		return usagef("--method thesis ranks the newest runs: leave out --base")
	}
	for _, name := range o.also {
		if _, ok := formatOf(name); !ok {
			return usagef("--write %q: the name must end in .txt, .md, .json, .sarif or .xml", name)
		}
	}
	return nil
}

// make compares and returns the report.
func (o *reporting) make(ctx context.Context, e *env) (*report.Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	req, err := o.judging.request(o.acknowledged)
	if err != nil {
		return nil, err
	}
	git, err := o.repository(ctx)
	if err != nil {
		return nil, err
	}
	var r *report.Report
	do := func(st store.Store, q store.Query) (err error) {
		r, err = o.in(ctx, st, q, req, git)
		return err
	}
	if o.ofPaths() {
		return r, o.ofFiles(ctx, e, do)
	}
	return r, o.ask(ctx, e, engines.Read, do)
}

// repository returns the top directory of the repository of the code; empty: there
// is none.
func (o *reporting) repository(ctx context.Context) (string, error) {
	if o.repo != "" {
		return gitlog.Root(ctx, o.repo)
	}
	root, err := gitlog.Root(ctx, ".")
	if err != nil {
		return "", nil // it need not be one
	}
	return root, nil
}

// in compares in a store.
func (o *reporting) in(ctx context.Context, st store.Store, q store.Query, req regression.Request, git string) (*report.Report, error) {
	k := q.Last
	q.Last = 0
	list, err := st.Profiles(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := history.OneName(list, q); err != nil {
		return nil, err
	}
	params := o.parameters(q, list)
	var res *regression.Result
	var runs store.Reader = st
	var notes []string
	if o.base == "" {
		req.K = k
		req.Alpha = o.alpha(list)
		res, err = regression.Find(ctx, st, q, req)
	} else {
		var s *runSides
		if s, err = o.sides(ctx, list, k, git); err != nil {
			return nil, err
		}
		notes = s.notes
		params = append(params, report.Parameter{Name: "base", Value: s.baseText}, report.Parameter{Name: "head", Value: s.headText})
		req.Alpha = o.alpha(s.Head)
		var c *gate.Comparison
		if c, err = gate.Compare(ctx, st, s.Sides, req); err == nil {
			res, runs = c.Result, c.Runs
			notes = append(notes, onBase(c.OnBase)...)
		}
	}
	if err != nil {
		return nil, err
	}
	r, err := o.report(ctx, st, runs, q, res)
	if err != nil {
		return nil, err
	}
	r.Notes, r.Parameters = notes, append(params, o.methodParameters(req, res)...)
	return r, o.locate(ctx, runs, r, git)
}

// onBase says what the base has already.
func onBase(list []regression.Finding) []string {
	const most = 5
	var notes []string
	for i := range words.First(list, most) {
		f := &list[i]
		name := cmp.Or(f.Function, f.Note)
		notes = append(notes, fmt.Sprintf("not the head's: %s in %s (%s) is in the newest runs of the base, too", name, benchmarkOf(f), words.SignedPercent(f.Delta.Share)))
	}
	if n := len(list) - most; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more that the base has already", n))
	}
	return notes
}

// alpha returns the error probability of one benchmark; 0 is the default, that of a
// report without a gate.
func (o *reporting) alpha(tested []store.Profile) float64 {
	if o.policy == nil {
		return 0
	}
	return o.policy.AlphaOf(tested)
}

// report gathers the evidence, and judges if there is a policy.
func (o *reporting) report(ctx context.Context, st store.Store, runs store.Reader, q store.Query, res *regression.Result) (*report.Report, error) {
	if o.method == "thesis" {
		if err := rankByThesis(ctx, st, q, res, o.window); err != nil {
			return nil, err
		}
	}
	opts := evidence.Options{Candidates: cmp.Or(o.candidates, -1), RankingByTotal: o.method == "thesis", Contexts: o.contexts}
	if o.contexts.MaxDepth == 0 {
		opts.Contexts.MaxDepth = -1
	}
	ev, err := evidence.Gather(ctx, runs, res, opts)
	if err != nil {
		return nil, err
	}
	changes := gate.Group(res.Findings)
	var v *gate.Verdict
	if o.policy != nil {
		v = gate.Judge(res, changes, *o.policy)
	}
	r := report.New(res, ev, changes, v)
	r.Version, _ = versionOf()
	return r, nil
}

// rankByThesis replaces the ranking of each benchmark by that of the thesis.
func rankByThesis(ctx context.Context, st store.Store, q store.Query, res *regression.Result, window int) error {
	t, err := regression.Thesis(ctx, st, q, regression.Total, window)
	if err != nil {
		return err
	}
	for i := range res.Benchmarks {
		b := &res.Benchmarks[i]
		b.Ranked = nil
		for _, row := range t.Rows {
			if row.Group == b.Benchmark.Group && row.Benchmark == b.Benchmark.Name && row.Type == b.Type.Name {
				b.Ranked = append(b.Ranked, regression.Candidate{Function: row.Function, Delta: row.Diff, Score: row.Score})
			}
		}
	}
	return nil
}

// formatOf returns the format that a file's name asks for.
func formatOf(name string) (outputFormat, bool) {
	f, ok := map[string]outputFormat{".txt": "text", ".md": "md", ".json": "json", ".sarif": "sarif", ".xml": "junit"}[filepath.Ext(name)]
	return f, ok
}

// print writes the report to stdout and to the files of --write.
func (o *reporting) print(e *env, r *report.Report) error {
	err := o.printMain(e, r)
	for _, name := range o.also {
		format, _ := formatOf(name)
		err = errors.Join(err, writeFile(name, func(w io.Writer) error { return o.format(w, r, format) }))
	}
	return err
}

func (o *reporting) printMain(e *env, r *report.Report) error {
	if !o.brief {
		return o.format(e.out, r, o.output)
	}
	if err := r.Brief(e.out, o.detail); err != nil {
		return err
	}
	where := "--full, or --write report.md"
	if len(o.also) > 0 {
		where = "--full, or see " + strings.Join(o.also, ", ")
	}
	_, err := fmt.Fprintf(e.out, "the full report: %s\n", where)
	return err
}

func (o *reporting) format(w io.Writer, r *report.Report, format outputFormat) error {
	switch format {
	case "md":
		return r.Markdown(w, o.detail, report.CommentLimit)
	case "json":
		return r.JSON(w)
	case "sarif":
		return r.SARIF(w)
	case "junit":
		return r.JUnit(w)
	}
	return r.Text(w, o.detail)
}
