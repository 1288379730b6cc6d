package cli

import (
	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/coderepo"
	"github.com/dendroprof/dendro/query/facts"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/param"
)

// codeFlags name the repository of the code on this machine.
type codeFlags struct{ repo, revision string }

func (f *codeFlags) addFlags(c *cobra.Command) {
	c.Flags().StringVar(&f.repo, "repo", "", "informed: `directory` of the git repository of the code; recently changed functions are preferred")
	c.Flags().StringVar(&f.revision, "repo-revision", "", "`revision` of --repo (default: the commit of the newest run if the repository has it, otherwise HEAD)")
	inGroup(c, "Expansion", "repo", "repo-revision")
}

// facts sets the repository of a request.
func (f *codeFlags) facts(x *judge.Expand, facts *facts.Facts) error {
	if f.repo == "" {
		return nil
	}
	if x.Expand != "informed" {
		return param.Errorf("--repo needs --expand informed")
	}
	facts.Repository, facts.Revision = coderepo.Repository{Dir: f.repo}, f.revision
	return nil
}

// expandable refuses expansions in formats that are tables.
func expandable(x *judge.Expand, format outputFormat) error {
	if x.Expand != "" && (format == "tsv" || format == "csv") {
		return usagef("--expand is printed as text, md, json or html")
	}
	return nil
}
