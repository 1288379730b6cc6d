package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// SkyWalkingGo builds the shop for SkyWalking's Go agent, which the agent's tool weaves in, and
// starts it. The agent is not built here: DENDRO_SKYWALKING_GO is the unpacked folder of one, with
// the module and the tool in bin, and must be called skywalking-go, as the tool compares its path.
func SkyWalkingGo(ctx context.Context, dir, server, service string) (*Shop, error) {
	release := os.Getenv("DENDRO_SKYWALKING_GO")
	tools, err := filepath.Glob(filepath.Join(release, "bin", "skywalking-go-agent*-linux-*"))
	if err != nil || len(tools) == 0 {
		return nil, fmt.Errorf("%s has no bin/skywalking-go-agent…-linux-…: %w", release, errors.Join(err, os.ErrNotExist))
	}
	source, err := os.ReadFile("testdata/skywalkinggo/main.go")
	if err != nil {
		return nil, err
	}
	module := "module shop\n\ngo 1.24\n\nrequire github.com/apache/skywalking-go v0.0.0\n\nreplace github.com/apache/skywalking-go => " + release + "\n"
	for name, text := range map[string]string{"main.go": string(source), "go.mod": module} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	program := filepath.Join(dir, "shop")
	for _, command := range [][]string{{"go", "mod", "tidy"}, {"go", "build", "-toolexec", tools[0], "-a", "-o", program, "."}} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		// The tool does not change the version that the compiler reports, so what it weaves into the
		// standard library would stay in the user's build cache, for every other program.
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOCACHE="+filepath.Join(dir, "cache"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%v: %w\n%s", command, err, out)
		}
	}
	s := &Shop{Service: service, Instance: service + "@test", Endpoint: "GET:/checkout", Slow: "main.loadPrices:"}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), "SW_AGENT_NAME="+s.Service, "SW_AGENT_INSTANCE_NAME="+s.Instance,
		"SW_AGENT_REPORTER_GRPC_BACKEND_SERVICE="+server,
		"SW_AGENT_REPORTER_GRPC_PROFILE_FETCH_INTERVAL=1", "SW_AGENT_REPORTER_GRPC_PPROF_TASK_FETCH_INTERVAL=1")
	return s, s.start(ctx, cmd)
}
