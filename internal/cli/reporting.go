package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/evidence"
	"github.com/dendroprof/dendro/analysis/expansion"
	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/codeowners"
	"github.com/dendroprof/dendro/internal/engines"
	"github.com/dendroprof/dendro/internal/gitlog"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
)

// reporting holds the flags of `dendro report` and `dendro check`: what is
// compared, and how much is said about it.
type reporting struct {
	selection
	base, head   string
	layout       string
	repo         string
	acknowledged string
	window       int
	share        string
	impact       float64
	method       string // of the candidates' ranking
	candidates   int
	detail       report.Detail
	contexts     expansion.Options
	also         []string
	output       outputFormat

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
	f.IntVar(&o.window, "window", 0, "history runs at most (default 30)")
	f.StringVar(&o.share, "min-share", "0.1%", "least `share` of the program that matters")
	f.Float64Var(&o.impact, "min-impact", 0, "least impact in standard deviations of a sample count of the program (default 0.75; stable native programs 0.25)")
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
	req, err := o.request()
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

// request turns the flags into what is asked of the analysis.
func (o *reporting) request() (regression.Request, error) {
	req := regression.Request{Window: o.window, Now: time.Now()}
	share, err := parseShare(o.share)
	if err != nil {
		return req, err
	}
	req.Options = regression.Options{MinShare: share, Impact: o.impact}
	req.Acknowledged, err = readAcknowledged(o.acknowledged)
	return req, err
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
	if err := oneName(list, q); err != nil {
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
	for i := range limit(list, most) {
		f := &list[i]
		name := cmp.Or(f.Function, f.Note)
		notes = append(notes, fmt.Sprintf("not the head's: %s in %s (%+.1f %%) is in the newest runs of the base, too", name, benchmarkOf(f), 100*f.Delta.Share))
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
	benchmarks := map[string]bool{}
	for i := range tested {
		benchmarks[fmt.Sprintf("%q %q", tested[i].Benchmark.Group, tested[i].Benchmark.Name)] = true
	}
	return o.policy.Alpha(len(benchmarks))
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

// parameters say what was selected.
func (o *reporting) parameters(q store.Query, list []store.Profile) []report.Parameter {
	commits := distinct(list, func(p *store.Profile) string { return p.Run.Commit })
	shown := func(values []string) string {
		const most = 6
		if n := len(values); n > most {
			return fmt.Sprintf("%s, … (%d)", strings.Join(values[:most], ", "), n)
		}
		return strings.Join(values, ", ")
	}
	params := []report.Parameter{
		{Name: "selection", Value: q.String()},
		{Name: "group", Value: shown(distinct(list, func(p *store.Profile) string { return p.Benchmark.Group }))},
		{Name: "benchmark", Value: shown(distinct(list, func(p *store.Profile) string { return p.Benchmark.Name }))},
		{Name: "branch", Value: shown(distinct(list, func(p *store.Profile) string { return p.Run.Branch }))},
		{Name: "type", Value: list[0].Type.Name},
	}
	if n := len(commits); n > 0 {
		first, last := commits[0], commits[n-1]
		value := first[:min(10, len(first))] + " … " + last[:min(10, len(last))]
		if n == 1 {
			value = first[:min(10, len(first))]
		}
		params = append(params, report.Parameter{Name: "commits", Value: value})
	}
	return slices.DeleteFunc(params, func(p report.Parameter) bool {
		ofLabels := o.ofPaths() && (p.Name == "group" || p.Name == "branch") // of files they are ours
		return p.Value == "" || ofLabels
	})
}

// distinct lists the values of a field that are not empty, in order of appearance.
func distinct(list []store.Profile, field func(*store.Profile) string) []string {
	seen := map[string]bool{}
	var out []string
	for i := range list {
		if v := field(&list[i]); v != "" && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// methodParameters say how it was compared.
func (o *reporting) methodParameters(req regression.Request, res *regression.Result) []report.Parameter {
	method := "default"
	if o.method == "thesis" {
		method = "findings by the default, candidates by the thesis's score"
	}
	longest := 0
	for i := range res.Benchmarks {
		for _, a := range res.Benchmarks[i].Analyses {
			longest = max(longest, len(a.History))
		}
	}
	params := []report.Parameter{{Name: "method", Value: method}, {Name: "history", Value: fmt.Sprintf("%d runs at most", longest)},
		{Name: "candidates", Value: fmt.Sprintf("%d of each benchmark", o.candidates)}}
	if req.Alpha > 0 {
		params = append(params, report.Parameter{Name: "alpha", Value: fmt.Sprintf("%.2g for each benchmark", req.Alpha)})
	}
	if o.policy != nil {
		params = append(params, report.Parameter{Name: "fail on", Value: o.policy.String()})
	}
	return params
}

// locate finds the files of the functions that cost more, and their owners.
func (o *reporting) locate(ctx context.Context, runs store.Reader, r *report.Report, git string) error {
	functions, err := evidence.Definitions(ctx, runs, r.Functions())
	if err != nil || len(functions) == 0 {
		return err
	}
	owners := &codeowners.Owners{}
	var log *gitlog.Log
	if git != "" {
		if owners, err = codeowners.Read(os.DirFS(git)); err != nil {
			return fmt.Errorf("owners: %w", err)
		}
		if log, err = readLog(ctx, git); err != nil {
			r.Notes = append(r.Notes, "files are named as the profiles name them: "+err.Error())
		}
	}
	r.Locate(func(path []string) report.Place {
		for _, name := range path {
			fn := functions[name]
			if log == nil || fn.Name == "" {
				continue
			}
			if _, file, known := log.LastChange(&fn); known {
				p := report.Place{At: name, File: file, Owners: owners.Of(file)}
				if filepath.Base(file) == filepath.Base(filepath.ToSlash(fn.File)) {
					p.Line = int(fn.StartLine)
				}
				return p
			}
		}
		fn := functions[path[0]] // not the repository's, or there is none
		return report.Place{At: path[0], File: fn.File, Line: int(fn.StartLine)}
	})
	return nil
}

// readLog reads the repository that is checked out.
func readLog(ctx context.Context, dir string) (*gitlog.Log, error) {
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(dir, "dendro", "git")
	}
	return gitlog.Read(ctx, dir, "", cache)
}

// formatOf returns the format that a file's name asks for.
func formatOf(name string) (outputFormat, bool) {
	f, ok := map[string]outputFormat{".txt": "text", ".md": "md", ".json": "json", ".sarif": "sarif", ".xml": "junit"}[filepath.Ext(name)]
	return f, ok
}

// print writes the report to stdout and to the files of --write.
func (o *reporting) print(e *env, r *report.Report) error {
	err := o.format(e.out, r, o.output)
	for _, name := range o.also {
		format, _ := formatOf(name)
		err = errors.Join(err, writeFile(name, func(w io.Writer) error { return o.format(w, r, format) }))
	}
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
