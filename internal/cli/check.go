package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/gate"
	"github.com/dendroprof/dendro/internal/github"
	"github.com/dendroprof/dendro/report"
)

// errRegression ends `dendro check` with status 3 after it has said why.
var errRegression = errors.New("regression found")

// checkOptions are the flags of `dendro check`.
type checkOptions struct {
	reporting
	full       bool
	failOn     string
	comment    string
	commentKey string
	github     string
}

func newCheck(e *env) *cobra.Command {
	o := checkOptions{github: "auto"}
	c := &cobra.Command{
		Use:   "check [flags]",
		Short: "Fail when something got slower: the gate of a pipeline",
		Long: `Check compares like report and ends with exit status 3 if a regression is found
that is confirmed (at least two runs show it), not acknowledged, and as large as
--fail-on says. Noise is that of the benchmark's own history, and the error
probability is that of the whole suite: the more benchmarks, the less for each. One
culprit in many benchmarks is one regression.

A suspect, which only one run shows, warns; so does everything being slower, which
is the machine more often than not; add ",suspect" or ",slowdown" to fail on them.
Too little history is said and does not fail.

It prints a line for each change, and where the report is: --full prints all of it, as
any -o does.

In a GitHub workflow it writes annotations at the functions and the summary of the
step; on a pull request, with GITHUB_TOKEN in the environment, one comment that is
updated in place (--github off: none of it).`,
		Example: `  dendro check --type cpu
  dendro check --base main --fail-on regression:2%
  dendro check --base main --head HEAD --write dendro.sarif --write junit.xml
  dendro check --base before/ --head after/ --fail-on regression,suspect`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.brief = !o.full && !c.Flags().Changed("output")
			return o.run(c.Context(), e)
		},
	}
	o.reporting.addFlags(c)
	f := c.Flags()
	f.BoolVar(&o.full, "full", false, "print the report, with details, plots and contexts, and not only a line for each change")
	f.StringVar(&o.failOn, "fail-on", "regression:0", "fail on `what`: regression[:share][,suspect][,slowdown]")
	f.StringVar(&o.comment, "comment", "", "write the comment of a pull request to `file`, too")
	f.StringVar(&o.commentKey, "comment-key", "check", "`name` of the comment: checks of other names have comments of their own")
	f.Var(&choice{&o.github, []string{"auto", "off"}}, "github", "talk to GitHub `when`: auto (in its workflows), off")
	return c
}

func (o *checkOptions) run(ctx context.Context, e *env) error {
	p, err := gate.ParsePolicy(o.failOn)
	if err != nil {
		return usagef("--%w", err)
	}
	o.policy = &p
	flow := github.Workflow{}
	if o.github == "auto" {
		if flow, err = github.FromEnvironment(os.Getenv); err != nil {
			e.notes([]string{err.Error()})
		}
	}
	o.tested = flow.HeadCommit
	r, err := o.make(ctx, e)
	if err != nil {
		return err
	}
	if err := o.print(e, r); err != nil {
		return err
	}
	if err := o.publish(ctx, e, &flow, r); err != nil {
		return err
	}
	if r.Verdict.Failed {
		return errRegression
	}
	return nil
}

// publish brings the report to where people see it. What GitHub refuses is said and
// is no error: the verdict stands without it.
func (o *checkOptions) publish(ctx context.Context, e *env, flow *github.Workflow, r *report.Report) error {
	var body strings.Builder
	if err := r.Markdown(&body, o.detail, report.CommentLimit); err != nil {
		return err
	}
	if o.comment != "" {
		err := writeFile(o.comment, func(w io.Writer) error {
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
	left, err := github.Annotate(e.err, annotations(r))
	if err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(e.err, "%d more annotations not shown by GitHub\n", left)
	}
	if err := flow.AppendSummary(body.String()); err != nil {
		e.notes([]string{err.Error()})
	}
	if flow.CanComment() {
		if _, err := flow.Comment(ctx, http.DefaultClient, o.commentKey, body.String()); err != nil {
			e.notes([]string{err.Error()})
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
	return list
}
