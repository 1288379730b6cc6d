package slower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/github"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/ingest"
	"github.com/dendroprof/dendro/internal/words"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
)

// How `dendro check --require-verdict` ends with status 1.
var (
	errNoMetric  = errors.New("no verdict on metrics: none can fail (--fail-on-metric with --require-verdict)")
	errNoVerdict = errors.New("no verdict: nothing was tested (--require-verdict)")
	errUndecided = errors.New("no verdict: no benchmark has what tells whether it became slower (--require-verdict)")
)

// checkOptions are the flags of `dendro check` beside those of the request.
type checkOptions struct {
	reporting
	r          judge.CheckRequest
	full       bool
	require    bool
	comment    string
	commentKey string
	github     string
}

func newCheck(e *command.Env) *cobra.Command {
	o := checkOptions{github: "auto"}
	c := &cobra.Command{
		Use:   "check [flags]",
		Short: "Fail a pipeline if something became slower",
		Long: `Compare like "dendro report", and exit with status 3 if there is a regression that is
confirmed (at least two runs show it), not acknowledged, and at least as large as
--fail-on. The noise is that of the benchmark's own history. The error probability
applies to the whole suite: the more benchmarks, the lower it is for each of them. One
function that is slower in many benchmarks is one regression.

A suspect (only one run shows it) is a warning, unless its score is practically
impossible by chance. A benchmark in which everything became slower is a warning too,
because the cause is usually the machine. To fail on them, add ",suspect" or ",slowdown"
to --fail-on.
Benchmarks with too little history, and those of the base that the head lacks, are
reported but do not fail the check. If nothing was tested, or all samples rose and nothing
tells for how much work, the result is "no verdict" instead of "passed"; with
--require-verdict the status is then 1, and also if no metric can fail --fail-on-metric,
unless the base has no run of any benchmark, or no such metric: the first pull request of a
new history passes.

Metrics of the benchmarks (time, allocations, throughput) are compared in a table like
that of benchstat. With --fail-on-metric 5%, metrics that are significantly worse by at
least 5% fail too. Significance is corrected for the number of metrics; the verdict says
how many have too few runs to fail.

Print one line per change. --full, or any -o, prints the whole report instead.

In a GitHub workflow, also write annotations at the functions and the summary of the
step. On a pull request, with GITHUB_TOKEN in the environment, also write one comment,
which later runs update. --github off disables all of this.`,
		Example: `  dendro check
  dendro check --base main --fail-on regression:2%
  dendro check --base main --fail-on-metric 5%
  dendro check --base main --head HEAD --write dendro.sarif --write junit.xml
  dendro check --base before/ --head after/ --fail-on regression,suspect`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.output.File != "" { // the verdict is printed all the same
				o.also = append(o.also, o.output.File)
			}
			return o.run(c.Context(), e, !o.full && (o.output.File != "" || !c.Flags().Changed("output")))
		},
	}
	o.reporting = reporting{r: &o.r.ReportRequest, question: func() endpoint.Question { return endpoint.Check.Of(&o.r) }}
	o.reporting.addFlags(c, &o.r)
	f := c.Flags()
	f.BoolVar(&o.full, "full", false, "print the whole report: details, plots and contexts")
	f.BoolVar(&o.require, "require-verdict", false, "exit with status 1 if nothing was tested, unless the base has no run of any benchmark yet")
	f.StringVar(&o.comment, "comment", "", "also write the pull request comment to `file`")
	f.StringVar(&o.commentKey, "comment-key", "check", "`name` of the comment; several checks of a pull request need different names")
	f.Var(command.Choice(&o.github, "auto", "off"), "github", "`when` to write annotations, the step summary and comments: auto (in GitHub workflows), off")
	return c
}

func (o *checkOptions) run(ctx context.Context, e *command.Env, brief bool) (err error) {
	flow, err := github.FromEnvironment(os.Getenv)
	if err != nil {
		e.Notes([]string{err.Error()})
	}
	if o.r.Tested = ingest.FromCI(os.Getenv).Run.Commit; flow.Actions { // as import labels the runs
		head, _ := gitlog.ReadHead(ctx, ".") // without a repository it is the commit of the event
		_, o.r.Tested = flow.Commits(head.Commit)
	}
	if o.github != "auto" {
		flow = github.Workflow{}
	}
	if brief && len(o.also) == 0 && o.comment == "" && !flow.Actions {
		o.r.Candidates, o.r.MaxDepth, o.r.Functions = 0, 0, nil // lines about changes show none, and no tree is read for them
	}
	doc, err := o.make(ctx, e)
	if err != nil {
		return err
	}
	if err := o.print(e, doc, brief); err != nil {
		return err
	}
	if not := doc.Verdict.NotHead; not != "" { // what others changed is no news for a pull request
		return fmt.Errorf("no verdict on %s, which has no runs: import them, or name others with --head", words.Commit(not))
	}
	if err := o.publish(ctx, e, &flow, doc); err != nil {
		return err
	}
	switch v := doc.Verdict; {
	case v.Failed:
		return command.ErrRegression
	case !o.require || v.NewHistory:
		return nil
	case !v.Tested && v.Judged > 0:
		return errUndecided
	case !v.Tested:
		return errNoVerdict
	case v.NoMetricCanFail:
		return errNoMetric
	}
	return nil
}

// publish writes the report to where people see it. A refusal by GitHub is printed and
// is not an error: the verdict does not depend on it.
func (o *checkOptions) publish(ctx context.Context, e *command.Env, flow *github.Workflow, r *report.Report) error {
	var body strings.Builder
	if err := judge.WriteReport(&body, r, "comment", o.r.Detail); err != nil {
		return err
	}
	if o.comment != "" {
		err := command.WriteFile(o.comment, func(w io.Writer) error {
			_, err := io.WriteString(w, github.Marker(o.commentKey)+"\n"+body.String())
			return err
		})
		if err != nil {
			return err
		}
	}
	if !flow.Actions {
		return nil
	}
	left, err := github.Annotate(e.Err, annotations(r))
	if err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(e.Talk(), "%d more annotations not shown by GitHub\n", left)
	}
	if err := flow.AppendSummary(body.String()); err != nil {
		e.Notes([]string{err.Error()})
	}
	if flow.CanComment() {
		if _, err := flow.Comment(ctx, http.DefaultClient, o.commentKey, body.String()); err != nil {
			e.Notes([]string{err.Error()})
		}
	}
	return nil
}

// annotations are the changes that fail, as errors, and those that warn.
func annotations(r *report.Report) []github.Annotation {
	var list []github.Annotation
	for _, c := range r.Costs() {
		a := github.Annotation{Level: "warning", File: c.File, Line: c.Line, Title: "dendro: " + string(c.Kind), Message: c.Sentence()}
		if c.Fails {
			a.Level = "error"
		}
		list = append(list, a)
	}
	for _, line := range r.FailingMetrics() {
		list = append(list, github.Annotation{Level: "error", Title: "dendro: metric", Message: line})
	}
	return list
}
