package command

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/param"
)

// CodeFlags name the repository of the code on this machine.
type CodeFlags struct{ repo, revision string }

// AddFlags adds the flags to a command.
func (f *CodeFlags) AddFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.repo, "repo", "", "informed: `directory` of the git repository of the code; recently changed functions are preferred")
	c.Flags().StringVar(&f.revision, "repo-revision", "", "`revision` of --repo (default: the commit of the newest run if the repository has it, otherwise HEAD)")
	InGroup(c, "Expansion", "repo", "repo-revision")
}

// Facts sets the repository of a request.
func (f *CodeFlags) Facts(x *judge.Expand, facts *facts.Facts) error {
	if f.repo == "" {
		return nil
	}
	if x.Expand != "informed" {
		return param.Errorf("--repo needs --expand informed")
	}
	facts.Repository, facts.Revision = coderepo.Repository{Dir: f.repo}, f.revision
	return nil
}

// Expandable refuses expansions in formats that are tables.
func Expandable(x *judge.Expand, format Format) error {
	if x.Expand != "" && (format == "tsv" || format == "csv") {
		return Usagef("--expand is printed as text, md, json or html")
	}
	return nil
}
