package slower

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dendroprof/dendro/app/internal/cli/command"
	"github.com/dendroprof/dendro/app/internal/endpoint"
	"github.com/dendroprof/dendro/app/internal/webhook"
	"github.com/dendroprof/dendro/profile"
	"github.com/dendroprof/dendro/query/judge"
	"github.com/dendroprof/dendro/query/param"
	"github.com/dendroprof/dendro/store"
	"github.com/dendroprof/dendro/store/engines"
)

// watching is what `dendro watch` does.
type watching struct {
	services []string
	request  judge.RegressionsRequest
	teller   webhook.Teller
	every    time.Duration
	once     bool
}

func newWatch(e *command.Env) *cobra.Command {
	w := watching{teller: webhook.Teller{Out: e.Out}}
	param.Of(&w.request) // sets the defaults
	var address, format, state string
	c := &cobra.Command{
		Use:   "watch [flags]",
		Short: "Post each new regression to a webhook, once",
		Long: `Search for regressions again and again, and post each confirmed one to a webhook the
first time it is found: of benchmarks and of the releases of all services that push
profiles, or with --service of these services.

The address of the webhook may hold a secret: set it in $DENDRO_WEBHOOK rather than with
--webhook. A file (--state) remembers what was posted, also when the command is started
again. Accepted findings are not posted. What could not be posted is tried again in the
next round.

--format slack posts {"text": …}, as Slack and Mattermost read it, alertmanager an alert for
Alertmanager's API v2, json the text and the finding (docs/schema/findings.md).`,
		Example: `  dendro watch --once --state posted.json
  dendro watch --store http://localhost:12800 --service checkout --service cart
  dendro watch --every 1h --webhook http://localhost:9093/api/v2/alerts`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&address, "webhook", "", "`address` to which findings are posted (default: $DENDRO_WEBHOOK; without either, print them)")
	c.Flags().StringVar(&format, "format", "", "form of a post: slack, alertmanager, json (default: by the address, else json)")
	c.Flags().StringArrayVar(&w.services, "service", nil, "`name` of a service whose releases are compared; repeatable (default: all services, and benchmarks)")
	command.AddRequest(c, &w.request.Releases)
	command.InGroup(c, "", "by", "skip") // of which there is no other
	c.Flags().DurationVar(&w.every, "every", 10*time.Minute, "time between two searches")
	c.Flags().BoolVar(&w.once, "once", false, "search once and end")
	c.Flags().BoolVar(&w.teller.Suspects, "suspects", false, "also post suspects")
	c.Flags().StringVar(&state, "state", "", "`file` that remembers what was posted (default: dendro/posted.json in the user's cache)")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if w.every < time.Second {
			return param.Errorf("--every %s: the minimum is 1s", w.every)
		}
		if address == "" {
			address = os.Getenv("DENDRO_WEBHOOK")
		}
		if address != "" {
			if w.teller.Hook, err = webhook.New(address, webhook.Format(format)); err != nil {
				return param.Errorf("the webhook: %w", err)
			}
		}
		if state == "" {
			dir, err := os.UserCacheDir()
			if err != nil {
				return fmt.Errorf("no place to remember what was posted (%w): name one with --state", err)
			}
			state = filepath.Join(dir, "dendro", "posted.json")
		}
		if w.teller.Log, err = webhook.ReadLog(state); err != nil {
			return err
		}
		if err := command.Learn(&w.request.Facts); err != nil {
			return err
		}
		return w.run(c.Context(), e)
	}
	return c
}

// run searches until the context ends.
func (w *watching) run(ctx context.Context, e *command.Env) error {
	for {
		err := e.Asking(ctx, engines.Read, profile.Limits{}, func(a endpoint.Asker) error { return w.search(ctx, e, a) })
		switch {
		case ctx.Err() != nil:
			return nil
		case w.once:
			return err
		case err != nil:
			fmt.Fprintf(e.Err, "dendro: %s; the next search is in %s\n", command.EscapeLines(err.Error()), w.every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.every):
		}
	}
}

// search posts what is new of the named services, or of all and the benchmarks. A service that cannot be
// compared does not keep the others from being.
func (w *watching) search(ctx context.Context, e *command.Env, a endpoint.Asker) error {
	services := w.services
	if len(services) == 0 {
		services = []string{""}
	}
	var failed error
	for _, service := range services {
		r := w.request
		r.Service = service
		result, err := a.Ask(ctx, endpoint.Regressions.Of(&r))
		if errors.Is(err, store.ErrNothing) {
			fmt.Fprintln(e.Err, "dendro: "+command.EscapeLines(err.Error()))
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		failed = errors.Join(failed, w.teller.Tell(ctx, result.(*judge.RegressionsResult).Findings, time.Now()))
	}
	return failed
}
