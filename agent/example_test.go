package agent_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/dendroprof/dendro/agent"
)

// Three lines report a service and let tasks profile its requests.
func ExampleStart() {
	stop, err := agent.Start(agent.Options{Service: "shop", Server: "127.0.0.1:11800"})
	if err != nil {
		log.Fatal(err)
	}
	defer stop(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /checkout", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "sold") })
	log.Fatal(http.ListenAndServe(":8080", agent.Handler(mux)))
}

// A job that is no request is a segment too; what it starts by Go belongs to it.
func ExampleSegment() {
	err := agent.Segment(context.Background(), "nightly report", func(ctx context.Context) error {
		done := make(chan error)
		agent.Go(ctx, func(context.Context) { done <- nil })
		return <-done
	})
	fmt.Println(err)
	// Output: <nil>
}
