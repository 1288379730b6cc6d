package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/analysis/regression"
	"github.com/dendroprof/dendro/internal/ingest"
)

// judging holds the flags that say which changes matter; regressions, report and
// check have them.
type judging struct {
	window int
	share  string
	impact float64
}

func (j *judging) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&j.window, "window", 0, "history runs at most (default 30)")
	f.StringVar(&j.share, "min-share", "0.1%", "least `share` of the program that matters")
	f.Float64Var(&j.impact, "min-impact", 0, "least impact in standard deviations of a sample count of the program (default 0.75; stable native programs 0.25)")
}

// request turns the flags into what is asked of the analysis, now; accepted names
// the file of accepted changes.
func (j *judging) request(accepted string) (regression.Request, error) {
	req := regression.Request{Window: j.window, Now: time.Now()}
	share, err := parseShare(j.share)
	if err != nil {
		return req, err
	}
	req.Options = regression.Options{MinShare: share, Impact: j.impact}
	req.Acknowledged, err = readAcknowledged(accepted)
	return req, err
}

// acknowledgedFile lists the changes that are known and accepted.
var acknowledgedFile = filepath.Join(".dendro", "acknowledged.json")

// readAcknowledged reads the list of accepted changes; no file is an empty list.
func readAcknowledged(name string) ([]regression.Acknowledgement, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []struct {
		regression.Acknowledgement
		Until string `json:"until"`
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("acknowledged changes: %s: %w", name, err)
	}
	var out []regression.Acknowledgement
	for i, a := range list {
		if a.Until != "" {
			if a.Acknowledgement.Until, err = ingest.ParseDate(a.Until); err != nil {
				return nil, fmt.Errorf("acknowledged changes: %s: entry %d: %w", name, i+1, err)
			}
		}
		out = append(out, a.Acknowledgement)
	}
	return out, nil
}
