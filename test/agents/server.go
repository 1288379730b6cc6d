package agents

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Server is a running `dendro serve`.
type Server struct {
	*Process
	HTTP string // http://127.0.0.1:…
	GRPC string // 127.0.0.1:…

	binary, store string
}

// Serve starts a server of the store on free ports.
func Serve(ctx context.Context, binary, store string) (*Server, error) {
	s := &Server{binary: binary, store: store}
	return s, s.listen(ctx, "127.0.0.1:0", "127.0.0.1:0")
}

// Restart starts the server anew, where it was, after it has ended.
func (s *Server) Restart(ctx context.Context) error {
	return s.listen(ctx, strings.TrimPrefix(s.HTTP, "http://"), s.GRPC)
}

func (s *Server) listen(ctx context.Context, http, grpc string) (err error) {
	found := map[string]string{}
	s.Process, err = start(ctx, exec.CommandContext(ctx, s.binary, "serve", "--store", s.store, "--http-listen", http, "--grpc-listen", grpc,
		"--log-level", "warn"), func(line string) bool {
		if f := strings.Fields(line); len(f) == 2 {
			found[f[0]] = f[1]
		}
		return found["http"] != "" && found["grpc"] != ""
	})
	if err != nil {
		return fmt.Errorf("dendro serve: %w", err)
	}
	s.HTTP, s.GRPC = found["http"], found["grpc"]
	return nil
}
