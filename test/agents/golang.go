package agents

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Go builds and starts the example of the Go agent, which is a module of its own.
// It reports to the server's gRPC address. Its program lies in dir.
func Go(ctx context.Context, dir, server, service string) (*Shop, error) {
	program := filepath.Join(dir, "shop")
	if err := run(ctx, filepath.Join("..", "..", "agent"), "go", "build", "-o", program, "./example"); err != nil {
		return nil, err
	}
	s := &Shop{Service: service, Instance: service + "@test", Endpoint: "GET:/checkout", Slow: "main.computeTax:"}
	cmd := exec.CommandContext(ctx, program, "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "SW_AGENT_NAME="+s.Service, "SW_AGENT_INSTANCE_NAME="+s.Instance,
		"SW_AGENT_COLLECTOR_BACKEND_SERVICES="+server, "SW_AGENT_COLLECTOR_GET_PROFILE_TASK_INTERVAL=1")
	return s, s.start(ctx, cmd)
}
