package slower

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/gitlog"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/report"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

func newReport(e *command.Env) *cobra.Command {
	var r judge.ReportRequest
	o := reporting{r: &r, question: func() endpoint.Question { return endpoint.Report.Of(&r) }}
	c := &cobra.Command{
		Use:   "report [flags]",
		Short: "Write a report of what changed, with the evidence",
		Long: `Compare like "dendro regressions" and write a report, most important changes first:
what became slower and what became faster. For each benchmark it shows the metric over
the runs, and candidates: functions with their expected and actual share of the
program, plots of their history, and the contexts in which they changed.

Without --base, test the newest runs of each benchmark against the runs before. With
--base and --head, test the runs of the head against those of the base. A side is a
branch (the base up to the merge base, if the git repository is available), a commit,
a run, or a file or directory of profiles whose folders are runs.

The same input gives the same bytes. The Markdown fits into a pull request comment.`,
		Example: `  dendro report -o report.html
  dendro report --benchmark checkout --candidates 10 --traces 0
  dendro report --base main --head my-branch --write report.json --write report.sarif
  dendro report --base before/ --head after/`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			doc, err := o.make(c.Context(), e)
			if err != nil {
				return err
			}
			return o.print(e, doc, false)
		},
	}
	o.addFlags(c, &r)
	return c
}

// reportFormats are the formats of reports; the first is the default.
var reportFormats = []string{"text", "md", "html", "json", "sarif", "junit"}

// reporting is what `dendro report` and `dendro check` share.
type reporting struct {
	r        *judge.ReportRequest
	question func() endpoint.Question

	layout       string // of files
	repo         string
	acknowledged string
	also         []string
	output       command.Destination
}

// addFlags registers the parameters of a request that o.r is part of, and what only the
// command line has.
func (o *reporting) addFlags(c *cobra.Command, request any) {
	command.AddRequest(c, request)
	f := c.Flags()
	f.Lookup("last").Usage = "test the newest n runs of each benchmark together (default: the newest alone, and the newest two together; with --head all)"
	f.Lookup("base").Usage += ", or a file or directory of profiles (then --head must be one too)"
	f.StringVar(&o.layout, "layout", "", "sides that are files: `pattern` of paths, as in import (default: folders are runs, subfolders are groups)")
	f.StringVar(&o.repo, "repo", "", "`directory` of the git repository of the code, for the merge base, files and owners (default: the working directory)")
	f.StringVar(&o.acknowledged, "acknowledged", command.AcknowledgedFile, "`file` of accepted changes")
	f.StringArrayVar(&o.also, "write", nil, "also write the report to `file`; the extension sets the format: .txt, .md, .html, .json, .sarif, .xml (JUnit); repeatable")
	o.output.AddFlag(c, reportFormats...)
	command.InGroup(c, "Side", "layout", "repo")
	command.InGroup(c, "Method", "acknowledged")
	command.InGroup(c, "Output", "write")
}

// ofPaths reports whether the sides are files or directories. One alone is a name in the
// store: a folder may be called like a branch.
func (o *reporting) ofPaths() bool {
	for _, text := range []string{o.r.Base, o.r.Head} {
		if _, err := os.Stat(text); text == "" || err != nil {
			return false
		}
	}
	return true
}

// make compares and returns the report.
func (o *reporting) make(ctx context.Context, e *command.Env) (doc *report.Report, err error) {
	o.r.Page = o.output.Format == "html"
	for _, name := range o.also {
		format := command.ExtensionOf(name)
		o.r.Page = o.r.Page || format == "html"
		if !slices.Contains(reportFormats, format) {
			return nil, command.Usagef("--write %q: the name must end in .txt, .md, .html, .json, .sarif or .xml", name)
		}
	}
	if err := o.r.Validate(); err != nil {
		return nil, err
	}
	if o.r.Acknowledged, err = facts.ReadAcknowledgements(o.acknowledged); err != nil {
		return nil, err
	}
	if o.r.Own, err = command.OwnCode(); err != nil {
		return nil, err
	}
	repo, err := o.repository()
	if err != nil {
		return nil, err
	}
	code := coderepo.Repository{Dir: repo}
	if repo != "" {
		o.r.Repository = code
	}
	o.r.Files = o.ofPaths()
	do := func(a endpoint.Asker) (err error) {
		doc, err = endpoint.Answer[report.Report](ctx, a, o.question())
		return err
	}
	if o.r.Files {
		err = o.withFiles(ctx, e, func(st store.Store) error { return do(command.Local(st, profile.Limits{})) })
	} else {
		err = e.Asking(ctx, engines.Read, profile.Limits{}, do)
	}
	if err != nil {
		return nil, err
	}
	doc.Version, _ = command.Version()
	if repo != "" {
		err = code.Locate(ctx, doc)
	}
	return doc, err
}

// repository returns the top directory of the repository of the code; empty: there is
// none.
func (o *reporting) repository() (string, error) {
	if o.repo != "" {
		return gitlog.Root(o.repo)
	}
	root, _ := gitlog.Root(".") // it need not be one
	return root, nil
}

// print writes the report to its destination, or only its changes if it is brief, and to the
// files of --write.
func (o *reporting) print(e *command.Env, doc *report.Report, brief bool) error {
	err := o.printMain(e, doc, brief)
	for _, name := range o.also {
		err = errors.Join(err, command.WriteFile(name, func(w io.Writer) error {
			return judge.WriteReport(w, doc, command.ExtensionOf(name), o.r.Detail)
		}))
	}
	return err
}

func (o *reporting) printMain(e *command.Env, doc *report.Report, brief bool) error {
	if !brief {
		return o.output.Write(e, func(e *command.Env) error { return judge.WriteReport(e.Out, doc, string(o.output.Format), o.r.Detail) })
	}
	if err := doc.Brief(o.r.Changes).Print(e.Rendering("text")); err != nil {
		return err
	}
	where := "--full, or --write report.md"
	if len(o.also) > 0 {
		where = "--full, or see " + strings.Join(o.also, ", ")
	}
	_, err := fmt.Fprintf(e.Out, "full report: %s\n", where)
	return err
}
